import { Option, type Command } from 'commander';

/** Adds the argument and the options of `sluice checkpoint show`. */
export function addCheckpointShowOptions(command: Command): Command {
  return command
    .argument('<file>', 'the file that was to be written, its .sluice folder, or the checkpoint in it')
    .addOption(new Option('--format <format>', 'how to show it (default: text)').choices(['text', 'json']));
}
