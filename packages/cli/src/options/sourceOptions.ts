import { Option, type Command } from 'commander';
import { addConfigOptions } from './connectionOptions.js';
import { parsedBy, parseList, parseNumber } from './parse.js';

const number = parsedBy(parseNumber);

/** Adds the argument and the options that say which source is wanted, and what it is asked for. */
function addSourceOptions(command: Command): Command {
  return command
    .argument('<source>', 'API.SOURCE, e.g. streams.list; "sluice sources" lists them')
    .optionsGroup('Which rows:')
    .option(
      '--param <name=value>',
      'what the source is asked for, name:=JSON for anything but text; also several times',
      (text: string, before: readonly string[] | undefined) => [...(before ?? []), text],
    )
    .option('--page-size <n>', 'rows a request (default: as the source says)', number)
    .option('--concurrency <n>', 'partitions fetched at once (default: 1)', number);
}

/** Adds the argument and the options of `sluice export` that say which rows are wanted. */
export function addSourceExportOptions(command: Command): Command {
  return addSourceOptions(command).option('--max-rows <n>', 'end after so many rows', number);
}

/** Adds the argument and the options of `sluice watch` that say which rows are watched. */
export function addSourceWatchOptions(command: Command): Command {
  return addSourceOptions(command).option(
    '--key <columns>',
    'what tells one row from another: a,b (default: as the source says)',
    parsedBy(parseList),
  );
}

/** Adds the options of `sluice sources`. */
export function addSourcesOptions(command: Command): Command {
  return addConfigOptions(command).addOption(
    new Option('--format <format>', 'how to show them (default: text)').choices(['text', 'json']),
  );
}
