import type { Position } from '../position.js';

/** What one response carried: the unit of flow, of backpressure and of commit. */
export interface Page<T> {
  /** The rows, in the API's order; may be none. They are kept for a while to notice repeated pages: don't change them. */
  readonly items: readonly T[];
  /** Where the walk stands once this page's rows, and all given out before, are dealt with. Plain JSON. */
  readonly position: Position;
  /** Counts the pages of a walk from 0. */
  readonly index: number;
  /** Which part of the plan it belongs to, from 0, and whether that part ends with it. */
  readonly part: number;
  readonly endsPart: boolean;
  /** Rows in the whole listing, where the API says so. */
  readonly total?: number;
  /** Asks an export to commit right after this page. */
  readonly commit?: true;
  /** How the poll went that this page is of, where it is one of a watch. */
  readonly health?: PageHealth;
}

/** How a poll of a watch went. */
export interface PageHealth {
  /** `failed`: the walk did not come to its end, so it says nothing. The watch goes on. */
  readonly outcome: 'polled' | 'failed' | 'replayed';
  /** Rows in the accepted snapshot. */
  readonly rows: number;
  readonly generation: number;
  /** The first snapshot is complete. Said once in the life of a watch. */
  readonly isSynced?: true;
  /** The poll before had failed. */
  readonly isRecovered?: true;
  /** Removals that are held back, since the listing shrank suspiciously. */
  readonly held?: number;
  /** Keys that one walk has listed more than once, with different rows. The last one counts, and may be another one each time. */
  readonly repeated?: number;
  /** Failed polls in a row, and why the last one failed. */
  readonly failures?: number;
  readonly error?: unknown;
}

/** The same page with other items: its place in the walk is not changed by what is done to its rows. */
export function withItems<T, R>(page: Page<T>, items: readonly R[]): Page<R> {
  return {
    items,
    // Working out a position costs more than passing it on: it stays a question until somebody asks.
    get position() {
      return page.position;
    },
    index: page.index,
    part: page.part,
    endsPart: page.endsPart,
    ...(page.total !== undefined && { total: page.total }),
    ...(page.commit && { commit: page.commit }),
    ...(page.health && { health: page.health }),
  };
}
