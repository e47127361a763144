import { checkOptions } from '../checks.js';
import type { PageCursor } from '../position.js';
import { leftOutFault, offsetOf, type Paging } from './paging.js';
import { parsePlace, placeKinds, type RequestPlace } from './requestPlace.js';

/** Options of {@link byOffset}: where a request has the number of rows to skip, e.g. `{ param: 'offset' }`. */
export type OffsetOptions = RequestPlace;

/**
 * Paging by the number of rows to skip. The first request omits it.
 *
 * Each later page starts with the last known row: if it has changed, rows were added or removed before it, and the walk
 * ends with `rows-moved` instead of missing some. If an API can only skip whole pages, use `byPage`.
 *
 * A listing ends with a page without a new row, or at its `total` if the definition has one, which saves a request. A
 * `total` of a full page, or equal to the page's rows, is ignored: many APIs count only those, or stop at 10,000. An
 * empty first page with a `total` above 0 raises `no-progress`.
 *
 * @example byOffset({ param: 'offset' })
 */
export function byOffset(place: OffsetOptions): Paging {
  checkOptions('byOffset()', place, placeKinds);
  const { identity, params, fields, headers, put } = parsePlace(place);
  return {
    identity: { by: 'offset', ...identity },
    params,
    fields,
    headers,
    reads: [],
    request: (first, at) => put(first, offsetOf(at)),
    next({ rows, newRows, total, requested, from, read, items }) {
      if (newRows === 0 && items > rows.length) throw leftOutFault(read);
      const received = (from ? offsetOf(from) : 0) + rows.length;
      // A page with only the known row may have been full. Otherwise, an empty page is the end, whatever the total is.
      if (newRows === 0)
        return total !== undefined && received < total && mayHaveMore(rows, from) ? 'by-offset' : 'end';
      const isFull = requested !== undefined && rows.length >= requested;
      const isOfListing = total !== undefined && total > rows.length;
      return isOfListing && received >= total && !isFull ? 'end' : 'by-offset';
    },
  };
}

/** Whether a page without a new row does not prove the end: after the known row, or for the first page. */
function mayHaveMore(rows: readonly unknown[], from: PageCursor | undefined): boolean {
  return rows.length > 0 || from === undefined;
}
