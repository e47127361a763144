import { Option, type Command } from 'commander';
import { parsedBy, parseRate, parseRetryFor, parseSpan } from './parse.js';

/** Adds the options of `ConnectionOptions`; `only` leaves out the address of an API that is not asked. */
export function addConnectionOptions(command: Command, only?: 'streams' | 'aptos'): Command {
  command.optionsGroup('Connection:');
  if (only !== 'aptos')
    command.option('--streams-url <url>', 'base address of the streams interface [env: SLUICE_STREAMS_URL]');
  if (only !== 'streams')
    command.option('--aptos-url <url>', 'base address of the Aptos NFT interface [env: SLUICE_APTOS_URL]');
  command
    .option(
      '--api-key-file <file>',
      'file that holds the API key, - for stdin [env: SLUICE_API_KEY holds the key itself]',
    )
    .option('--rate <rate>', 'most requests: 25/s, 100/m or unlimited (default: 5/s)', parsedBy(parseRate))
    .option('--timeout <duration>', 'longest time for one answer (default: 30s)', parsedBy(parseSpan))
    .addOption(retryForOption('default: 1m, and forever where it watches'));
  return addConfigOptions(command);
}

/** How long what may pass is tried. */
export function retryForOption(hint: string): Option {
  const what =
    'how long an outage is waited out before it ends the command, not counting pauses that the service asks for: 2m, 0s or forever';
  return new Option('--retry-for <duration>', `${what} (${hint})`).argParser(parsedBy(parseRetryFor));
}

/** Adds the options of `ConfigOptions`. A command that has them takes plugins and defaults. */
export function addConfigOptions(command: Command): Command {
  return command
    .option('--config <file>', 'plugins and defaults (default: sluice.config.js, .mjs, .ts or .json in this folder)')
    .option('--no-config', 'none of them, whatever lies in this folder');
}
