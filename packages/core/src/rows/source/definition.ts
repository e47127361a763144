import type { Json } from '../../json.js';
import type { NextCursor, PageCursor } from '../../position.js';
import type { ColumnType } from '../columns/columnTypes.js';
import type { Increment, PageIncrement, Since } from './increment.js';
import type { PageCache } from './pageCache.js';
import type { SourceEvent } from './sourceEvent.js';

export type { Json } from '../../json.js';

/** Identifies a row: a text or an integer. An integer equals its digits: `1` and `'1'` are the same key. */
export type RowKey = string | number;

/** The shape of a source's rows. */
export interface RowSchema<T> {
  /** Field names, in the order of a table. */
  readonly columns: readonly string[];
  /** The types of the columns, for sinks with typed columns. Default: `text`, in which lists and objects are JSON. */
  readonly types?: Readonly<Record<string, ColumnType | undefined>>;
  /** Returns the key that identifies a row, if there is one. */
  key?(row: T): RowKey;
  /** Returns the row's status, for the `change` events of a watch. If it is not a text, it is ignored. */
  statusOf?(row: T): unknown;
  /** Returns the row's name for people, e.g. its tag, for `change` events. If it is not a text, it is ignored. */
  nameOf?(row: T): unknown;
  /** Identifies a row as an event, so that sinks that send events need nothing else. */
  event?(row: T): RowEvent;
  /** In a schema of changes: the columns of the rows that change. */
  readonly rows?: Pick<RowSchema<never>, 'columns' | 'types'>;
  /** In a schema of changes: whether the watch compares a field of the rows, or a part of it. Default: all fields. */
  readonly compares?: (field: string) => boolean;
}

/** Identifies an event. */
export interface RowEvent {
  /** The same for the same event on every run, unique otherwise. */
  readonly id: string;
  /** Events with the same key are delivered in order. */
  readonly key: string;
  readonly type: string;
  /** When the event was observed, ISO 8601. */
  readonly timestamp: string;
}

/** A request of a walk for one page. */
export interface PageRequest {
  readonly partition: number;
  /** Where to continue; absent at the start of a partition. */
  readonly at: PageCursor | undefined;
  /** Minimum page size: 2 if the last known row is read again, to compare it. */
  readonly atLeast: 1 | 2;
  /** The pages of the partition that the walk has received before this one. */
  readonly walked: WalkedPages;
  /** Requests only rows from a value on; absent unless the definition has `increment`. */
  readonly since?: Since | undefined;
  /** Stores pages between the walks of a poll or watch, for conditional requests. */
  readonly cache?: PageCache | undefined;
  /** Aborts when the walk may request nothing more. Each walk has its own signal. */
  readonly signal: AbortSignal;
}

/** The pages of a partition that a walk has received. */
export interface WalkedPages {
  readonly pages: number;
  /** From the partition's beginning; unknown if the walk started at a given cursor. */
  readonly rows: number | undefined;
  /** Rows of the first page that had any. Default: no page had rows. */
  readonly firstRows?: number;
  /** The smallest total that the API has stated. Default: it has stated none. */
  readonly total?: number;
  /** The `hash` of the last page, if it has one. */
  readonly hash?: string;
  /** The last page stated that another one follows. */
  readonly isStated?: true;
  /** The `memo` of the last page, which is kept in memory only: absent after a resume. */
  readonly memo?: unknown;
}

/** The response to a {@link PageRequest}. */
export interface FetchedPage<T> {
  readonly rows: readonly T[];
  /**
   * The original rows, one for each of `rows`, by which pages are compared. Default: `rows`. Needed if a converted row
   * may differ each time or has no JSON form.
   */
  readonly received?: readonly unknown[];
  /** How to continue: at a cursor, after the rows received so far, or not at all. */
  readonly next: NextCursor | 'by-offset' | 'end';
  readonly total?: number | undefined;
  /** The API said that rows are missing from this page, so a watch concludes no removals from the walk. */
  readonly isIncomplete?: true | undefined;
  /** The values of its rows for an increment, if the definition has `increment`. */
  readonly increment?: PageIncrement;
  /** Identifies the page. The request for the next page has it in `walked`, and positions store it. */
  readonly hash?: string | undefined;
  /** The page states that another one follows. The request for it has this in `walked`, and positions store it. */
  readonly isStated?: true | undefined;
  /** A value that the request for the next page has in `walked`, unless the walk resumes there. */
  readonly memo?: unknown;
}

/** The members of an endpoint that a source uses. Endpoints that a plugin context opens have all of them. */
export interface SourceEndpoint {
  /** Whether a text contains a secret, so that it must not be stored as a cursor. */
  isSecret?(text: string): boolean;
  /**
   * Returns a text without secrets, cut to `length` characters (default: not cut). Walks and exports redact their
   * errors with it. Default: they do not redact.
   */
  redact?(text: string, length?: number): string;
  /** A short salted hash of the API key. With it, a checkpoint of another key, hence another project, is refused. */
  keyFingerprint?(salt: string): Promise<string>;
  /**
   * Ms since requests may start again, after a limit that outlives the process was used up; negative while it is.
   * Default: nothing held them up.
   */
  returnedFor?(): Promise<number | undefined>;
  /** Emits a warning event of the client, e.g. about a skipped partition. Default: warnings are dropped. */
  warn?(message: string): void;
  /** Emits an event, e.g. a page. What it throws is ignored. A client emits a warning instead of an invalid event. */
  observe?(event: SourceEvent): void;
  /** Whether any hook or subscriber receives events of a type. If not, frequent ones are not created. Default: yes. */
  isObserved?(type: SourceEvent['type']): boolean;
  /** Aborts when the client is closed, with the error that its requests get then. Polls and watches end at once. */
  readonly closed?: AbortSignal;
}

/** A page whose rows are decoded on demand: a walk sends the next request first, so the API does not wait. */
export interface UndecodedPage<T> extends Omit<FetchedPage<T>, 'rows' | 'received'> {
  /** The original rows. */
  readonly received: readonly unknown[];
  /** Indexes of the received rows that an earlier walk has emitted, so that this walk does not. Default: none. */
  readonly leftOut?: ReadonlySet<number>;
  /** The API said that the listing ended before this page. */
  readonly isEnd?: true | undefined;
  /** Returns one row for each of `received`. Called at most once; an error ends the walk at this page. */
  readonly decode: () => readonly T[];
}

/** What a walk needs to know about an API. */
export interface SourceDefinition<T> {
  /** The name in errors, events and costs, e.g. `aptos.nfts`. */
  readonly name: string;
  /** All that determines the rows, as plain JSON. Checkpoints with another identity are of another plan and refused. */
  readonly identity: Json;
  /** `identity` without bounds such as `maxRows`. Positions with another one are refused. Default: `identity`. */
  readonly walkIdentity?: Json;
  /** `identity` without settings that affect only paging: state about rows outlives their change. Default: equal. */
  readonly rowsIdentity?: Json;
  readonly schema: RowSchema<T>;
  /**
   * Whether a row is emitted. Only `maxRows` counts emitted rows: offsets, totals, marks, ends and pages without rows
   * are about the received ones. The identity must say which filter it is. Default: all rows are emitted.
   */
  readonly filter?: ((row: T) => boolean) | undefined;
  /** Number of partitions of the plan, each with its own chain of pages. Default 1. */
  readonly partitions?: number;
  /** The first row of each partition. Default 0. */
  readonly offset?: number;
  /** A partition with more pages is an error. Default: no limit. */
  readonly maxPages?: number | undefined;
  /** The walk ends after this many rows, which requires `concurrency: 1`. Default: no limit. */
  readonly maxRows?: number | undefined;
  /**
   * `false` if each page can be fetched only once. Then a partition that was interrupted after its first page must
   * start over: to continue or resume it fails with `cursor-refused`. Default `true`.
   */
  readonly isRepeatable?: boolean | undefined;
  /** How a walk finds the rows that are new since an earlier walk. Default: each walk emits all rows. */
  readonly increment?: Increment | undefined;
  /** Fetches one page. A request's error that `responses` map to `skip` ends the partition; see `Responses`. */
  readonly fetch: (request: PageRequest) => Promise<FetchedPage<T> | UndecodedPage<T>>;
  /** The endpoint of `fetch`. Without it, a key in a cursor and a changed key go unnoticed, and there are no events. */
  readonly endpoint?: SourceEndpoint;
}

/** The properties of a source that a walk needs beside its plan, which says how pages are fetched. */
export type WalkedSource<T> = Omit<SourceDefinition<T>, 'fetch' | 'partitions'>;
