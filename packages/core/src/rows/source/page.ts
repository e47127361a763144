import type { Position } from '../../position.js';
import type { PageIncrement } from './increment.js';

/** The content of one response: the unit of flow, backpressure and commit. */
export interface Page<T> {
  /** The rows in the API's order; may be empty. */
  readonly items: readonly T[];
  /** The walk's position after this page's rows and all before them. Plain JSON. */
  readonly position: Position;
  /** The number of the page in its walk, from 0. */
  readonly index: number;
  /** The partition, from 0, and whether this is its last page. */
  readonly partition: number;
  readonly endsPartition: boolean;
  /** With `each`: the keys of the rows above the page's own, from the top level down. */
  readonly parents?: readonly string[];
  /** Rows of the whole source, if the API states it. Absent after `pipePages`, which may change their number. */
  readonly total?: number;
  /** Rows in the API's listing, if the API states it, even after `pipePages`. */
  readonly listed?: number;
  /** The API said that rows are missing from this page. */
  readonly isIncomplete?: true;
  /** The values of its rows for an increment, even after `pipePages`. */
  readonly increment?: PageIncrement;
  /** When its response had been read, by the walk's `clock`, in ms since 1970. Absent without a clock. */
  readonly receivedAt?: number;
  /** Asks an export to commit right after this page. */
  readonly commit?: true;
  /** For a watch's changes: removals that are not certain yet, since the rows are missing from too few walks. */
  readonly unconfirmed?: readonly T[];
  /** The scope of the ids of its events: see `EventScope`. Default: the export makes one for each page. */
  readonly scope?: string;
  /** For a watch's changes: the next page has more changes of the same generation. */
  readonly isContinued?: true;
  /** The outcome of the poll, on the last page of a watch's poll. */
  readonly health?: PageHealth;
  /** The walk of that poll, on the same page, even if it found no changes; absent if it failed. */
  readonly walk?: WatchedWalk;
}

/** A walk to the end of a watched listing. */
export interface WatchedWalk {
  /** When it ended, by our clock: ISO 8601, UTC. */
  readonly observedAt: string;
  /** The API said that rows are missing from it. */
  readonly isIncomplete?: true | undefined;
}

/** The outcome of a watch's poll. */
export interface PageHealth {
  /** `failed`: the walk was incomplete and is ignored; the watch continues. `replayed`: changes of an earlier run. */
  readonly outcome: 'polled' | 'failed' | 'replayed';
  /** Rows in the accepted snapshot. */
  readonly rows: number;
  readonly generation: number;
  /** The first snapshot is complete. Reported once in the life of a watch. */
  readonly isSynced?: true | undefined;
  /** The previous poll failed. */
  readonly isRecovered?: true | undefined;
  /** The API said that rows are missing from the walk, so no removals were concluded from it. */
  readonly isIncomplete?: true | undefined;
  /** Removals that are held, because the listing shrank suspiciously. */
  readonly held?: number | undefined;
  /** Keys that a walk listed several times with different rows. The last row counts, and which one is last may vary. */
  readonly repeated?: number | undefined;
  /** Consecutive failed polls, and the last error. */
  readonly failures?: number | undefined;
  readonly error?: unknown;
}

/** Properties of a fetched page beside its rows, which a walk passes on unchanged. */
export type PageNotes = Pick<Page<never>, 'isIncomplete' | 'increment'>;

export function notesOf({
  isIncomplete,
  increment,
}: { readonly [Note in keyof PageNotes]: PageNotes[Note] | undefined }): PageNotes {
  return { ...(isIncomplete && { isIncomplete }), ...(increment && { increment }) };
}

/** Returns the page with other items and the same position. */
export function withItems<T, R>(page: Page<T>, items: readonly R[]): Page<R> {
  const { total, unconfirmed, ...others } = page;
  return { ...others, items };
}
