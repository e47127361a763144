import { checkCount, checkOptions, hintFor } from '../../checks.js';
import { ConfigError } from '../../errors.js';
import type { PageCursor } from '../../position.js';
import { shownText } from '../../values.js';
import { byPage } from './byPage.js';
import { moreKinds, type MoreOptions, withMoreFlag } from './moreFlag.js';
import { leftOutFault, numberOf, offsetOf, type Paging } from './paging.js';
import { parsePlace, placeKinds, type RequestPlace } from '../requests/requestPlace.js';
import { usualSizes } from './until.js';

/** Options of {@link byOffset}: where a request has the offset, e.g. `{ param: 'offset' }`, and how it counts. */
export type OffsetOptions = RequestPlace &
  MoreOptions & {
    /** The offset of the first page: 1 if the API counts rows from 1, as SCIM's `startIndex`. Default 0. */
    readonly first?: number;
    /**
     * How much the offset grows. Default `row`: by the rows of each page. `size`: by the page size, for APIs that
     * accept only multiples of it, or leave out rows of a page; it needs `pageSize` with the API's max, and a page
     * without rows is the last one unless `total` is larger. `page`: by 1. With `size` and `page`, rows that move are
     * not detected, as with `byPage`.
     */
    readonly step?: 'row' | 'size' | 'page';
  };

/**
 * Paging by the number of rows to skip, or of the row to start at (`first: 1`). The first request omits it.
 *
 * Each later page starts with the last known row: if that has changed, rows were added or removed before it, and the
 * walk ends with `rows-moved` instead of missing some. If an API can only skip whole pages, use `step: 'size'`.
 *
 * A listing ends where the API says so (`more`, `last`), or else with a page without a new row, or at its `total` if
 * the definition has one, which saves a request. A `total` on a full page (as many rows as were requested, or as the
 * first page had), or equal to the page's rows, is ignored: many APIs count only the page's rows, or stop at 10,000. An
 * empty first page with a `total` above 0 raises `no-progress`.
 *
 * @example
 * byOffset({ param: 'offset' })
 * byOffset({ param: 'startIndex', first: 1 })
 * byOffset({ param: 'startAt', last: 'isLast' })
 *
 * @throws ConfigError if `first` is not a count, or `step` or a path is invalid.
 */
export function byOffset(options: OffsetOptions): Paging {
  checkOptions('byOffset()', options, { ...placeKinds, ...moreKinds, first: 'a number?', step: 'text?' });
  const { first: base = 0, step = 'row', more, last, ...place } = options;
  checkCount('first', base, { min: 0 });
  const steps: readonly string[] = ['row', 'size', 'page'];
  if (!steps.includes(step))
    throw new ConfigError(`The step of byOffset() is ${shownText(step)}. ${hintFor(step, steps)}`, { option: 'step' });
  if (step === 'page') return byPage({ ...place, first: base, more, last });
  if (step === 'size') return bySize(place, base, { more, last });
  const { identity, sets, put } = parsePlace(place);
  return withMoreFlag(
    { more, last },
    {
      identity: { by: 'offset', ...identity, ...(base > 0 && { first: base }) },
      ...sets,
      reads: [],
      request: (first, at) => put(first, base + offsetOf(at)),
      next({ rows, newRows, total, requested, firstRows, from, read, items }, follows) {
        if (newRows === 0 && items > rows.length) throw leftOutFault(read);
        const received = (from ? offsetOf(from) : 0) + rows.length;
        // A page with only the known row may have been full. Any other page without a new row ends the listing.
        if (newRows === 0) {
          const isStated = follows ?? (total !== undefined && received < total);
          // An API that allows one row per page sends only the known row, although two were requested.
          const isOneByOne = rows.length === 1 && (requested === 2 || firstRows === 1);
          return isOneByOne || (isStated && mayHaveMore(rows, from)) ? 'by-offset' : 'end';
        }
        // A server that allows fewer rows than requested sends as many as on the first page.
        const isFull = rows.length >= Math.min(requested ?? Infinity, firstRows ?? Infinity);
        const isOfListing = total !== undefined && total > rows.length;
        return isOfListing && received >= total && !isFull && !follows ? 'end' : 'by-offset';
      },
    },
  );
}

/** Whether a page without a new row does not prove the end: after the known row, or for the first page. */
function mayHaveMore(rows: readonly unknown[], from: PageCursor | undefined): boolean {
  return rows.length > 0 || from === undefined;
}

/** Paging with the offset as the cursor. The offset does not depend on rows, so the last row can't be read again. */
function bySize(place: RequestPlace, base: number, flag: MoreOptions): Paging {
  const { identity, sets, put } = parsePlace(place);
  return withMoreFlag(flag, {
    identity: { by: 'offset', ...identity, step: 'size', ...(base > 0 && { first: base }) },
    ...sets,
    reads: [],
    needsPageSize: true,
    request: (first, at) => put(first, numberOf(at, 'an offset')),
    next({ items, total = 0, requested = items, from, firstRows, warn }, follows) {
      const next = (from ? numberOf(from, 'an offset') : base) + requested;
      // The API may leave out all rows of a page, so only a total can tell an empty page from the last one. The total
      // never ends the listing: it may count only listed rows, whereas the offset counts all.
      if (items === 0 && total <= next - base && !follows) return 'end';
      // If an API leaves rows out, two pages have equally many rows only by chance.
      const mayBeLimit = from ? items > 0 && items === firstRows : usualSizes.includes(items);
      if (items < requested && mayBeLimit)
        warn(
          `${from ? 'pages have' : 'the first page has'} ${items} rows, although ${requested} were requested. If the API never sends more, rows are missed: set pageSize.max to ${items}.`,
        );
      return { cursor: String(next) };
    },
  });
}
