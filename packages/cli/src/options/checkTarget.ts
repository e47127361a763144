import { UsageError } from '../errors/errors.js';
import { flagAbout, type OptionsOf } from './table.js';

/** The target that means stdout. */
export const standardOutput = '-';

/** How rows are written. */
export type RowFormatName = NonNullable<OptionsOf<'format'>['format']>;

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
 * The format of a target: as `--format` says, or as its name ends. stdout is CSV by default.
 *
 * @throws UsageError where neither says it.
 * @example rowFormatOf('holdings.jsonl.gz', undefined) // 'jsonl'
 */
export function rowFormatOf(to: string, given: RowFormatName | undefined): RowFormatName {
  const format = given ?? (to === standardOutput ? 'csv' : formatOfName(to));
  if (format !== undefined) return format;
  throw new UsageError(
    `--to ${to} does not say the format. End the name in .csv or .jsonl (or .csv.gz, .jsonl.gz), or give --format csv or --format jsonl.`,
  );
}

/**
 * Refuses two targets, and options about a kind of target that was not given.
 *
 * @param named the target of a plugin's sink, if it is one.
 * @throws UsageError with the first of them.
 */
export function checkOneTarget(options: OptionsOf<'to' | 'forward'>, named?: { readonly name: string }): void {
  const { to, forward } = options;
  if (forward === undefined) {
    const flag = flagAbout('webhook', options);
    if (flag !== undefined) throw new UsageError(`${flag} needs --forward URL.`);
    if (!named) return;
  }
  if (to !== undefined && forward !== undefined)
    throw new UsageError('--to and --forward are two targets. Give one of them.');
  const flag = flagAbout('file', options);
  if (flag === undefined) return;
  throw new UsageError(
    named
      ? `${flag} goes with a file: the sink "${named.name}" is given each row as a whole.`
      : `${flag} goes with --to: what is forwarded is each record as a whole, as JSON.`,
  );
}
