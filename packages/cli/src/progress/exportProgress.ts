import type { RunCounts } from '@sluice/core/health';
import { formatCount, formatDuration, formatNumber, formatTimeLeft } from '../terminal/format.js';
import { otherCause, type Wait, waitEvent, waitText } from './waits.js';

/** How far an export is. Times are in ms. */
export interface Progress extends Pick<RunCounts, 'requests' | 'retries'> {
  /** Rows and pages include those of earlier runs. */
  readonly rows: number;
  readonly pages: number;
  /** Rows of earlier runs. */
  readonly resumedRows: number;
  /** Expected rows, if known. */
  readonly total: number | undefined;
  /** Since the start. */
  readonly elapsed: number;
  /** Wall time in which the rate held it up, in ms: see `RunJudge.limitedFor`. */
  readonly waited: number;
  /** Absent unless there are several partitions. */
  readonly partitions?: PartitionProgress | undefined;
  /** Why the latest attempt was repeated, in a few words. Absent if none was. */
  readonly lastRetry?: string | undefined;
  /** What it waits for. Absent while it makes progress. */
  readonly wait?: Wait | undefined;
  /** Absent if the target is not a webhook. */
  readonly sent?: Pick<RunCounts, 'deliveries' | 'redeliveries'> | undefined;
}

/** How many partitions are done. They are unlike, so this tells no time. */
export interface PartitionProgress {
  readonly done: number;
  readonly of: number;
  /** What several of them are called, e.g. `wallets`. */
  readonly noun: string;
}

/** @example partitionText({ done: 12, of: 40, noun: 'wallets' }) // '12 of 40 wallets' */
function partitionText({ done, of, noun }: PartitionProgress): string {
  return `${formatNumber(Math.min(done, of))} of ${formatNumber(of)} ${noun}`;
}

/** The rate of this run; 0 at the start. */
export function rowsPerSecond({ rows, resumedRows, elapsed }: Progress): number {
  return elapsed > 0 ? ((rows - resumedRows) / elapsed) * 1000 : 0;
}

/** The completed share, 0 to 1; `undefined` if the total is unknown. */
export function shareDone({ rows, total }: Progress): number | undefined {
  return total === undefined ? undefined : total === 0 ? 1 : Math.min(1, rows / total);
}

/** The remaining ms at this rate, at least a second; `undefined` if the total is unknown, or this run has no rows yet. */
export function timeLeft(progress: Progress): number | undefined {
  const pace = rowsPerSecond(progress);
  if (progress.total === undefined || pace === 0) return undefined;
  return Math.max(1000, ((progress.total - progress.rows) / pace) * 1000);
}

/** A piece of a line that says how far an export is. */
export interface Piece {
  readonly text: string;
  /** Shown before the piece is dropped. */
  readonly short?: string;
  /** If the line is too narrow, the piece with the highest rank is dropped first; rank 0 stays. */
  readonly rank: number;
}

/** Progress in pieces, in the order of a line. */
export function listPieces(progress: Progress): Piece[] {
  const { rows, pages, partitions, requests, retries, lastRetry, waited, wait, sent } = progress;
  const cause = otherCause(lastRetry, wait);
  const retried = formatCount(retries, 'retry', 'retries');
  const left = timeLeft(progress);
  return [
    { text: formatCount(rows, 'row'), rank: 0 },
    ...(partitions ? [{ text: partitionText(partitions), rank: 1 }] : []),
    { text: `${formatNumber(rowsPerSecond(progress))}/s`, rank: 2 },
    { text: formatCount(pages, 'page'), rank: 5 },
    { text: formatCount(requests, 'request'), rank: 6 },
    ...(retries > 0 ? [{ text: retried + (cause === undefined ? '' : ` (${cause})`), short: retried, rank: 3 }] : []),
    ...(waited >= 100 ? [{ text: `waited ${formatDuration(waited)}`, rank: 4 }] : []),
    ...(wait ? [{ text: waitText(wait), short: waitText(wait, { isShort: true }), rank: 1 }] : []),
    ...(sent ? [{ text: formatCount(sent.deliveries, 'delivery', 'deliveries'), rank: 4 }] : []),
    ...(sent && sent.redeliveries > 0 ? [{ text: `${formatNumber(sent.redeliveries)} repeated`, rank: 3 }] : []),
    ...(left === undefined || wait ? [] : [{ text: `${formatTimeLeft(left)} left`, rank: 1 }]),
  ];
}

/** Progress as a line of a log. @example '2,700 of 8,000 rows, 1,350/s, 27 pages, 29 requests, 2 retries, 4 s left' */
export function plainLine(progress: Progress): string {
  const { rows, total } = progress;
  const [counted, ...others] = listPieces(progress).map(({ text }) => text);
  const first = total === undefined ? counted : `${formatNumber(rows)} of ${formatCount(total, 'row')}`;
  return [first, ...others].join(', ');
}

/** Counts as fields of an event. Times are in ms; `rowsPerSecond` is this run's. */
export function countFields(progress: Progress) {
  const { rows, pages, requests, retries, waited, elapsed, lastRetry, sent } = progress;
  return {
    rows,
    pages,
    rowsPerSecond: Math.round(rowsPerSecond(progress)),
    requests,
    retries,
    waitedMs: Math.round(waited),
    elapsedMs: Math.round(elapsed),
    lastRetry,
    deliveries: sent?.deliveries,
    redeliveries: sent?.redeliveries,
  };
}

/** Progress as fields of an event. */
export function progressFields(progress: Progress) {
  const { total, wait, partitions } = progress;
  const left = timeLeft(progress);
  return {
    ...countFields(progress),
    total,
    partitions: partitions?.of,
    partitionsDone: partitions?.done,
    leftMs: left === undefined ? undefined : Math.round(left),
    waiting: wait && waitEvent(wait),
  };
}

/** What an export or a watch reports when it starts. */
export interface RunHeader {
  /** E.g. `aptos.nfts`. */
  readonly source: string;
  /** For a webhook, its origin. */
  readonly target: string;
  readonly format: string;
  /** Where the state is stored. Absent for stdout, and for a file, whose state is next to it. */
  readonly state?: string | undefined;
  /** For a webhook only. */
  readonly deadLetterFile?: string | undefined;
  /** The target is a table that mirrors the rows of a watch. */
  readonly isMirror?: true | undefined;
}
