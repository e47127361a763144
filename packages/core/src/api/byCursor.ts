import type { Selector } from './answer.js';
import { cursorOf, type Paging } from './paging.js';
import { finder } from './documentPath.js';

/** Options of {@link byCursor}. */
export interface CursorOptions {
  /** The query parameter that carries the cursor, e.g. `cursor` or `pageToken`. */
  readonly param: string;
  /**
   * Where an answer holds the cursor of the next page, e.g. `meta.next` or `nextPageToken?`. `null` and empty text end the listing; so
   * does a cursor that is missing, where the path has a `?`. Without it that is an error: a misspelt path would end every listing early.
   */
  readonly at: Selector<unknown>;
  /** Where an answer says whether more rows follow, as `true` or `false`. Default: the cursor says so by being there. */
  readonly more?: Selector<unknown>;
}

/**
 * Paging by a cursor, or token, that each answer gives for the next page. It may be text or a number, e.g. the next page's.
 *
 * What the cursor stands for is the API's business: whether rows that move during a walk are missed or come twice, too. Pages and
 * cursors that come again are noticed; one cursor for a whole listing is followed by its rows.
 *
 * @example
 * byCursor({ param: 'pageToken', at: 'nextPageToken?' })
 * byCursor({ param: 'cursor', at: 'meta.next?', more: 'meta.hasMore' })
 *
 * @throws ConfigError if a path is none. Later: DecodeError if what stands there is no cursor.
 */
export function byCursor({ param, at, more }: CursorOptions): Paging {
  const cursor = finder(at);
  const flag = more === undefined ? undefined : finder(more);
  return {
    identity: { by: 'cursor', param, at: cursor.identity, more: flag?.identity ?? null },
    params: [param],
    request: ({ path, query }, mark) => ({ path, query: { ...query, [param]: cursorOf(mark) } }),
    next(answer) {
      const { read } = answer;
      const follows = flag?.find(answer);
      if (flag && typeof follows !== 'boolean') throw read.fault(flag.text, 'it is neither true nor false');
      if (follows === false) return 'end';
      const found = cursor.find(answer);
      if (typeof found === 'number' && Number.isSafeInteger(found)) return { cursor: String(found) };
      const text = read.cursor(found, cursor.text);
      if (text !== undefined) return { cursor: text };
      if (follows === true) throw read.fault(cursor.text, 'more rows follow, but there is no cursor');
      return 'end';
    },
  };
}
