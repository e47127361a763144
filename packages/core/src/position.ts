import { isStatedTotals, type StatedTotals } from './totals.js';
import { isCount, isList, isRecord } from './values.js';

/** Where a chain of pages continues: at the API's own cursor, or after a number of rows. */
export type PageCursor = NextCursor | { readonly offset: number };

/** The API's own cursor. With `isNumber`, it is sent as a number of JSON. */
export interface NextCursor {
  readonly cursor: string;
  readonly isNumber?: true;
}

/** How far one partition has been walked, with data to detect that it makes no progress. */
export interface ChainPosition {
  readonly next: PageCursor;
  /** Pages and rows received in this chain. */
  readonly pages: number;
  readonly rows: number;
  /** How many of these rows were emitted; absent if all were. */
  readonly kept?: number;
  /** How many of these rows have the key of an earlier row; absent if none has. */
  readonly repeated?: number;
  /** Rows before this position; unknown if the chain started at a given cursor. */
  readonly offset?: number;
  /** Fingerprints of the first page, the previous page, a page for detecting loops, and the last row. */
  readonly first?: string;
  readonly previous?: string;
  readonly landmark?: string;
  readonly lastRow?: string;
  /** The hash of the previous page, if its source computes one. */
  readonly hash?: string;
  /** The smallest total of the whole listing that the API has stated; absent if it states none. */
  readonly total?: number;
  /** The largest total; absent if it is equal to the smallest. */
  readonly maxTotal?: number;
  /** A stated total was not the number of rows of its page, so totals count the listing. */
  readonly isListingTotal?: true;
  /** Consecutive empty pages up to here. */
  readonly empty?: number;
  /** The previous page stated that this one follows. */
  readonly isStated?: true;
  /** The cursor in `next` already led to an earlier page, so the chain cannot continue. */
  readonly isCircle?: boolean;
}

/** Consecutive partitions that are done: the first, the last, and the rows that the walk has received of them. */
export type DoneRange = readonly [first: number, last: number, rows: number];

/**
 * How far a walk has got in its plan: all partitions below `before` and in `done` are done; `begun` has the others that
 * were started.
 *
 * Plain JSON, and small for any plan: no more partitions are unfinished at once than the concurrency, and finished
 * partitions between them are stored as ranges.
 *
 * @example { before: 3, begun: { '3': { next: { cursor: 'a' }, pages: 7, rows: 70 } }, done: [[4, 90, 5]], rows: 95, pages: 99 }
 */
export interface Position {
  readonly before: number;
  readonly begun: Readonly<Record<string, ChainPosition>>;
  /** The finished partitions from `before` on, in order; absent if there are none. */
  readonly done?: readonly DoneRange[];
  /** Rows and pages that the walk has received up to here, without rows beyond `maxRows`. */
  readonly rows: number;
  /** How many of these rows were emitted: a filter left others out, or they were repeated. Absent if all were. */
  readonly kept?: number;
  /** How many of these rows have the key of an earlier row of their partition; absent if none, or without `repeats`. */
  readonly repeated?: number;
  readonly pages: number;
  /** Totals of the finished partitions; absent while there is none for which the API states a total. */
  readonly totals?: StatedTotals;
  /** A hash of the source and its requests, e.g. its parameters: the walk of another plan refuses it. */
  readonly plan?: string;
  /** Set if the walk walks only this partition. Then no walk of the whole plan can resume here. */
  readonly partition?: number;
}

export const startOfPlan: Position = { before: 0, begun: {}, rows: 0, pages: 0 };

/** Where a walk of one partition starts. */
export function startOfPartition(partition: number): Position {
  return { before: partition, begun: {}, rows: 0, pages: 0, partition };
}

export function isDone({ before, done = [] }: Position, partition: number): boolean {
  return partition < before || done.some(([first, last]) => first <= partition && partition <= last);
}

/** The position after the last page of a partition. @param rows the partition's rows that the walk has received */
export function withDone(position: Position, partition: number, rows: number): Position {
  const { done: known = [], ...others } = position;
  const { [partition]: ended, ...begun } = position.begun;
  let [first, last, count]: DoneRange = [partition, partition, rows];
  const apart: DoneRange[] = [];
  for (const range of known) {
    if (range[1] === first - 1) first = range[0];
    else if (range[0] === last + 1) last = range[1];
    else {
      apart.push(range);
      continue;
    }
    count += range[2];
  }
  const isFront = first === position.before;
  const done = isFront ? apart : [...apart, [first, last, count] as const].sort(([a], [b]) => a - b);
  return { ...others, begun, ...(isFront && { before: last + 1 }), ...(done.length > 0 && { done }) };
}

/** The position as if one unfinished partition had not been started. */
export function withoutPartition(position: Position, partition: number): Position {
  const { [partition]: gone, ...begun } = position.begun;
  if (gone === undefined) return position;
  const { rows, pages, kept, repeated } = position;
  return {
    ...position,
    begun,
    rows: rows - gone.rows,
    pages: pages - gone.pages,
    ...(kept !== undefined && { kept: kept - (gone.kept ?? 0) }),
    ...(repeated !== undefined && { repeated: repeated - (gone.repeated ?? 0) }),
  };
}

/** Whether an untrusted value is a position. It may still belong to another plan. */
export function isPosition(value: unknown): value is Position {
  if (!isRecord(value) || !isRecord(value['begun'])) return false;
  if (![value['before'], value['rows'], value['pages']].every(isCount)) return false;
  if (![value['partition'], value['kept'], value['repeated']].every((count) => count === undefined || isCount(count)))
    return false;
  if (value['plan'] !== undefined && typeof value['plan'] !== 'string') return false;
  return (
    (value['totals'] === undefined || isStatedTotals(value['totals'])) &&
    (value['done'] === undefined || isDoneRanges(value['done'])) &&
    Object.entries(value['begun']).every(([partition, at]) => /^\d+$/.test(partition) && isChainPosition(at))
  );
}

function isDoneRanges(value: unknown): value is readonly DoneRange[] {
  if (!isList(value)) return false;
  let end = -1;
  return value.every((range) => {
    if (!isList(range) || range.length !== 3) return false;
    const [first, last, rows] = range;
    if (!isCount(first) || !isCount(last) || !isCount(rows) || first <= end || last < first) return false;
    end = last;
    return true;
  });
}

function isChainPosition(value: unknown): boolean {
  if (!isRecord(value) || !isRecord(value['next'])) return false;
  if (!isCount(value['pages']) || !isCount(value['rows'])) return false;
  const { cursor, isNumber, offset } = value['next'];
  const optional = [value['first'], value['previous'], value['landmark'], value['lastRow'], value['hash']];
  return (
    (typeof cursor === 'string' || isCount(offset)) &&
    [isNumber, value['isStated']].every((flag) => flag === undefined || flag === true) &&
    ['offset', 'empty', 'kept', 'repeated', 'total', 'maxTotal'].every(
      (name) => value[name] === undefined || isCount(value[name]),
    ) &&
    optional.every((text) => text === undefined || typeof text === 'string') &&
    [value['isCircle'], value['isListingTotal']].every((flag) => ['undefined', 'boolean'].includes(typeof flag))
  );
}
