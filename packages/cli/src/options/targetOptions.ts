import { UsageError } from '../errors/errors.js';
import { flagAbout, type OptionsOf } from './commands.js';
import type { GroupOptions } from './options.js';

/** The target that stands for stdout. */
export const standardOutput = '-';

export type RowFormatName = NonNullable<GroupOptions<'target'>['format']>;

const formatOfEnding: ReadonlyMap<string, RowFormatName> = new Map([
  ['csv', 'csv'],
  ['jsonl', 'jsonl'],
  ['ndjson', 'jsonl'],
  ['parquet', 'parquet'],
]);

/** The format according to a file's name. @example formatOfName('holdings.jsonl.gz') // 'jsonl' */
export function guessFormat(to: string): RowFormatName | undefined {
  const ending = /\.([a-z]+)(\.gz)?$/i.exec(to)?.[1]?.toLowerCase();
  return formatOfEnding.get(ending ?? '');
}

/**
 * The format of a target: from `--format`, or else from its name. Default for stdout: CSV.
 *
 * @example rowFormatOf('holdings.jsonl.gz', undefined) // 'jsonl'
 */
export function chooseRowFormat(to: string, given: RowFormatName | undefined): RowFormatName {
  const format = given ?? (to === standardOutput ? 'csv' : guessFormat(to));
  if (format !== undefined) return format;
  throw new UsageError(
    `--to ${to} does not say the format. End the name in .csv, .jsonl or .parquet (or .csv.gz, .jsonl.gz), or give --format csv, --format jsonl or --format parquet.`,
  );
}

/**
 * Checks that there is one target, and that no option is for another kind of target.
 *
 * @param other the target, if it is a plugin's sink or a table.
 */
export function checkOneTarget(
  options: OptionsOf<'to' | 'forward'>,
  other?: { readonly name: string } | { readonly isTable: true },
): void {
  const { to, forward } = options;
  const isTable = other !== undefined && 'isTable' in other;
  const aboutTable = isTable ? undefined : flagAbout('table', options);
  if (aboutTable !== undefined) {
    const forFiles = aboutTable === '--mode' ? ' For a file there is --if-exists.' : '';
    throw new UsageError(`${aboutTable} goes with a table: --to FILE.sqlite#TABLE or --to postgres://….${forFiles}`);
  }
  if (forward === undefined) {
    const flag = flagAbout('webhook', options);
    if (flag !== undefined) throw new UsageError(`${flag} needs --forward URL.`);
    if (!other) return;
  }
  if (to !== undefined && forward !== undefined)
    throw new UsageError('--to and --forward are two targets. Give one of them.');
  // A table has columns, too.
  const flag = flagAbout('file', isTable ? { ...options, columns: undefined } : options);
  if (flag === undefined) return;
  if (isTable) throw new UsageError(`${flag} goes with a file: a table has no format of its own.`);
  throw new UsageError(
    other
      ? `${flag} goes with a file: the sink "${other.name}" is given each row as a whole.`
      : `${flag} goes with --to: what is forwarded is each record as a whole, as JSON.`,
  );
}
