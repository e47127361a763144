import { Option, type Command } from 'commander';
import { collectList, parsedBy, parseNumber } from './parse.js';

const number = parsedBy(parseNumber);

/** Adds the options of `ForwardOptions`, but for the state's. `what` is forwarded. */
export function addForwardOptions(command: Command, what: 'row' | 'change'): Command {
  command
    .optionsGroup('Or forward to a service (instead of --to):')
    .option('--forward <url>', `post each ${what} there as JSON, signed as Standard Webhooks says, until it is taken`);
  return addEndpointOptions(command)
    .option('--deliveries <n>', 'requests under way at once (default: 8)', number)
    .option('--batch <n>', 'records in one request (default: one, by itself)', number)
    .option('--dead-letters <file>', 'keeps what the service refuses for good (default: HOST.dead.jsonl here)')
    .option('--max-dead-letters <n>', 'more of them end it (default: 100)', number)
    .addOption(
      new Option(
        '--on-dead <what>',
        'later records with the key of a dead letter: continue, or park them too (default: continue)',
      ).choices(['continue', 'park']),
    );
}

/** Adds the options of `EndpointChoice` that say how to be let in. */
export function addEndpointOptions(command: Command): Command {
  return command
    .option(
      '--secret-file <file>',
      'file that holds the signing secret, or two on a line each, - for stdin [env: SLUICE_WEBHOOK_SECRET holds it itself]',
    )
    .option('--header-file <file>', 'file with headers to send along, one a line, like Authorization: Bearer TOKEN')
    .option(
      '--allow-address <list>',
      'hosts, addresses or CIDRs that may be private, or without https: a,b,c; also several times',
      collectList,
    );
}
