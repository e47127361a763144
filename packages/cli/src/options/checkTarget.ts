import { UsageError } from '../errors/errors.js';
import { flagAbout, type OptionsOf } from './table.js';

/** The target that stands for stdout. */
export const standardOutput = '-';

export type RowFormatName = NonNullable<OptionsOf<'format'>['format']>;

const formatOfEnding: ReadonlyMap<string, RowFormatName> = new Map([
  ['csv', 'csv'],
  ['jsonl', 'jsonl'],
  ['ndjson', 'jsonl'],
]);

/** The format according to a file's name. @example formatOfName('holdings.jsonl.gz') // 'jsonl' */
export function formatOfName(to: string): RowFormatName | undefined {
  const ending = /\.([a-z]+)(\.gz)?$/i.exec(to)?.[1]?.toLowerCase();
  return formatOfEnding.get(ending ?? '');
}

/**
 * The format of a target: from `--format`, or else from its name. Default for stdout: CSV.
 *
 * @throws UsageError if neither names a format.
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
 * Checks that there is one target, and that no option is for another kind of target.
 *
 * @param named the target, if it is a plugin's sink.
 * @throws UsageError if not.
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
