import { formatBytes } from './formatBytes.js';
import { formatDuration } from './formatDuration.js';
import { formatCount } from './formatNumber.js';

/** What an export came to. */
export interface Summary {
  readonly rows: number;
  readonly pages: number;
  /** Rows of an interrupted run before it. */
  readonly resumedRows: number;
  /** Where the rows are, as the person named it. */
  readonly target: string;
  readonly bytes: number | undefined;
  /** In ms. */
  readonly elapsed: number;
  readonly retries: number;
  /** Requests to an endpoint that had to be repeated. */
  readonly redeliveries?: number;
  /** Records that an endpoint did not take, and where they are. */
  readonly deadLetters?: { readonly count: number; readonly path: string };
  /** An earlier run had done all of it by then (ISO 8601). */
  readonly finishedAt?: string;
}

/** The calm line at the end. @example '12,345 rows in 124 pages -> holdings.csv (4.1 MB, 3.2 s, 7 retries)' */
export function summaryLine(summary: Summary): string {
  if (summary.finishedAt !== undefined) return finishedLine(summary, summary.finishedAt);
  const { rows, pages, resumedRows, target, bytes, elapsed, retries, redeliveries = 0, deadLetters } = summary;
  const details = [
    ...(bytes === undefined ? [] : [formatBytes(bytes)]),
    formatDuration(elapsed),
    ...(resumedRows > 0 ? [`${formatCount(resumedRows, 'row')} from before`] : []),
    ...(retries > 0 ? [formatCount(retries, 'retry', 'retries')] : []),
    ...(redeliveries > 0 ? [formatCount(redeliveries, 'delivery', 'deliveries') + ' repeated'] : []),
    ...(deadLetters ? [formatCount(deadLetters.count, 'dead letter')] : []),
  ];
  return `${formatCount(rows, 'row')} in ${formatCount(pages, 'page')} -> ${target} (${details.join(', ')})`;
}

function finishedLine({ target, rows }: Summary, finishedAt: string): string {
  const when = finishedAt.replace('T', ' ').replace(/:\d\d(\.\d+)?Z$/, ' UTC');
  return `${target} is complete (${formatCount(rows, 'row')}, exported ${when}); use --if-exists overwrite to export it again`;
}
