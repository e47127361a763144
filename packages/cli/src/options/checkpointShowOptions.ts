import { Option, type Command } from 'commander';
import { addConfigOptions } from './connectionOptions.js';

/** Adds the argument and the options of `sluice checkpoint show`. */
export function addCheckpointShowOptions(command: Command): Command {
  command
    .argument(
      '<file>',
      'the file that was to be written, its .sluice folder, the checkpoint in it, or NAME:TARGET of a plugin',
    )
    .addOption(new Option('--format <format>', 'how to show it (default: text)').choices(['text', 'json']));
  return addConfigOptions(command);
}
