import type { Clock } from '../../clock.js';
import type { Outage } from '../../outage.js';
import type { StatedGap } from '../../totals.js';
import type { Json, RowSchema } from '../source/definition.js';
import type { WatchedWalk } from '../source/page.js';
import type { Delivery } from '../source/sourceEvent.js';
import type { StateLog } from '../../stateLog.js';
import type { StateStore } from './stateStore.js';

/** What a sink receives when it opens. */
export interface SinkContext<T> {
  /** The source's name, e.g. `aptos.nfts`. */
  readonly source: string;
  /** The rows' shape, if the source knows it. */
  readonly schema?: RowSchema<T> | undefined;
  /** Resumes at a position that `flush` or `seal` returned, and truncates what follows. Absent for a new target. */
  readonly resumeAt?: { readonly sinkPosition: Json; readonly isSealed: boolean } | undefined;
  /**
   * Replaces what an earlier run left, finished or not: the export starts over, or that run was interrupted too long ago to
   * be resumed. Never set if it may belong to somebody else.
   */
  readonly restart: boolean;
  /** The checkpoint's folder, if it is on a disk. */
  readonly stateFolder?: string | undefined;
  /** Opens a log next to the checkpoint, for what a sink has to remember itself. Absent without state. */
  readonly log?: ((name: string) => StateLog) | undefined;
  /** Saves another position for the rows of the last commit, e.g. after a log rotation. Absent without state. */
  readonly recommit?: ((sinkPosition: Json) => Promise<void>) | undefined;
  /**
   * The rows that the source emits first when it resumes, since no checkpoint has them, page by page: only these may be
   * behind `resumeAt`. It resumes from a state of its own. Absent for a new target, and if the source can't tell.
   */
  readonly uncommitted?: (() => AsyncIterable<readonly T[]>) | undefined;
  /** Reports what people should know of the target, and what is not an error. Default: nobody is told. */
  readonly warn?: ((message: string) => void) | undefined;
  /** Tells the observers of the client about a delivery to an endpoint. Default: nobody is told. */
  readonly onDelivery?: ((delivery: Delivery) => void) | undefined;
  /**
   * Reports that the target takes nothing, again with each attempt, and `undefined` once it does again: the run is shown
   * as waiting for it. Default: nobody is told.
   */
  readonly onOutage?: ((outage: Outage | undefined) => void) | undefined;
  /**
   * For incremental exports. `new`: the rows are only those that are new since an earlier export, so the older ones of the
   * target must stay. `all`: the target may have them already.
   */
  readonly increment?: 'new' | 'all' | undefined;
  /** An earlier increment has left a mark, or one was given. Without one, all rows come, as the target may have them. */
  readonly hasMark?: boolean | undefined;
  /** The clock of the export. Default: that of the system. */
  readonly clock?: Clock | undefined;
  /** The source never ends: its target has its final name from the start, and is never sealed. */
  readonly isEndless: boolean;
  /**
   * Aborted when a cancelled export waits no longer: at once without state, else after `stopWithin`. A call that might
   * never finish should reject then.
   */
  readonly signal: AbortSignal;
}

/**
 * What the ids of events are made from. It has a part that is random, and durable before a sink gets a page, so that no
 * two events have one id, even if the state is lost, restored or copied.
 */
export interface EventScope {
  /** For a record, with its content and the number of equal ones before it on the page. A page that comes again has the same. */
  readonly page: string;
  /**
   * For a row with a key, with its key and content, since it may be listed again on another page. Absent where equal rows
   * are events of their own: in a watch, and in `writeTo`.
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
  /** Of a watch's changes: the next page has more of the same generation. */
  readonly isContinued?: boolean | undefined;
  /** The number of the accepted snapshot, from 1, if with these rows all changes are there that lead to it. */
  readonly generation?: number | undefined;
  /** Removals that may follow in later generations: of rows that the last walk lacked, and that are accepted still. */
  readonly unconfirmed?: readonly T[] | undefined;
  /** Of a watch: the walk whose changes end here, or that found none; absent if it failed. */
  readonly walk?: WatchedWalk | undefined;
}

/** The outcome of a sink. */
export interface SinkReport {
  /** Where the rows are, for people: a path, an address. */
  readonly target: string;
  readonly bytes?: number;
  /** Rows that the target refused and where they are stored; absent if there are none. */
  readonly deadLetters?: { readonly count: number; readonly path: string };
  /** Rows that would have been removed, and stay because the walk was incomplete; absent if there are none. */
  readonly rowsNotRemoved?: number;
  /** What became of the rows of a target that had some; absent if the sink does not know. */
  readonly changes?: RowChanges;
}

/** What an export did to the rows that its target had. */
export interface RowChanges {
  /** Rows that were there before. */
  readonly before: number;
  /** Those that are gone. Where old rows can't be told from new ones: by how many it has fewer. */
  readonly removed: number;
  /** Rows whose key was not there. Absent where old rows can't be told from new ones. */
  readonly added?: number;
  /** Rows that were there with other values. One that the walk listed twice may count twice. */
  readonly changed?: number;
}

/** How the walk of the rows ended. It has the totals if nothing else is incomplete. */
export interface WalkEnd extends StatedGap {
  /**
   * The API may have rows that the walk does not: it skipped a part, got an incomplete page, ended at `maxRows`, has fewer
   * or more rows than the API's total, or repeated ones without any total (unless `requireTotal` is `false`), or goes on
   * with old rows.
   */
  readonly isIncomplete: boolean;
  /** Rows that came again, by their keys, where the API states no total: others may be missing in their place. */
  readonly repeatedRows?: number;
  /**
   * The walk goes on with rows that an interrupted run read from then on (ISO 8601), so long ago that it is incomplete: a
   * row that moved meanwhile is in neither half.
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
   * Equal rows without a key are separate rows. Nobody changes them, so a sink may keep them until then.
   */
  readonly write: (page: SinkPage<T>) => Promise<void>;
  /** The writer's buffer is full: the rows should be committed now, whatever the pace. Default: never. */
  readonly isFull?: boolean | undefined;
  /** Whether a commit is possible now, e.g. not within a block. Default: always. */
  readonly isCommittable?: boolean | undefined;
  /**
   * Aborted when the target fails between two calls, with the error as the reason: the export ends with it. Default: it
   * fails in calls only.
   */
  readonly failed?: AbortSignal | undefined;
  /**
   * Makes all rows durable and returns the position to resume from, plain JSON. A checkpoint has it before the next
   * `flush` or `seal`, so what only older positions need may be removed then.
   */
  readonly flush: () => Promise<Json>;
  /** Writes what follows the last row, makes it durable, and returns the position from which only `close` is left. */
  readonly seal: (end: WalkEnd) => Promise<Json>;
  /** Closes the target of an endless source so that it can be resumed. All rows are flushed. Default: it is sealed. */
  readonly suspend?: (() => Promise<SinkReport>) | undefined;
  /** Publishes the sealed target. */
  readonly close: () => Promise<SinkReport>;
  /**
   * Gives up. `isResumable`: keeps what `resumeAt` needs. Otherwise removes what is unfinished, or rejects. Without a
   * `reason` the export was cancelled: what is under way may end, until the signal of the context is aborted.
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
  /** What determines the bytes, as plain JSON: format, columns. A checkpoint with another identity is refused. */
  readonly identity: Json;
  /** Where the rows go, if that may differ: a path, an address. Not part of the plan. */
  readonly target?: string | undefined;
  /** `exactly-once`: it truncates to a position. `at-least-once`: a crash may repeat rows after the last commit. */
  readonly delivery: 'exactly-once' | 'at-least-once';
  /**
   * The sink keeps its own checkpoints, in its target: there can be no other state. `lock` connects, and its release
   * disconnects. `save` makes the record durable together with the rows that the writer took since the last `save`, in
   * one transaction; `flush` and `seal` only return the position. Default: rows first, then the checkpoint elsewhere.
   */
  readonly state?: StateStore | undefined;
  /** Refuses what `open` would refuse, without changes. It is called before the first checkpoint is saved. */
  readonly check?: ((context: SinkContext<T>) => Promise<void>) | undefined;
  /** The position as if an unfinished partition had not begun. Default: the sink can't remove a partition's rows. */
  readonly withoutPartition?: ((sinkPosition: Json, partition: number) => Json) | undefined;
  /**
   * The report of a finished export whose target is as `close` left it, at a position from `seal`; changes nothing.
   * With it a repeated export does nothing; without it all rows are written again. `warn` tells people why they are.
   *
   * @throws CheckpointError if rows of that export may be in the target, and others: they would be there twice
   */
  readonly finished?:
    ((sinkPosition: Json, warn?: (message: string) => void) => Promise<SinkReport | undefined>) | undefined;
  /**
   * Each export brings the target up to date, and shows no row before it ends. So a finished one is followed by a new
   * one, and an unfinished one that should not or can't be resumed is replaced: see `resumeWithin`. Default: no.
   */
  readonly isRefreshed?: boolean | undefined;
  /** @throws SinkError if the target can't be written; then nothing was changed. */
  readonly open: (context: SinkContext<T>) => Promise<SinkWriter<T>>;
}

/** Encodes rows as text. */
export interface RowEncoder<T> {
  /** Written before the first row. */
  readonly header: string;
  /** The text of a page, or of some of its rows. The texts joined must not depend on how the rows are divided. */
  encode(items: readonly T[]): string;
  /**
   * Why rows can't follow those of a file that begins with this text, e.g. `has the columns a, b`; `undefined` if they
   * can. The header is left out then. Records must end in a line feed. Default: no file of this format can be continued.
   */
  readonly follows?: (start: string) => string | undefined;
}

/** A text format for any sink that takes bytes. */
export interface RowFormat<T> {
  readonly name: string;
  /** What determines the bytes, as plain JSON. */
  readonly identity: Json;
  /** @throws ConfigError if the schema does not suffice, e.g. without columns. */
  encoder(schema: RowSchema<T> | undefined): RowEncoder<T>;
}
