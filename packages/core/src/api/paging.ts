import { ConfigError } from '../errors.js';
import type { ArrayFormat, Query } from '../http/query.js';
import type { PageCursor } from '../position.js';
import type { FetchedPage, Json } from '../source/definition.js';
import type { PageAnswer } from './answer.js';

/** What is asked for, below the base address. */
export interface PageAddress {
  readonly path: string;
  readonly query: Query;
  /** Default: as the API was opened. */
  readonly arrays?: ArrayFormat;
}

/**
 * How an API's listing goes on from page to page. `byCursor`, `byOffset`, `byPage` and `byLink` are kinds of it; another kind is an
 * object with these members.
 *
 * @example
 * // An API that says whether there is more, and goes on behind the last row's id.
 * const byLastId: Paging = {
 *   identity: 'last-id',
 *   params: ['after'],
 *   request: ({ path, query }, at) => ({ path, query: { ...query, after: cursorOf(at) } }),
 *   next: ({ at, rows, read }) =>
 *     at('more') === true ? { cursor: String(read.record(rows.at(-1), 'items')['id']) } : 'end',
 * };
 */
export interface Paging {
  /** Which kind it is and where it looks, as plain JSON: what another one has begun can't be gone on with. */
  readonly identity: Json;
  /** The query parameters that it sets, so that nothing else sets them, too. */
  readonly params: readonly string[];
  /**
   * The request for the page at a cursor or an offset, made of the one for the first page.
   *
   * @throws ConfigError if it can't begin there.
   */
  request(first: PageAddress, at: PageCursor): PageAddress;
  /** How the listing goes on after an answer. @throws DecodeError if the answer does not say. */
  next(answer: PageAnswer): FetchedPage<unknown>['next'];
}

/** The cursor of a mark, for kinds of paging that know no other. @throws ConfigError if it is an offset. */
export function cursorOf(at: PageCursor): string {
  if ('cursor' in at) return at.cursor;
  throw new ConfigError('This API goes on at a cursor, and not behind a number of rows. Begin without startAt.');
}

/** The offset of a mark, for kinds of paging that know no other. @throws ConfigError if it is a cursor. */
export function offsetOf(at: PageCursor): number {
  if ('offset' in at) return at.offset;
  throw new ConfigError(
    'This API goes on behind a number of rows, and not at a cursor. As startAt give a position that a walk has reached.',
  );
}
