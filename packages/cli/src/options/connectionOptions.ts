import type { Command } from 'commander';
import { parsedBy } from './parsedBy.js';
import { parseSpan } from './parseDuration.js';
import { parseRate } from './parseRate.js';

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
    .option('--timeout <duration>', 'longest time for one answer (default: 30s)', parsedBy(parseSpan));
  return addConfigOptions(command);
}

/** Adds the options of `ConfigOptions`. A command that has them takes plugins and defaults. */
export function addConfigOptions(command: Command): Command {
  return command
    .option('--config <file>', 'plugins and defaults (default: sluice.config.js, .mjs, .ts or .json in this folder)')
    .option('--no-config', 'none of them, whatever lies in this folder');
}
