import { ConfigError, type DecodeError } from '../../errors.js';
import type { Query } from '../../http/query.js';
import type { PageCursor } from '../../position.js';
import type { FetchedPage, Json, UndecodedPage, WalkedPages } from '../../rows/source/definition.js';
import type { DocumentReader } from '../responses/documentReader.js';
import type { Increment, Since } from '../../rows/source/increment.js';
import type { ListWindows } from '../since/sinceWindows.js';
import type { PageResponse } from '../responses/pageResponse.js';

/** A request below the base URL. */
export interface PageAddress {
  readonly path: string;
  readonly query: Query;
  /** A query without question mark, sent byte for byte before `query`. Default: none. */
  readonly rawQuery?: string;
  /** Default: the listing has no body. */
  readonly body?: Json;
  /** Headers besides the listing's own. Default: none. */
  readonly headers?: Readonly<Record<string, string>>;
}

/**
 * How a listing continues from page to page: `onePage`, `byCursor`, `byConnection`, `byHeader`, `byKeyset`, `byOffset`,
 * `byPage`, `byLink`, `bySince`, or any object with these members.
 *
 * @example
 * // An API that says whether there is more, and continues after the last row's id.
 * const byLastId: Paging = {
 *   identity: 'last-id',
 *   params: ['after'],
 *   reads: [],
 *   request: ({ path, query }, at) => ({ path, query: { ...query, after: cursorOf(at) } }),
 *   next: ({ at, rows, read }) =>
 *     at('more') === true ? { cursor: String(read.record(rows.at(-1), 'items')['id']) } : 'end',
 * };
 */
export interface Paging {
  /** The kind of paging and its settings, as plain JSON: a checkpoint of another identity is refused. */
  readonly identity: Json;
  /** The query parameters that it sets, so that nothing else sets them. */
  readonly params: readonly string[];
  /** The places in the body that it sets, e.g. `variables.after`, so that nothing else sets them. Default: none. */
  readonly fields?: readonly string[];
  /** The headers that it sets, in lower case, so that nothing else sets them. Default: none. */
  readonly headers?: readonly string[];
  /**
   * The response headers, in lower case, that `next` reads. A 304 stands for a page that ends the listing only if it
   * repeats them all. Default: unknown, so the last page is always requested in full.
   */
  readonly reads?: readonly string[] | undefined;
  /**
   * Makes a page's request from the first page's, which does not have the value of `bySince` yet. `since`: the rows
   * that the walk requests; absent for all.
   *
   * @throws ConfigError if it cannot start at this cursor or offset.
   */
  request(first: PageAddress, at: PageCursor, since?: Since): PageAddress;
  /** How the listing continues. @throws DecodeError if the response does not tell. */
  next(response: PageResponse): FetchedPage<unknown>['next'];
  /**
   * Whether a response states that more rows follow, e.g. with `more: true`. Then `until` does not end the listing. A
   * cursor states nothing, since some APIs send one with every page. Default: no response states it.
   */
  more?(response: PageResponse): boolean;
  /**
   * Whether a page is requested only if the previous page names it, e.g. by a cursor. Then a page without content is
   * retried, and an error, unless the listing has `until`. Default: no, so it has no rows, unless `more` stated it.
   */
  readonly namesNext?: boolean;
  /** Whether a listing needs a `pageSize` with the API's maximum. Default: no. */
  readonly needsPageSize?: boolean;
  /** How a walk finds the rows that are new since an earlier walk: made by `bySince`. */
  readonly increment?: IncrementalPaging;
}

/** The bounds of the rows that a request of an increment wants. */
export interface SinceBounds {
  readonly from: string;
  readonly to?: string | undefined;
}

/** The part of a paging that `bySince` adds. */
export interface IncrementalPaging extends Increment {
  /** The value at which a walk starts if none is given. Default: it requests all rows. */
  readonly begin?: string | undefined;
  /** The request for the first page of a part of the listing. */
  from(first: PageAddress, since: SinceBounds): PageAddress;
  /** Divides the listing into windows. Default: one window without an end. */
  readonly windows?: ListWindows | undefined;
  /** Leaves out rows that an earlier page or walk had. */
  newRows<Row>(page: UndecodedPage<Row>, response: SinceResponse): UndecodedPage<Row>;
}

interface SinceResponse extends Pick<PageResponse, 'read' | 'from' | 'requested' | 'items'> {
  readonly since: Since;
  /** When the API responded, by its own clock (wall time in ms). */
  readonly at: number;
  /** Whether the page begins with the last known row. */
  readonly isAgain: boolean;
  /** The pages that the walk has received before this one. */
  readonly walked: WalkedPages;
  /** Called if the API does not seem to behave as the paging needs it. */
  readonly warn: (message: string) => void;
}

/** The error of a page of which the `rows` function left rows out: where its listing continues is unknown. */
export function leftOutFault(read: DocumentReader): DecodeError {
  return read.fault(
    '',
    'its rows function returned fewer rows than their list has items, so it is unknown whether more follow. Let it return all of them, and give the listing a filter',
    '',
  );
}

/** The cursor, for paging that has no offsets. @throws ConfigError if it is an offset. */
export function cursorOf(at: PageCursor): string {
  if ('cursor' in at) return at.cursor;
  throw new ConfigError('This API continues at a cursor, not after a number of rows. Start without startAt.');
}

/** A cursor that is a number of rows or pages. @throws ConfigError if it is not. */
export function numberOf(at: PageCursor, what: 'a page number' | 'an offset'): number {
  const cursor = cursorOf(at);
  if (/^\d{1,15}$/.test(cursor)) return Number(cursor);
  throw new ConfigError(`startAt is not ${what}. Give one as text, e.g. "200", or start without it.`);
}

/** The offset, for paging that has no cursors. @throws ConfigError if it is a cursor. */
export function offsetOf(at: PageCursor): number {
  if ('offset' in at) return at.offset;
  throw new ConfigError(
    'This API continues after a number of rows, not at a cursor. Give a position that a walk has reached as startAt.',
  );
}
