import { offsetOf } from './mark.js';
import type { Paging } from './paging.js';

/** Options of {@link byOffset}. */
export interface OffsetOptions {
  /** The query parameter that says how many rows to skip, e.g. `offset` or `skip`. */
  readonly param: string;
}

/**
 * Paging by the number of rows to skip. The first page is asked for without it.
 *
 * Each page after the first begins with the last row again: if that is another one now, rows were added or removed before it, and the
 * walk ends with `rows-moved` instead of missing some. An API that skips whole pages only can't be asked like that: use `byPage`.
 *
 * A listing ends with a page that has no new row, or at its `total` where the definition says where that stands, which saves one
 * request. A `total` that comes with a full page is not believed: many count the page's rows, or stop counting at 10,000.
 *
 * @example byOffset({ param: 'offset' })
 */
export function byOffset({ param }: OffsetOptions): Paging {
  return {
    identity: { by: 'offset', param },
    params: [param],
    ask: ({ path, query }, mark) => ({ path, query: { ...query, [param]: offsetOf(mark) } }),
    next({ rows, newRows, total, asked, from }) {
      if (newRows === 0) return 'end';
      const received = (from ? offsetOf(from) : 0) + rows.length;
      const isFull = asked !== undefined && rows.length >= asked;
      return total !== undefined && received >= total && !isFull ? 'end' : 'by-offset';
    },
  };
}
