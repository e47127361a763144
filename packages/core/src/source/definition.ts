import type { PageCursor } from '../position.js';
import type { SourceEvent } from './sourceEvent.js';

/** Any value that JSON can say. */
export type Json = string | number | boolean | null | readonly Json[] | { readonly [name: string]: Json };

/** What tells a row from all others: text, or a whole number, which is the same key as its digits. `1` and `'1'` name one row. */
export type RowKey = string | number;

/** What a source's rows look like, known before the first one comes. */
export interface RowSchema<T> {
  /** The fields' names, in the order in which a table shows them. */
  readonly columns: readonly string[];
  /** What tells one row from all others, where something does. */
  key?(row: T): RowKey;
  /** How a row is named as an event, where it is one: sinks that send events then need nothing else. */
  event?(row: T): RowEvent;
}

/** What names an event. */
export interface RowEvent {
  /** The same for the same event on every run; another one for every other event. */
  readonly id: string;
  /** Events with the same key are told in their order. */
  readonly key: string;
  readonly type: string;
  /** When it was seen, ISO 8601. */
  readonly timestamp: string;
}

/** One question of a walk. */
export interface PageRequest {
  readonly partition: number;
  /** Where to go on; absent at the beginning of a partition. */
  readonly at: PageCursor | undefined;
  /** Fewest rows the page must have room for: 2 where a row is read again to compare it. */
  readonly atLeast: 1 | 2;
  readonly signal: AbortSignal;
}

/** What the API answered. */
export interface FetchedPage<T> {
  readonly rows: readonly T[];
  /**
   * The rows as they came, one for each of `rows`, where those are made of them: by these, pages are told apart. Default: `rows`. What is
   * made of a row may be something else each time, or have no form in JSON.
   */
  readonly received?: readonly unknown[];
  /** How to go on: at a cursor, by the number of rows received so far, or not at all. */
  readonly next: { readonly cursor: string } | 'by-offset' | 'end';
  readonly total?: number | undefined;
}

/** What a source needs of the endpoint that it asks; the one that a plugin's context opens has all of it. */
export interface SourceEndpoint {
  /** Whether a text holds a secret, and so must not be kept as a cursor. */
  isSecret?(text: string): boolean;
  /** A short hash of the API key and a salt. With it, a checkpoint that was made with another key, hence for another project, is refused. */
  keyFingerprint?(salt: string): Promise<string>;
  /** Told of pages, commits and errors. It alters nothing: what it throws is let go. */
  observe?(event: SourceEvent): void;
}

/**
 * An answer whose rows are made of what came once they are wanted. A walk asks for the next page first, so an API need not wait for that.
 */
export interface UndecodedPage<T> extends Omit<FetchedPage<T>, 'rows' | 'received'> {
  /** The rows as they came. */
  readonly received: readonly unknown[];
  /** One row for each of `received`. It is called once at most, and what it throws ends the walk at this page. */
  readonly decode: () => readonly T[];
}

/** All that a walk has to know about an API. */
export interface SourceDefinition<T> {
  /** A name for errors, events and costs, e.g. `aptos.walletNfts`. */
  readonly name: string;
  /** What decides which rows come, as plain JSON: another identity is another plan, and no checkpoint carries over. */
  readonly identity: Json;
  /** The same without what only decides how rows come, e.g. how many a page: what is remembered of rows carries over. Default: `identity`. */
  readonly rowsIdentity?: Json;
  readonly schema: RowSchema<T>;
  /** How many partitions the plan has, each a chain of pages of its own. Default 1. */
  readonly partitions?: number;
  /** Where each partition begins, if not at its first row. */
  readonly offset?: number;
  /** A partition with more pages than this is an error. Default: no bound. */
  readonly maxPages?: number | undefined;
  /** The walk ends after this many rows. Default: no bound. Needs `concurrency: 1`, or which rows come would be chance. */
  readonly maxRows?: number | undefined;
  /** Fetches one page. */
  readonly fetch: (request: PageRequest) => Promise<FetchedPage<T> | UndecodedPage<T>>;
  /** Who is asked by `fetch`. Without it a cursor that holds the key is kept, keys are not told apart, and nobody sees what happens. */
  readonly endpoint?: SourceEndpoint;
}
