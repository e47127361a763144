import { Option, type Command } from 'commander';
import { retryForOption } from './connectionOptions.js';
import { addEndpointOptions } from './forwardOptions.js';
import { parsedBy } from './parsedBy.js';
import { parseSpan } from './parseDuration.js';
import { parseNumber } from './parseNumber.js';
import { watchProgressModes } from './watchProgressMode.js';

/** Adds the argument and the options of `sluice dlq show`. */
export function addDlqShowOptions(command: Command): Command {
  return command
    .argument('<file>', 'the file of dead letters')
    .addOption(new Option('--format <format>', 'how to show them (default: text)').choices(['text', 'json']));
}

/** Adds the argument and the options of `sluice dlq replay`. */
export function addDlqReplayOptions(command: Command): Command {
  command
    .argument('<file>', 'the file of dead letters')
    .optionsGroup('Where to:')
    .option('--to <url>', 'the address of the service, which may be another one than before');
  return addEndpointOptions(command)
    .option('--concurrency <n>', 'requests under way at once (default: 1)', parsedBy(parseNumber))
    .option('--timeout <duration>', 'longest time for one answer (default: 15s)', parsedBy(parseSpan))
    .addOption(retryForOption('default: 1m'))
    .optionsGroup('After an interruption (the same command goes on by itself):')
    .option('--break-lock', 'take the lock from a process that can not be seen from here')
    .option('--trust-filesystem', 'work on a network file system too, at your own risk')
    .optionsGroup('Progress, on stderr:')
    .addOption(new Option('--progress <mode>', 'how it is shown (default: plain)').choices(watchProgressModes))
    .option('--quiet', 'nothing but faults');
}
