import type { Json, RowSchema } from '../source/definition.js';
import type { StateLog } from './stateStore.js';

/** What a sink is told when it opens. */
export interface SinkContext<T> {
  /** The source's name, e.g. `aptos.walletNfts`. */
  readonly source: string;
  /** The rows' shape, where the source knows it. */
  readonly schema?: RowSchema<T>;
  /**
   * Goes on from this place, which an earlier `flush` (or `seal`) of the same target answered: everything behind it is cut off.
   * Absent = a new target.
   */
  readonly resumeAt?: { readonly sinkPosition: Json; readonly isSealed: boolean };
  /** Replaces what an earlier run left behind, finished or not. Never set where it may be somebody else's. */
  readonly restart: boolean;
  /** Where the checkpoint is kept, if that is a folder on a disk. */
  readonly stateFolder?: string;
  /** Opens a log beside the checkpoint, for what a sink has to remember by itself; absent where the export keeps no state. */
  readonly log?: (name: string) => StateLog;
  /**
   * Makes a place durable that stands for all rows of the last commit, where the old place is gone: that of a file which was begun anew.
   * Absent where the export keeps no state.
   */
  readonly recommit?: (sinkPosition: Json) => Promise<void>;
  /** The source never ends: what is written is in its final place from the beginning, and is never sealed. */
  readonly isEndless: boolean;
  /** Aborted when the export is to stop: a call that may never be done should reject then. */
  readonly signal: AbortSignal;
}

/** What a page's rows come with. */
export interface SinkPage<T> {
  readonly items: readonly T[];
  /** Which part of the plan they belong to, and whether it ends here (also with no items). */
  readonly partition: number;
  readonly endsPartition: boolean;
}

/** What a sink says at the end. */
export interface SinkReport {
  /** Where the rows are now, for people: a path, an address. */
  readonly target: string;
  readonly bytes?: number;
  /** Rows that the target did not take, kept elsewhere; absent if there are none. */
  readonly deadLetters?: { readonly count: number; readonly path: string };
}

/**
 * A target that is open. Its calls never overlap; after an error only `abort` is called. An error whose `details` say `isLost: true` means
 * that nothing is left to go on from: the checkpoint goes, and the next run starts over.
 */
export interface SinkWriter<T> {
  /**
   * The place before the first row, of a new target. It is committed at once, so that a run that is killed before its first commit is gone
   * on with too, and not begun anew.
   */
  readonly start?: Json;
  /**
   * Takes a page's rows, which are durable only with the next `flush` or `seal`. A page may have thousands of them, and values in values;
   * equal rows without a key are rows of their own. A sink changes none of them, and neither does whoever gives them: they may be kept as
   * they are until then.
   */
  readonly write: (page: SinkPage<T>) => Promise<void>;
  /** Whether a commit may fall here. A sink that writes in blocks says no inside of one. Default: always. */
  readonly isCommittable?: boolean;
  /**
   * Makes all that was written durable; answers the place to go on from, plain JSON. The place is in a durable checkpoint before the
   * next call of `flush` or `seal`, so what only older places name may go then.
   */
  readonly flush: () => Promise<Json>;
  /** Writes what belongs behind the last row and makes it durable; answers the place from which only `close` is left. */
  readonly seal: () => Promise<Json>;
  /** Closes the target of a source that never ends, to go on another day. All is flushed. Without it, such a target is sealed. */
  readonly suspend?: () => Promise<SinkReport>;
  /** Puts the sealed target in its final place. */
  readonly close: () => Promise<SinkReport>;
  /**
   * Gives up. `isResumable`: leaves everything so that `resumeAt` can go on; otherwise clears away what is not finished, and rejects
   * if it can't.
   */
  readonly abort: (reason: unknown, options: { readonly isResumable: boolean }) => Promise<void>;
}

/**
 * Where rows go. A sink is a description: each export opens it anew.
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
  /** What decides the bytes, as plain JSON: format, columns. Another identity is another plan. */
  readonly identity: Json;
  /** Where the rows go, if there may be several such places: a path, an address. It is not part of the plan. */
  readonly target?: string;
  /** `exactly-once`: it can go back to a place. `at-least-once`: rows behind the last commit may come twice after a crash. */
  readonly delivery: 'exactly-once' | 'at-least-once';
  /**
   * Refuses a target that `open` would refuse, and touches nothing. An export asks before it writes its first checkpoint, so
   * that one which never began leaves none behind.
   */
  readonly check?: (context: SinkContext<T>) => Promise<void>;
  /**
   * The place that `place` would be if one unfinished partition had not been begun; touches nothing. A sink without it can't take the
   * rows of one partition back.
   */
  readonly withoutPartition?: (sinkPosition: Json, partition: number) => Json;
  /**
   * What a finished export has left, if it is still there as `close` left it, up to a place that `seal` answered; touches nothing. With it
   * an export that is run again after it finished, says so and does nothing. A sink without it takes all rows again.
   */
  readonly finished?: (sinkPosition: Json) => Promise<SinkReport | undefined>;
  /** @throws SinkError if the target can't be written. Nothing was changed then. */
  readonly open: (context: SinkContext<T>) => Promise<SinkWriter<T>>;
}

/** Writes rows as text, some of them at a time. */
export interface RowEncoder<T> {
  /** What stands before the first row. */
  readonly header: string;
  /**
   * The text of these rows: a page of them, or a few of one. All texts, one behind the other, are the whole, wherever the rows are cut.
   */
  encode(items: readonly T[]): string;
}

/** A text format for rows, ready for any sink that takes bytes. */
export interface RowFormat<T> {
  readonly name: string;
  /** What decides the bytes, as plain JSON. */
  readonly identity: Json;
  /** @throws ConfigError if the schema is not enough, e.g. without columns. */
  encoder(schema: RowSchema<T> | undefined): RowEncoder<T>;
}
