import type { ExportOptions, ExportReport } from '@sluice/core';
import type { Checkpoint, OldRows, RowChanges, StatedGap, StatedTotal } from '@sluice/core/kit';
import { formatBytes, formatCount, formatDuration, formatMinute, formatNumber } from '../terminal/format.js';
import type { RunHeader } from '../progress/exportProgress.js';
import { type TargetKind, targetWords } from '../target/target.js';

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
 * @param kind of its target: a webhook may have received more rows than are committed.
 * @example 'Resuming after 12,300 rows (123 pages), at page 4 of partition 3 of 12.'
 */
export function resumedLine(
  { rows, pages, isSealed, partitions, partition, page, otherPartitions }: Resumed,
  kind: TargetKind,
): string {
  const { done, last } = targetWords[kind];
  if (isSealed) return `All ${formatCount(rows, 'row')} are ${done} already; only ${last} is left.`;
  if (pages === 0)
    return kind === 'webhook'
      ? 'Resuming from the first page; delivered records are not sent again.'
      : 'Resuming from the first page: no row was committed yet.';
  const total = partitions === undefined ? '' : ` of ${formatNumber(partitions)}`;
  const of = partitions === 1 ? '' : ` of partition ${formatNumber(partition)}${total}`;
  const others = otherPartitions === 0 ? '' : `, and in ${formatCount(otherPartitions, 'later partition')}`;
  return `Resuming after ${formatCount(rows, 'row')} (${formatCount(pages, 'page')}), at page ${formatNumber(page)}${of}${others}.`;
}

/** The result of an export. */
export interface Summary
  extends Omit<ExportReport, 'isDone' | 'target' | 'committedRows'>, Pick<ExportOptions, 'repeats'> {
  readonly target: string;
  /** In ms. */
  readonly elapsed: number;
  readonly retries: number;
  /** Requests to a webhook that were repeated. */
  readonly redeliveries?: number | undefined;
  /** The rows are those that are new since the last export. Default `false`. */
  readonly isIncrement?: boolean;
  /** What exports once more what is complete. Default `--if-exists overwrite to export it again`. */
  readonly again?: string;
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
    changes,
  } = summary;
  const details = [
    ...(bytes === undefined ? [] : [formatBytes(bytes)]),
    ...listChanges(changes),
    formatDuration(elapsed),
    ...(resumedRows > 0 ? [`${formatCount(resumedRows, 'row')} resumed`] : []),
    ...(retries > 0 ? [formatCount(retries, 'retry', 'retries')] : []),
    ...(redeliveries > 0 ? [formatCount(redeliveries, 'delivery', 'deliveries') + ' repeated'] : []),
    ...(deadLetters ? [formatCount(deadLetters.count, 'dead letter')] : []),
    ...listFlaws(summary),
  ];
  // Of a table it says itself how many are new.
  const what = isIncrement && changes?.added === undefined ? formatCount(rows, 'new row') : formatCount(rows, 'row');
  return `${what} in ${formatCount(pages, 'page')} -> ${target} (${details.join(', ')})`;
}

function listChanges({ added, changed, removed = 0 }: Partial<RowChanges> = {}): string[] {
  if (added === undefined || changed === undefined) return [];
  const counts = Object.entries({ added, changed, removed }).filter(([, count]) => count > 0);
  return counts.length > 0 ? counts.map(([what, count]) => `${formatNumber(count)} ${what}`) : ['nothing changed'];
}

type Flaws = Pick<ExportReport, 'isIncomplete' | 'rowsNotRemoved' | 'repeatedRows' | 'oldRows' | keyof StatedGap> &
  Pick<ExportOptions, 'repeats'>;

/** What is wrong with the rows of an export. */
export function listFlaws({ isIncomplete, rowsNotRemoved = 0, ...rows }: Flaws): string[] {
  return [
    ...(isIncomplete ? ['incomplete'] : []),
    ...(rowsNotRemoved > 0 ? [`${formatCount(rowsNotRemoved, 'row')} not removed`] : []),
    ...listed(rows),
  ];
}

/** How many rows the API lists and counts, and how many it lists again. */
function listed({ shortOfTotal, overTotal, repeatedRows = 0, repeats }: Flaws): string[] {
  const gap = shortOfTotal ?? overTotal;
  const kind = repeatedRows > 0 ? 'different row' : 'row';
  return [
    ...(repeatedRows > 0
      ? [`${formatCount(repeatedRows, 'repeated row')}${repeats === 'drop' ? ' dropped' : ''}`]
      : []),
    ...(gap ? [gapText(gap, kind)] : []),
  ];
}

function gapText({ total, listed }: StatedTotal, kind: string): string {
  return listed < total
    ? `${formatNumber(listed)} of ${formatCount(total, kind)} listed`
    : `${formatCount(listed, kind)} listed for a total of ${formatNumber(total)}`;
}

function finishedLine(
  { target, rows, again = '--if-exists overwrite to export it again', ...flaws }: Summary,
  finishedAt: string,
): string {
  const details = [formatCount(rows, 'row'), ...listed(flaws)].join(', ');
  return `${target} is complete (${details}, exported ${formatMinute(finishedAt)}); use ${again}`;
}

export function resumedAt({ rows, pages, partitions, position, isSealed }: Checkpoint): Resumed {
  const { before, begun } = position;
  const first = begun[before];
  const others = Object.keys(begun).filter((partition) => Number(partition) !== before);
  return {
    rows,
    pages,
    partitions,
    isSealed: isSealed === true || before === partitions,
    partition: before + 1,
    page: (first?.pages ?? 0) + 1,
    otherPartitions: others.length,
  };
}

/** How many partitions are finished at a position. */
export function countDone({ before, done = [] }: Checkpoint['position']): number {
  return done.reduce((sum, [first, last]) => sum + 1 + last - first, before);
}

/** What nobody would notice otherwise. */
export function* newsOf(
  { isIncomplete, rowsNotRemoved, oldRows, ...rows }: Flaws,
  target: string,
  isTotalInTheWay = (rows.shortOfTotal ?? rows.overTotal) !== undefined,
): Generator<string> {
  const { shortOfTotal, overTotal, repeatedRows, repeats } = rows;
  if (oldRows) yield oldRowsText(target, oldRows);
  if (isIncomplete) yield `${target} is incomplete: the API refused a part for good, or reported errors.`;
  const differs = shortOfTotal ? "is short of the API's total" : overTotal && "has more rows than the API's total";
  if (differs !== undefined) yield `${target} ${differs}: ${listed(rows).join(', ')}.`;
  else if (repeatedRows !== undefined && repeats !== 'drop')
    yield `${target} has ${formatCount(repeatedRows, 'repeated row')}: the API listed them again.`;
  if (rowsNotRemoved !== undefined) yield notRemovedText(target, rowsNotRemoved, isTotalInTheWay);
}

function oldRowsText(target: string, { rows, since, removesNone }: OldRows): string {
  const removed = removesNone ? ' No row is removed on the word of these.' : '';
  return `${formatCount(rows, 'row')} of ${target} were read by an interrupted run, from ${formatMinute(since)} on: what moved or changed since may be missing or outdated.${removed} --restart reads all of them again.`;
}

/** Rows that `replace` did not remove, and how to remove them if only the total is in the way. */
export function notRemovedText(target: string, rows: number, isShort: boolean): string {
  const remedy = isShort ? ' If none is missing, --no-require-total removes them.' : '';
  return `${target} keeps ${formatCount(rows, 'row')} that the walk did not find, since it was incomplete.${remedy}`;
}
