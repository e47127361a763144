import type { Checkpoint, ExportReport } from '@sluice/core';
import { formatBytes, formatCount, formatDuration, formatNumber } from '../terminal/format.js';
import type { RunHeader } from './exportProgress.js';

/** Says where the state is stored, which may be a default; `undefined` for a file, whose state is next to it. */
export function openingLine({ target, state, deadLetterFile, isMirror }: RunHeader): string | undefined {
  if (isMirror) return `Mirroring the rows in ${target}, which keeps the state, too.`;
  if (state === undefined) return undefined;
  return deadLetterFile === undefined
    ? `Writing to ${target}. Its state is kept in ${state}.`
    : `Forwarding to ${target}. Its state is kept in ${state}, dead letters in ${deadLetterFile}.`;
}

/** What an export resumes from. */
export interface Resumed {
  /** Committed by earlier runs. */
  readonly rows: number;
  readonly pages: number;
  /** All rows are written; only closing the target is left. */
  readonly isSealed: boolean;
  /** In the plan; absent if they are discovered. */
  readonly partitions: number | undefined;
  /** The first unfinished partition, and the next page in it, both from 1. */
  readonly partition: number;
  readonly page: number;
  /** Later partitions that are started but unfinished. */
  readonly otherPartitions: number;
}

/**
 * The first line of an export that resumes.
 *
 * @param header describes the target: a webhook may have received more rows than are committed.
 * @example 'Resuming after 12,300 rows (123 pages), at page 4 of partition 3 of 12.'
 */
export function resumedLine(
  { rows, pages, isSealed, partitions, partition, page, otherPartitions }: Resumed,
  header: Pick<RunHeader, 'state' | 'deadLetterFile' | 'keepsState'> = {},
): string {
  const words = wordsFor(header);
  if (isSealed) return `All ${formatCount(rows, 'row')} are ${words.sealed}`;
  if (pages === 0 && words.first !== undefined) return words.first;
  const total = partitions === undefined ? '' : ` of ${formatNumber(partitions)}`;
  const of = partitions === 1 ? '' : ` of partition ${formatNumber(partition)}${total}`;
  const others = otherPartitions === 0 ? '' : `, and in ${formatCount(otherPartitions, 'later partition')}`;
  return `Resuming after ${formatCount(rows, 'row')} (${formatCount(pages, 'page')}), at page ${formatNumber(page)}${of}${others}.`;
}

/** What to say of a target that is sealed, and of one without committed pages. */
interface TargetWords {
  readonly sealed: string;
  readonly first?: string;
}

const ofFile: TargetWords = { sealed: 'written already; only moving the file into place is left.' };
const ofEndpoint: TargetWords = {
  sealed: 'delivered already; only cleaning up is left.',
  first: 'Resuming from the first page; delivered records are not sent again.',
};
const ofSink: TargetWords = {
  sealed: 'there already; only closing the target is left.',
  first: 'Resuming from the first page: no row was committed yet.',
};

/** Only a file has its state next to it, and only a webhook has dead letters. */
function wordsFor({
  state,
  deadLetterFile,
  keepsState,
}: Pick<RunHeader, 'state' | 'deadLetterFile' | 'keepsState'>): TargetWords {
  if (state === undefined) return keepsState ? ofSink : ofFile;
  return deadLetterFile === undefined ? ofSink : ofEndpoint;
}

/** The result of an export. */
export interface Summary {
  readonly rows: number;
  readonly pages: number;
  /** Rows of earlier runs. */
  readonly resumedRows: number;
  readonly target: string;
  readonly bytes: number | undefined;
  /** In ms. */
  readonly elapsed: number;
  readonly retries: number;
  /** Requests to a webhook that were repeated. */
  readonly redeliveries?: number | undefined;
  /** Records that a webhook refused, and their file. */
  readonly deadLetters?: { readonly count: number; readonly path: string } | undefined;
  /** When an earlier run finished the export (ISO 8601). */
  readonly finishedAt?: string | undefined;
  /** Rows may be missing. Default `false`. */
  readonly isIncomplete?: boolean | undefined;
  /** Rows of the table that the walk did not find, and that stay since it was incomplete. */
  readonly rowsNotRemoved?: number | undefined;
  /** The API lists fewer rows than it says that there are. */
  readonly shortOfTotal?: { readonly total: number; readonly listed: number } | undefined;
  /** The rows are those that are new since the last export. Default `false`. */
  readonly isIncrement?: boolean | undefined;
  /** The option that exports once more what is complete. Default `--if-exists overwrite`. */
  readonly again?: string | undefined;
}

/** The last line. @example '12,345 rows in 124 pages -> holdings.csv (4.1 MB, 3.2 s, 7 retries)' */
export function summaryLine(summary: Summary): string {
  if (summary.finishedAt !== undefined) return finishedLine(summary, summary.finishedAt);
  const {
    rows,
    pages,
    resumedRows,
    target,
    bytes,
    elapsed,
    retries,
    redeliveries = 0,
    deadLetters,
    isIncrement,
    isIncomplete,
    rowsNotRemoved = 0,
    shortOfTotal,
  } = summary;
  const details = [
    ...(bytes === undefined ? [] : [formatBytes(bytes)]),
    formatDuration(elapsed),
    ...(resumedRows > 0 ? [`${formatCount(resumedRows, 'row')} resumed`] : []),
    ...(retries > 0 ? [formatCount(retries, 'retry', 'retries')] : []),
    ...(redeliveries > 0 ? [formatCount(redeliveries, 'delivery', 'deliveries') + ' repeated'] : []),
    ...(deadLetters ? [formatCount(deadLetters.count, 'dead letter')] : []),
    ...(isIncomplete ? ['incomplete'] : []),
    ...(rowsNotRemoved > 0 ? [`${formatCount(rowsNotRemoved, 'row')} not removed`] : []),
    ...(shortOfTotal ? [shortText(shortOfTotal)] : []),
  ];
  const what = isIncrement ? formatCount(rows, 'new row') : formatCount(rows, 'row');
  return `${what} in ${formatCount(pages, 'page')} -> ${target} (${details.join(', ')})`;
}

/** How many rows the API lists and counts. */
export function shortText({ total, listed }: { readonly total: number; readonly listed: number }): string {
  return `${formatNumber(listed)} rows of ${formatNumber(total)} listed`;
}

function finishedLine(
  { target, rows, shortOfTotal, again = '--if-exists overwrite' }: Summary,
  finishedAt: string,
): string {
  const when = finishedAt.replace('T', ' ').replace(/:\d\d(\.\d+)?Z$/, ' UTC');
  const short = shortOfTotal ? `, ${shortText(shortOfTotal)}` : '';
  return `${target} is complete (${formatCount(rows, 'row')}${short}, exported ${when}); use ${again} to export it again`;
}

export function resumedAt({ rows, pages, partitions, position, isSealed }: Checkpoint): Resumed {
  const { before, begun } = position;
  const first = begun[before];
  const others = Object.entries(begun).filter(([partition, at]) => at !== 'done' && Number(partition) !== before);
  return {
    rows,
    pages,
    partitions,
    isSealed: isSealed ?? false,
    partition: before + 1,
    page: first === undefined || first === 'done' ? 1 : first.pages + 1,
    otherPartitions: others.length,
  };
}

/** What nobody would notice otherwise. */
export function* newsOf(
  {
    isIncomplete,
    rowsNotRemoved,
    shortOfTotal,
  }: Pick<ExportReport, 'isIncomplete' | 'rowsNotRemoved' | 'shortOfTotal'>,
  target: string,
  isTotalInTheWay = shortOfTotal !== undefined,
): Generator<string> {
  if (isIncomplete) yield `${target} is incomplete: the API refused a part for good, or reported errors.`;
  if (shortOfTotal) yield `${target} is short of the API's total: ${shortText(shortOfTotal)}.`;
  if (rowsNotRemoved !== undefined) yield keptText(target, rowsNotRemoved, isTotalInTheWay);
}

/** Rows that `replace` did not remove, and how to remove them if only the total is in the way. */
export function keptText(target: string, rows: number, isShort: boolean): string {
  const remedy = isShort ? ' If the total counts something else, --no-require-total removes them.' : '';
  return `${target} keeps ${formatCount(rows, 'row')} that the walk did not find, since it was incomplete.${remedy}`;
}
