import type { PageCursor } from '../position.js';
import { offsetOf, type Paging } from './paging.js';

/** Options of {@link byOffset}. */
export interface OffsetOptions {
  /** The query parameter that says how many rows to skip, e.g. `offset` or `skip`. */
  readonly param: string;
}

/**
 * Paging by the number of rows to skip. The first page is requested for without it.
 *
 * Each page after the first begins with the last row again: if that is another one now, rows were added or removed before it, and the
 * walk ends with `rows-moved` instead of missing some. An API that skips whole pages only can't be requested like that: use `byPage`.
 *
 * A listing ends with a page that has no new row, or at its `total` where the definition says where that stands, which saves one
 * request. A `total` that comes with a full page, or that is the number of the page's rows, is not believed: many count no more than
 * those, or stop counting at 10,000. A listing whose first page is empty and whose total is not raises `no-progress`.
 *
 * @example byOffset({ param: 'offset' })
 */
export function byOffset({ param }: OffsetOptions): Paging {
  return {
    identity: { by: 'offset', param },
    params: [param],
    request: ({ path, query }, mark) => ({ path, query: { ...query, [param]: offsetOf(mark) } }),
    next({ rows, newRows, total, requested, from }) {
      const received = (from ? offsetOf(from) : 0) + rows.length;
      // With the known row alone the page may have had no room for another. Without it, an empty page is the end, whatever the total says.
      if (newRows === 0)
        return total !== undefined && received < total && mayHaveMore(rows, from) ? 'by-offset' : 'end';
      const isFull = requested !== undefined && rows.length >= requested;
      const isOfListing = total !== undefined && total > rows.length;
      return isOfListing && received >= total && !isFull ? 'end' : 'by-offset';
    },
  };
}

/** Whether that no new row came is no proof of the end: behind the known row, or right at the beginning. */
function mayHaveMore(rows: readonly unknown[], from: PageCursor | undefined): boolean {
  return rows.length > 0 || from === undefined;
}
