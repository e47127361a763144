import { Option, type Command } from 'commander';
import { parsedBy } from './parsedBy.js';
import { parseNumber } from './parseNumber.js';

/** Adds the options of `ResumeOptions`. */
export function addResumeOptions(command: Command): Command {
  return command
    .optionsGroup('After an interruption (the same command goes on by itself):')
    .option(
      '--state <folder>',
      "with --forward or a plugin's sink: keep there what is needed to go on, or NAME:TARGET of a plugin's store (default: HOST.sluice here, or NAME.TARGET.sluice)",
    )
    .option('--restart', 'start over, whatever an earlier run left behind')
    .option('--same-project', 'go on with another key: a new one of the same project')
    .addOption(
      new Option('--on-expired <what>', 'where a cursor expired: fail, or do that part over (default: fail)').choices([
        'fail',
        'restart-part',
      ]),
    )
    .option('--break-lock', 'take the lock from a process that can not be seen from here')
    .option('--trust-filesystem', 'keep the state on a network file system too, at your own risk')
    .option(
      '--commit-every <n>',
      'pages between two commits (default: a second of them, 200 at most)',
      parsedBy(parseNumber),
    );
}
