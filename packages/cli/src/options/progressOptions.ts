import { Option, type Command } from 'commander';
import { progressModes } from './progressMode.js';

/** Adds the options of `ProgressOptions`. */
export function addProgressOptions(command: Command): Command {
  return command
    .optionsGroup('Progress, on stderr:')
    .addOption(
      new Option('--progress <mode>', 'how it is shown (default: bar on a terminal, else plain)').choices(
        progressModes,
      ),
    )
    .option('--quiet', 'nothing but faults');
}
