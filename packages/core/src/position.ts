import { isCount, isRecord } from './values.js';

/** Where a chain of pages goes on: at the API's own cursor, or after a number of rows. */
export type PageCursor = { readonly cursor: string } | { readonly offset: number };

/** How far one partition's chain of pages has come, with what is needed to notice that it stops making progress. */
export interface ChainPosition {
  readonly next: PageCursor;
  /** Pages and rows received so far in this chain. */
  readonly pages: number;
  readonly rows: number;
  /** Rows that lie before this place; unknown in a chain that began at a cursor given from outside. */
  readonly offset?: number;
  /** Fingerprints of the chain's first page, of the previous one, of one by which circles are noticed, and of the very last row. */
  readonly first?: string;
  readonly previous?: string;
  readonly landmark?: string;
  readonly lastRow?: string;
  /** Empty pages in a row, up to here. */
  readonly empty?: number;
  /** The cursor in `next` had led to an earlier page already, so nothing goes on from here. */
  readonly isCircle?: boolean;
}

/**
 * Where a walk stands in its plan: every partition below `before` is finished, `begun` holds the others that were begun.
 *
 * Plain JSON, and small whatever the plan's size, since partitions are begun within a bounded window.
 *
 * @example { before: 3, begun: { '3': { next: { cursor: 'abc' }, pages: 7, rows: 700 }, '4': 'done' }, rows: 4200, pages: 43 }
 */
export interface Position {
  readonly before: number;
  readonly begun: Readonly<Record<string, ChainPosition | 'done'>>;
  /** Rows and pages given out by the walk up to here. */
  readonly rows: number;
  readonly pages: number;
}

/** The position of a walk that has not begun. */
export const startOfPlan: Position = { before: 0, begun: {}, rows: 0, pages: 0 };

/** The position of the same walk if one unfinished partition had not been begun. */
export function withoutPartition(position: Position, partition: number): Position {
  const { [partition]: gone, ...begun } = position.begun;
  if (gone === undefined || gone === 'done') return position;
  return { ...position, begun, rows: position.rows - gone.rows, pages: position.pages - gone.pages };
}

/** Whether a value from outside, e.g. from a file, is a position. It may still be of another plan. */
export function isPosition(value: unknown): value is Position {
  if (!isRecord(value) || !isRecord(value['begun'])) return false;
  if (![value['before'], value['rows'], value['pages']].every(isCount)) return false;
  return Object.entries(value['begun']).every(
    ([partition, at]) => /^\d+$/.test(partition) && (at === 'done' || isChainPosition(at)),
  );
}

function isChainPosition(value: unknown): boolean {
  if (!isRecord(value) || !isRecord(value['next'])) return false;
  if (!isCount(value['pages']) || !isCount(value['rows'])) return false;
  const { cursor, offset } = value['next'];
  const optional = [value['first'], value['previous'], value['landmark'], value['lastRow']];
  return (
    (typeof cursor === 'string' || isCount(offset)) &&
    [value['offset'], value['empty']].every((count) => count === undefined || isCount(count)) &&
    optional.every((text) => text === undefined || typeof text === 'string') &&
    ['undefined', 'boolean'].includes(typeof value['isCircle'])
  );
}
