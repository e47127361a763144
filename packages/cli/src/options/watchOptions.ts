import { type Command, Option } from 'commander';
import { addForwardOptions } from './forwardOptions.js';
import { parsedBy, parseNumber, parseSpan } from './parse.js';

const number = parsedBy(parseNumber);

/** Adds the options of `WatchChangesOptions` that say how it polls, what is kept, and where the changes go. */
export function addWatchOptions(command: Command): Command {
  command
    .optionsGroup('When:')
    .option('--every <duration>', 'from one poll to the next (default: 30s)', parsedBy(parseSpan))
    .option('--jitter <share>', 'put each poll off by up to this share of it, 0 to 1 (default: 0)', number)
    .option('--polls <n>', 'end after so many polls (default: never)', number)
    .option('--max-failures <n>', 'failed polls in a row that are survived (default: any number)', number)
    .option('--accept-removals', 'believe that rows are gone, also where the listing shrank suspiciously')
    .optionsGroup('Where to:')
    .addOption(
      new Option('--format <format>', 'text for people, jsonl for programs (default: text)').choices(changeFormats),
    )
    .option(
      '--to <target>',
      "append to F.jsonl, each change once, or NAME:TARGET for a plugin's sink (default: stdout, each at least once)",
    )
    .addOption(
      new Option('--if-exists <what>', 'where --to names a file that is not of this watch (default: fail)').choices([
        'fail',
        'overwrite',
      ]),
    );
  addForwardOptions(command, 'change');
  return command
    .optionsGroup('Over restarts (the same command goes on by itself):')
    .option(
      '--state <folder>',
      'keep there what is known, also NAME:TARGET of a plugin (default: FILE.sluice or HOST.sluice here, for stdout nowhere)',
    )
    .option('--restart', 'forget what is known, and begin anew')
    .option('--same-project', 'go on although the key is another one: a new key of the same project')
    .option('--break-lock', 'take the lock from a process that can not be seen from here')
    .option('--trust-filesystem', 'keep the state on a network file system too, at your own risk');
}

/** Adds the options of `WatchChangesOptions` that say how polls are told of. */
export function addWatchProgressOptions(command: Command): Command {
  return command
    .optionsGroup('How polls go, on stderr:')
    .addOption(
      new Option(
        '--progress <mode>',
        'lines where there is something to say, or each poll as JSON (default: plain)',
      ).choices(watchProgressModes),
    )
    .option('--quiet', 'nothing but faults');
}

/** How changes are written. */
const changeFormats = ['text', 'jsonl'] as const;

export type ChangeFormat = (typeof changeFormats)[number];

/** How the polls of a watch are told of: in lines where there is something to say, or each as a JSON event. */
export const watchProgressModes = ['plain', 'json'] as const;

export type WatchProgressMode = (typeof watchProgressModes)[number];
