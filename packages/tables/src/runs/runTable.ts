import type { RowSchema } from '@sluice/core';
import type { Claim, StatedGap } from '@sluice/core/kit';
import type { TableMode } from '../sql/tableShape.js';
import type { TableOptions } from '../sql/tableSink.js';

/** What totals mean for a run. */
export interface RunTotals {
  /**
   * `false`: the API's total counts something else than its rows, so `replace` removes rows although fewer were listed.
   * Default: it removes none then.
   */
  readonly requireTotal?: false | undefined;
}

/** What becomes of the rows of a run. All its workers have the same. */
export interface RunRows<T> {
  readonly options: Omit<TableOptions, 'table' | 'mode' | 'extra'> & {
    readonly mode?: TableMode | undefined;
  } & RunTotals;
  readonly schema: RowSchema<T> | undefined;
}

/** A partition that a worker is about to write. */
export interface ClaimRequest<T> extends RunRows<T> {
  readonly run: string;
  readonly partition: number;
  /** Of this claim alone. */
  readonly id: string;
  /** Discards what the partition has, for so many times now. */
  readonly restarts?: number | undefined;
}

/** A run that is new. Its texts are its owner's. */
export interface NewRun {
  readonly id: string;
  readonly name: string;
  readonly record: string;
}

/** A run as its database has it. */
export interface StoredRun extends NewRun {
  /**
   * - `planned`: its plan is not complete.
   * - `open`: workers write it.
   * - `finished`: all its partitions are committed, and its rows are in the table.
   * - `cancelled`: nothing of it is ever in the table.
   */
  readonly state: 'planned' | 'open' | 'finished' | 'cancelled';
  /** What its owner stored when its plan was complete. */
  readonly plan: string | undefined;
  readonly partitions: number;
  readonly done: number;
  /** Rows of the partitions that are done. */
  readonly rows: number;
  /** A page of a partition that is done was incomplete. */
  readonly isIncomplete: boolean;
  /** Rows of the table that `replace` would have removed, and that stay because of that. */
  readonly rowsNotRemoved: number;
}

/** Whether a new run of the same name follows: this one is finished, and each one brings the table up to date. */
export function isFollowed({ state }: Pick<StoredRun, 'state'>, { mode }: RunRows<never>['options']): boolean {
  return state === 'finished' && (mode === 'merge' || mode === 'replace');
}

/**
 * A table that the workers of runs fill together, one run after the other. All that is known of a run is in its database.
 *
 * Each method throws SinkError if the database refuses, or can't be reached; and LockError if an export writes the table,
 * unless the method only reads, cancels or cleans.
 */
export interface RunTable {
  /** The table, for messages. */
  readonly name: string;
  /** The run of an id, or of a name, or else the newest one. */
  find(by?: { readonly id?: string; readonly name?: string }): Promise<StoredRun | undefined>;
  /**
   * Begins a run, unless there is one of its name that no new one follows.
   *
   * @throws ConfigError if another one is not finished; SinkError if the table has rows that its mode does not touch, or
   * other columns
   */
  begin<T>(run: NewRun, rows: RunRows<T>): Promise<StoredRun>;
  /** Stores a chunk of a plan, or finds it. Returns whether it is the same one. */
  putChunk(run: string, first: number, chunk: string): Promise<boolean>;
  /** The last chunk that begins at a partition or before. */
  findChunk(run: string, partition: number): Promise<string | undefined>;
  /** The number of chunks that are stored. */
  chunks(run: string): Promise<number>;
  /** Lets workers begin, if nobody did before. Returns the plan that is stored; `undefined` if the run is gone. */
  complete(run: string, plan: string, partitions: number): Promise<string | undefined>;
  /** The partitions that are done, from one and before another. */
  done(run: string, from: number, before: number): Promise<readonly number[]>;
  /** Of the partitions that have fewer rows than the API said, or else more: the sum of its totals, and of the rows. */
  totalGap(run: string): Promise<StatedGap>;
  /** Lets a claim write a partition, instead of any other one. @throws ConfigError if the run is gone */
  claim<T>(request: ClaimRequest<T>): Promise<Claim<T> | 'done' | 'cancelled'>;
  /** Lets nothing be committed any more: it waits for commits that are under way. */
  cancel(run: string): Promise<void>;
  /** Removes what a run needs no more that is finished or cancelled. Resolves to the number of records. */
  clean(run: string): Promise<number>;
  /** Ends the connection, and gives up the lock that keeps off exports. It is opened again when it is needed. */
  close(): Promise<void>;
}
