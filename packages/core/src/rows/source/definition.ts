import type { Json } from '../../json.js';
import type { NextCursor, PageCursor } from '../../position.js';
import type { ColumnType } from '../columns/columnTypes.js';
import type { Increment, PageIncrement, Since } from './increment.js';
import type { PageCache } from './pageCache.js';
import type { SourceEvent } from './sourceEvent.js';

export type { Json } from '../../json.js';

/** Identifies a row: text, or an integer, which equals its digits. `1` and `'1'` are the same key. */
export type RowKey = string | number;

/** The shape of a source's rows. */
export interface RowSchema<T> {
  /** Field names, in the order of a table. */
  readonly columns: readonly string[];
  /** What the columns hold, for sinks that have types. Default: `text`, in which lists and objects are JSON. */
  readonly types?: Readonly<Record<string, ColumnType | undefined>>;
  /** Returns the key that identifies a row, if there is one. */
  key?(row: T): RowKey;
  /** Returns the row's status, for the `change` events of a watch; anything but a text counts as none. */
  statusOf?(row: T): unknown;
  /** Returns the row's name for people, e.g. its tag, for the `change` events of a watch; anything but a text counts as none. */
  nameOf?(row: T): unknown;
  /** Identifies a row as an event, so that sinks that send events need nothing else. */
  event?(row: T): RowEvent;
  /** For changes: the columns of the rows that change. */
  readonly rows?: Pick<RowSchema<never>, 'columns' | 'types'>;
  /** For changes: whether their watch compares a field of the rows, or something in it. Default: it compares all. */
  readonly compares?: (field: string) => boolean;
}

/** Identifies an event. */
export interface RowEvent {
  /** The same for the same event on every run, unique otherwise. */
  readonly id: string;
  /** Events with the same key are delivered in order. */
  readonly key: string;
  readonly type: string;
  /** When it was observed, ISO 8601. */
  readonly timestamp: string;
}

/** A request of a walk for one page. */
export interface PageRequest {
  readonly partition: number;
  /** Where to continue; absent at the start of a partition. */
  readonly at: PageCursor | undefined;
  /** Minimum page size: 2 if the last known row is read again, to compare it. */
  readonly atLeast: 1 | 2;
  /** What the walk has received of the partition before this page. */
  readonly walked: WalkedPages;
  /** Only rows from a value on; absent unless the definition has `increment`. */
  readonly since?: Since | undefined;
  /** Stores pages between the walks of a poll or watch, for conditional requests. */
  readonly cache?: PageCache | undefined;
  /** Aborts when the walk is to request nothing more: each walk has one of its own. */
  readonly signal: AbortSignal;
}

/** What a walk has received of a partition. */
export interface WalkedPages {
  readonly pages: number;
  /** From the partition's beginning; unknown if the walk started at a given cursor. */
  readonly rows: number | undefined;
  /** Rows of the first page that had some. Default: none had. */
  readonly firstRows?: number;
  /** The smallest total that the API has stated. Default: it has stated none. */
  readonly total?: number;
  /** That of the last page, if it has one. */
  readonly hash?: string;
  /** The page before stated that this one follows. */
  readonly isStated?: true;
  /** What the source keeps of the page before, in the memory of its chain: absent after a resume. */
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
  /** What its rows say about an increment, if the definition has `increment`. */
  readonly increment?: PageIncrement;
  /** Identifies the page for the request of the next one, which has it in `walked`. It is part of positions. */
  readonly hash?: string | undefined;
  /** It states that another page follows: the request of that one has it in `walked`. It is part of positions. */
  readonly isStated?: true | undefined;
  /** What the request of the next page has in `walked`, unless the walk is resumed there. */
  readonly memo?: unknown;
}

/** What a source needs of its endpoint. Endpoints that a plugin context opens have all of it. */
export interface SourceEndpoint {
  /** Whether a text contains a secret, so that it must not be stored as a cursor. */
  isSecret?(text: string): boolean;
  /**
   * A text without secrets, in no more than so many characters (default: all). Errors of walks and exports are redacted by
   * it. Default: they are not.
   */
  redact?(text: string, length?: number): string;
  /** A short salted hash of the API key. With it, a checkpoint of another key, hence another project, is refused. */
  keyFingerprint?(salt: string): Promise<string>;
  /** Emits a warning event of the client, e.g. of a partition that is skipped. Default: nobody is told. */
  warn?(message: string): void;
  /** Emits pages, commits and errors. What it throws is ignored; that of a client replaces what is no such event by a warning. */
  observe?(event: SourceEvent): void;
  /** Whether any hook or subscriber receives events of a type. Frequent ones are not created otherwise. Default: yes. */
  isObserved?(type: SourceEvent['type']): boolean;
  /** Aborts, with the error that requests get then, when the client is closed: polls and watches end at once. */
  readonly closed?: AbortSignal;
}

/** A page whose rows are decoded on demand: a walk sends the next request first, so the API does not wait. */
export interface UndecodedPage<T> extends Omit<FetchedPage<T>, 'rows' | 'received'> {
  /** The original rows. */
  readonly received: readonly unknown[];
  /** The received rows that are not emitted, by their index, since an earlier walk has emitted them. Default: none. */
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
  /** What determines the rows, as plain JSON: another identity is another plan, which no checkpoint fits. */
  readonly identity: Json;
  /** `identity` without bounds such as `maxRows`: positions of another one are refused. Default: `identity`. */
  readonly walkIdentity?: Json;
  /** `identity` without what only affects paging, so that state about rows stays valid. Default: `identity`. */
  readonly rowsIdentity?: Json;
  readonly schema: RowSchema<T>;
  /**
   * Whether a row is emitted. All else counts the rows as received: offsets, totals, marks, ends, pages without rows.
   * Only `maxRows` counts what is kept. The identity must say which filter it is. Default: all rows are.
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
   * `false` if each page can be fetched only once. Then a partition that was interrupted after its first page can only
   * start over: it is refused with `cursor-refused`, also when a walk resumes. Default `true`.
   */
  readonly isRepeatable?: boolean | undefined;
  /** How rows are found that are new since an earlier walk. Default: each walk has all rows. */
  readonly increment?: Increment | undefined;
  /** Fetches one page. An error of a request whose `responses` say `skip` ends the partition; see `Responses`. */
  readonly fetch: (request: PageRequest) => Promise<FetchedPage<T> | UndecodedPage<T>>;
  /** The endpoint of `fetch`. Without it, the key in cursors, another key and events go unnoticed. */
  readonly endpoint?: SourceEndpoint;
}

/** What a walk needs of a source beside its plan, which says how pages are fetched. */
export type WalkedSource<T> = Omit<SourceDefinition<T>, 'fetch' | 'partitions'>;
