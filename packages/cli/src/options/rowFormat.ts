import { UsageError } from '../faults/usageError.js';

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
