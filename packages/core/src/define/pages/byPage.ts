import { checkCount, checkOptions } from '../../checks.js';
import type { PageResponse, Selector } from '../responses/pageResponse.js';
import { numberOf, type Paging } from './paging.js';
import { finder, readCount } from '../responses/documentPath.js';
import { moreKinds, type MoreOptions, withMoreFlag } from './moreFlag.js';
import { parsePlace, placeKinds, type RequestPlace } from '../requests/requestPlace.js';

/** Options of {@link byPage}: where a request has the page number, e.g. `{ param: 'page' }`, and how it counts. */
export type PageNumberOptions = RequestPlace &
  MoreOptions & {
    /** The number of the first page. Default 1. */
    readonly first?: number;
    /**
     * Where a response has the number of pages: a number, or text of digits, e.g. of a header. Default: nowhere. Then,
     * and where a response has no number (`undefined`), or a number below that of its own page although it has rows,
     * the first empty page ends the listing, unless there is `more` or `last`.
     */
    readonly pages?: Selector<unknown>;
  };

/**
 * Paging by page numbers.
 *
 * Repeated pages are detected, moved rows are not: if a row is added during a walk, another row comes twice; if a row
 * is removed, another row is missed. If the API also takes an offset, use `byOffset`, which detects both.
 *
 * @example
 * byPage({ param: 'page', pages: 'meta.total_pages' })
 * byPage({ param: 'page', first: 0, last: 'last' })
 * byPage({ param: 'page', pages: ({ headers }) => headers['x-total-pages'] })
 *
 * @throws ConfigError if `first` is not a count, or a path is invalid. Later: DecodeError if the number of pages is not
 * a count.
 */
export function byPage(options: PageNumberOptions): Paging {
  checkOptions('byPage()', options, {
    ...placeKinds,
    ...moreKinds,
    first: 'a number?',
    pages: 'text or a function?',
  });
  const { first = 1, pages, more, last, ...place } = options;
  const { identity, sets, put } = parsePlace(place);
  checkCount('first', first, { min: 0 });
  const counted = pages === undefined ? undefined : finder(pages);
  const pageOf = ({ from }: PageResponse): number => (from ? numberOf(from, 'a page number') : first);
  /** Whether another page follows this one; unknown without the number of pages. */
  const isMore = (response: PageResponse): boolean | undefined => {
    const count = counted && readCount('pages', counted, response);
    const nth = pageOf(response) - first + 1;
    // A number of pages below that of a page with rows, e.g. 0, counts something else.
    return count === undefined || (count < nth && response.items > 0) ? undefined : nth < count;
  };
  return withMoreFlag(
    { more, last },
    {
      identity: { by: 'page', ...identity, first, pages: counted?.identity ?? null },
      ...sets,
      reads: counted ? counted.reads : [],
      request: (request, at) => put(request, numberOf(at, 'a page number')),
      next(response, follows) {
        const goesOn = follows ?? isMore(response) ?? response.items > 0;
        return goesOn ? { cursor: String(pageOf(response) + 1) } : 'end';
      },
      more: (response) => isMore(response) === true,
    },
  );
}
