import { Option, type Command } from 'commander';
import { parsedBy } from './parsedBy.js';
import { parseList } from './parseList.js';
import { rowFormats } from './rowFormat.js';

/** Adds the options of `TargetOptions`. */
export function addTargetOptions(command: Command): Command {
  return command
    .optionsGroup('Where to:')
    .option('--to <target>', "F.csv, F.jsonl, either with .gz, - for stdout, or NAME:TARGET for a plugin's sink")
    .addOption(new Option('--format <format>', 'where the name does not say it').choices(rowFormats))
    .option('--columns <names>', 'only these, in this order: a,b,c', parsedBy(parseList))
    .option('--gzip', 'compress, whatever the name says')
    .addOption(
      new Option('--if-exists <what>', 'what to do where the file is there (default: fail)').choices([
        'fail',
        'overwrite',
      ]),
    )
    .option('--no-guard-formulas', 'CSV: leave text that a spreadsheet would run as it is')
    .option('--extra', 'CSV: a last column with the fields that are not known, as JSON')
    .option('--bom', 'CSV: begin with a byte order mark, for old spreadsheets');
}
