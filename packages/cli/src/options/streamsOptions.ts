import { Option, type Command } from 'commander';
import { parsedBy, parseList, parseNumber } from './parse.js';
import { rowFormats } from './exportOptions.js';

const number = parsedBy(parseNumber);

/** Adds the options of `sluice streams list`. */
export function addStreamsListOptions(command: Command): Command {
  return command
    .addOption(
      new Option('--format <format>', 'how to show them (default: table on a terminal, else csv)').choices([
        'table',
        ...rowFormats,
      ]),
    )
    .option('--columns <names>', 'only these, in this order: a,b,c', parsedBy(parseList))
    .option('--page-size <n>', 'rows a request, 1 to 100 (default: 100)', number);
}

/** Adds the options of `sluice streams export` that say which streams are wanted. */
export function addStreamsExportOptions(command: Command): Command {
  return command
    .optionsGroup('Which streams:')
    .option('--page-size <n>', 'rows a request, 1 to 100 (default: 100)', number)
    .option('--max-rows <n>', 'end after so many rows', number);
}

/** Adds the options of `sluice streams watch` that say which changes are wanted. */
export function addStreamsWatchOptions(command: Command): Command {
  return command
    .optionsGroup('Which changes:')
    .addOption(new Option('--only <what>', 'only changes of status and its message (default: all)').choices(['status']))
    .option('--page-size <n>', 'rows a request, 1 to 100 (default: 100)', number);
}
