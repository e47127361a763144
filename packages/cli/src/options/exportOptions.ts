import { type Command, Option } from 'commander';
import { UsageError } from '../errors/errors.js';
import { progressModes } from '../progress/reporter.js';
import { parsedBy, parseList, parseNumber } from './parse.js';

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
        'restart-partition',
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

/** How rows are written. */
export const rowFormats = ['csv', 'jsonl'] as const;

export type RowFormatName = (typeof rowFormats)[number];

/** The target that means stdout. */
export const standardOutput = '-';

const formatOfEnding: ReadonlyMap<string, RowFormatName> = new Map([
  ['csv', 'csv'],
  ['jsonl', 'jsonl'],
  ['ndjson', 'jsonl'],
]);

/** The format that a file's name ends in. @example formatOfName('holdings.jsonl.gz') // 'jsonl' */
export function formatOfName(to: string): RowFormatName | undefined {
  const ending = /\.([a-z]+)(\.gz)?$/i.exec(to)?.[1]?.toLowerCase();
  return formatOfEnding.get(ending ?? '');
}

/**
 * The format of a target: as asked for, or as its name ends. stdout is CSV unless told otherwise.
 *
 * @throws UsageError where neither says it.
 * @example rowFormatOf('holdings.jsonl.gz', undefined) // 'jsonl'
 */
export function rowFormatOf(to: string, asked: RowFormatName | undefined): RowFormatName {
  if (asked !== undefined) return asked;
  if (to === standardOutput) return 'csv';
  const format = formatOfName(to);
  if (format === undefined)
    throw new UsageError(
      `--to ${to} does not say the format. End the name in .csv or .jsonl (or .csv.gz, .jsonl.gz), or give --format csv or --format jsonl.`,
    );
  return format;
}
