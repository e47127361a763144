import type { DocumentReader } from './documentReader.js';
import type { PageCursor } from '../../position.js';
import type { ApiResponse } from '../../plugins/plugin.js';
import type { FirstRequest } from '../pages/lostParams.js';

/** A response of the API, with functions to read it. */
export interface ReadableResponse extends ApiResponse {
  /**
   * The value at a path of the body, e.g. `meta.next?`; `undefined` if an optional part is missing.
   *
   * @throws DecodeError if a required part is missing.
   */
  readonly at: (path: string) => unknown;
  /** Small checks whose errors name the place in the body. */
  readonly read: DocumentReader;
}

/** A response whose rows have been found, for {@link Paging.next}. */
export interface PageResponse extends ReadableResponse {
  /** The original rows. */
  readonly rows: readonly unknown[];
  /**
   * The number of items in the API's list: more than `rows` if a `rows` function leaves some out. It tells whether a
   * page was full or empty.
   */
  readonly items: number;
  /** Rows in the whole listing, if the definition has `total`. */
  readonly total: number | undefined;
  /** The value at which the walk starts; absent if it has all rows. */
  readonly since: string | undefined;
  /** Where this page starts; absent for the first page. */
  readonly from: PageCursor | undefined;
  /** Rows that are new to the walk: one fewer than `rows` if the last known row was read again. */
  readonly newRows: number;
  /** Rows of the first page that had any; absent if no earlier page had rows. */
  readonly firstRows?: number | undefined;
  /** Requested rows; absent if the API decides. */
  readonly requested: number | undefined;
  /** The request for the first page. */
  readonly first: FirstRequest;
  /** The API's base URL, and the requested path below it. */
  readonly baseUrl: string;
  readonly path: string;
  /** Removes the parts of an address from the server that carry the API's secrets in path and query. */
  readonly withoutSecret: (address: string) => string;
  /** Removes secrets from a text of the server, for an error. */
  readonly redact: (text: string) => string;
  /** Reports a warning to observers of the client, each message once. */
  readonly warn: (message: string) => void;
  /**
   * Warns if this page is the only one and full: there may be more rows, although the response does not say so.
   *
   * @param ifSo advice for that case, e.g. `correct paging: meta.next is missing`
   */
  readonly warnIfFull: (ifSo: string) => void;
}

/** Selects a value: a path in the body, e.g. `data.items`, or a function of the response. */
export type Selector<T> = string | ((response: ReadableResponse) => T);
