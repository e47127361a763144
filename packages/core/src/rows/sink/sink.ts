import type { Clock } from '../../clock.js';
import type { Outage } from '../../outage.js';
import type { StatedGap } from '../../totals.js';
import type { Json, RowSchema } from '../source/definition.js';
import type { WatchedWalk } from '../source/page.js';
import type { Delivery } from '../source/sourceEvent.js';
import type { StateLog } from '../../stateLog.js';
import type { StateStore } from './stateStore.js';

/** The context of an export that a sink receives when it opens. */
export interface SinkContext<T> {
  /** The source's name, e.g. `aptos.nfts`. */
  readonly source: string;
  /** The rows' shape, if the source knows it. */
  readonly schema?: RowSchema<T> | undefined;
  /** Where to resume: a position that `flush` or `seal` returned. Truncate all after it. Absent for a new target. */
  readonly resumeAt?: { readonly sinkPosition: Json; readonly isSealed: boolean } | undefined;
  /**
   * Replace the target of an earlier run, finished or not: the export starts over, or that run was interrupted too long
   * ago to be resumed. Never set if the target may belong to somebody else.
   */
  readonly restart: boolean;
  /** The checkpoint's folder, if it is on a disk. */
  readonly stateFolder?: string | undefined;
  /** Opens a log next to the checkpoint, for data that a sink has to store itself. Absent without state. */
  readonly log?: ((name: string) => StateLog) | undefined;
  /** Saves another position for the rows of the last commit, e.g. after a log rotation. Absent without state. */
  readonly recommit?: ((sinkPosition: Json) => Promise<void>) | undefined;
  /**
   * Lists, page by page, the rows that the source emits first when it resumes, because no checkpoint covers them: only
   * these may be behind `resumeAt`. Given by sources with their own state. Absent for a new target, or if unknown.
   */
  readonly uncommitted?: (() => AsyncIterable<readonly T[]>) | undefined;
  /**
   * Lists, page by page, the rows that the position to resume from stands for, if the source has state of its own: of a
   * watch, each row that the target has, as an `added` change. Absent for a new target, or if unknown.
   */
  readonly committed?: (() => AsyncIterable<readonly T[]>) | undefined;
  /** Reports a warning about the target that does not fail the export. Default: warnings are dropped. */
  readonly warn?: ((message: string) => void) | undefined;
  /** Reports a delivery to an endpoint to the observers of the client. Default: deliveries are not reported. */
  readonly onDelivery?: ((delivery: Delivery) => void) | undefined;
  /**
   * Reports that the target is unavailable, again for each attempt, and `undefined` when it is available again.
   * Meanwhile the run is shown as waiting for it. Default: outages are not reported.
   */
  readonly onOutage?: ((outage: Outage | undefined) => void) | undefined;
  /**
   * For incremental exports. `new`: the export has only rows that are new since an earlier one, so older rows of the
   * target must stay. `all`: it has all rows, and the target may have them already.
   */
  readonly increment?: 'new' | 'all' | undefined;
  /** An earlier increment has left a mark, or one was given. If not, all rows come, and the target may have them. */
  readonly hasMark?: boolean | undefined;
  /** The clock of the export. Default: the system's. */
  readonly clock?: Clock | undefined;
  /** The source never ends: its target has its final name from the start, and is never sealed. */
  readonly isEndless: boolean;
  /**
   * Aborts when a cancelled export waits no longer: at once without state, else after `stopWithin`. A call that might
   * never finish should reject then.
   */
  readonly signal: AbortSignal;
}

/**
 * The scope from which a sink derives the ids of events. It has a random part, which is durable before the sink gets a
 * page, so that no two events have the same id, even if the state is lost, restored or copied.
 */
export interface EventScope {
  /** For a record, with its content and the number of equal ones before it on the page. A repeated page has the same. */
  readonly page: string;
  /**
   * For a row with a key, with its key and content, since another page may list the row again. Absent where equal rows
   * are separate events: in a watch, and in `writeTo`.
   */
  readonly rows?: string | undefined;
}

/** The rows of a page. */
export interface SinkPage<T> {
  readonly items: readonly T[];
  readonly scope: EventScope;
  /** The partition of the rows, and whether it ends here, even without rows. */
  readonly partition: number;
  readonly endsPartition: boolean;
  /** When the page was received, by the clock of the export: ms since 1970. Absent if its source does not say. */
  readonly receivedAt?: number | undefined;
  /** For a watch's changes: the next page has more changes of the same generation. */
  readonly isContinued?: boolean | undefined;
  /** The number of the accepted snapshot, from 1, if these rows complete the changes that lead to it. */
  readonly generation?: number | undefined;
  /** Removals that may follow in later generations: of rows that the last walk lacked, but that are still accepted. */
  readonly unconfirmed?: readonly T[] | undefined;
  /** For a watch: the walk whose changes end here, or that found none; absent if it failed. */
  readonly walk?: WatchedWalk | undefined;
}

/** The outcome of a sink. */
export interface SinkReport {
  /** Where the rows are, for people: a path, an address. */
  readonly target: string;
  readonly bytes?: number;
  /** Rows that the target refused, and the file where they are stored, if it is not the state; absent if there are none. */
  readonly deadLetters?: { readonly count: number; readonly path?: string };
  /** Rows that were not removed because the walk was incomplete; absent if there are none. */
  readonly rowsNotRemoved?: number;
  /** The changes to the rows of a target that had some; absent if the sink does not know. */
  readonly changes?: RowChanges;
  /** Columns that the sink has added to its target since the last export into it; absent if there are none. */
  readonly addedColumns?: readonly string[];
}

/** The changes of an export to the rows that its target had. */
export interface RowChanges {
  /** Rows in the target before. */
  readonly before: number;
  /** Rows removed. Where old rows can't be told from new ones: by how many the target has fewer. */
  readonly removed: number;
  /** Rows with a new key. Absent where old rows can't be told from new ones. */
  readonly added?: number;
  /** Rows that had other values. A row that the walk listed twice may count twice. */
  readonly changed?: number;
}

/** How the walk of the rows ended. It has the totals if nothing else is incomplete. */
export interface WalkEnd extends StatedGap {
  /**
   * The API may have rows that the walk does not: it skipped a part, got an incomplete page, ended at `maxRows`, has
   * fewer or more rows than the API's total, or repeated rows without any total (unless `requireTotal` is `false`), or
   * continues after old rows.
   */
  readonly isIncomplete: boolean;
  /** Rows with repeated keys, where the API states no total: other rows may be missing in their place. */
  readonly repeatedRows?: number;
  /**
   * When an interrupted run began to read the rows after which the walk continues (ISO 8601). That was so long ago that
   * the walk is incomplete: a row that moved meanwhile is in neither part.
   */
  readonly oldRowsSince?: string;
}

/**
 * An open target. Its calls never overlap; after an error only `abort` is called. `isLost: true` in an error's
 * `details` means that nothing is left to resume: the checkpoint is removed, and the next run starts over.
 */
export interface SinkWriter<T> {
  /** The position before the first row of a new target. It is committed at once, so a killed run can be resumed. */
  readonly start?: Json | undefined;
  /**
   * Takes a page's rows, possibly thousands, with nested values; they are durable after the next `flush` or `seal`.
   * Equal rows without a key are separate rows. The rows do not change, so a sink may keep them until then.
   */
  readonly write: (page: SinkPage<T>) => Promise<void>;
  /** The writer's buffer is full: the export should commit now, whatever its pace. Default: never. */
  readonly isFull?: boolean | undefined;
  /** Whether a commit is possible now, e.g. not within a block. Default: always. */
  readonly isCommittable?: boolean | undefined;
  /**
   * Aborts when the target fails between two calls, with the error as its reason: the export ends with this error.
   * Default: the target fails only in calls.
   */
  readonly failed?: AbortSignal | undefined;
  /**
   * Makes all rows durable and returns the position to resume from, plain JSON. A checkpoint stores it before the next
   * `flush` or `seal`, which may then remove data that only older positions need.
   */
  readonly flush: () => Promise<Json>;
  /** Writes the end of the target, makes it durable, and returns the position from which only `close` is left. */
  readonly seal: (end: WalkEnd) => Promise<Json>;
  /** Closes the target of an endless source so that it can be resumed. All rows are flushed. Default: it is sealed. */
  readonly suspend?: (() => Promise<SinkReport>) | undefined;
  /** Publishes the sealed target. */
  readonly close: () => Promise<SinkReport>;
  /**
   * Gives up. With `isResumable`, keeps all that `resumeAt` needs. Otherwise removes the unfinished target, or rejects.
   * Without a `reason` the export was cancelled: pending work may end, until the signal of the context aborts.
   */
  readonly abort: (reason: unknown, options: { readonly isResumable: boolean }) => Promise<void>;
}

/**
 * Where rows go. A sink is a description: each export opens it again.
 *
 * @example
 * const counting = (): Sink<unknown> => ({
 *   name: 'counting', identity: null, delivery: 'at-least-once',
 *   open: async () => { let rows = 0; return {
 *     write: async ({ items }) => void (rows += items.length),
 *     flush: async () => rows, seal: async () => rows,
 *     close: async () => ({ target: `${rows} rows` }), abort: async () => {},
 *   }; },
 * });
 */
export interface Sink<T> {
  readonly name: string;
  /** All that determines the bytes, as plain JSON: format, columns. A checkpoint with another identity is refused. */
  readonly identity: Json;
  /** Where the rows go, if that may vary: a path, an address. Not part of the plan. */
  readonly target?: string | undefined;
  /** `exactly-once`: it truncates to a position. `at-least-once`: a crash may repeat rows after the last commit. */
  readonly delivery: 'exactly-once' | 'at-least-once';
  /**
   * The sink stores its own checkpoints in its target, so no other state is allowed. `lock` connects, and its release
   * disconnects. `save` makes the record durable together with the rows that the writer took since the last `save`, in
   * one transaction; `flush` and `seal` only return the position. Default: rows first, then the checkpoint elsewhere.
   */
  readonly state?: StateStore | undefined;
  /** Rejects where `open` would reject, without changes. Called before the first checkpoint is saved. */
  readonly check?: ((context: SinkContext<T>) => Promise<void>) | undefined;
  /** Returns the position without an unfinished partition. Default: the sink can't remove a partition's rows. */
  readonly withoutPartition?: ((sinkPosition: Json, partition: number) => Json) | undefined;
  /**
   * Returns the report of a finished export if its target is as `close` left it, at a position from `seal`; changes
   * nothing. With a report, a repeated export does nothing; without, it writes all rows again, and `warn` says why.
   *
   * @throws CheckpointError if the target may have rows of that export besides others: it would have them twice
   */
  readonly finished?:
    ((sinkPosition: Json, warn?: (message: string) => void) => Promise<SinkReport | undefined>) | undefined;
  /**
   * Each export brings the target up to date, and publishes no row before it ends. A new export follows a
   * finished one, and replaces an unfinished one that should not or can't be resumed: see `resumeWithin`. Default: no.
   */
  readonly isRefreshed?: boolean | undefined;
  /**
   * The sink adds columns that its target lacks, so a source with other columns is no other plan. An interrupted run that
   * began with other columns is replaced; of a sink that is not refreshed, one that is sealed is published with its own.
   * Default: no.
   */
  readonly addsColumns?: boolean | undefined;
  /** @throws SinkError if the target can't be written. Then it has changed nothing. */
  readonly open: (context: SinkContext<T>) => Promise<SinkWriter<T>>;
}

/** Encodes rows as text. */
export interface RowEncoder<T> {
  /** Written before the first row. */
  readonly header: string;
  /** The text of a page, or of some of its rows. The joined texts must not depend on how the rows are divided. */
  encode(items: readonly T[]): string;
  /**
   * Why rows can't be appended to a file that begins with this text, e.g. `has the columns a, b`; `undefined` if they
   * can. Then the header is left out. Records must end in a line feed. Default: no file can be continued.
   */
  readonly follows?: (start: string) => string | undefined;
}

/** A text format for any sink that takes bytes. */
export interface RowFormat<T> {
  readonly name: string;
  /** All that determines the bytes, as plain JSON. */
  readonly identity: Json;
  /** @throws ConfigError if the schema does not suffice, e.g. without columns. */
  encoder(schema: RowSchema<T> | undefined): RowEncoder<T>;
}
