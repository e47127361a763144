import { ConfigError } from '../errors.js';
import { isCount } from '../values.js';
import { checkCount, checkOptions } from '../checks.js';
import type { PageResponse, Selector } from './pageResponse.js';
import { cursorOf, type Paging } from './paging.js';
import { type Finder, finder, headersRead } from './documentPath.js';
import { moreFlag, moreKinds, type MoreOptions } from './moreFlag.js';
import { parsePlace, placeKinds, type RequestPlace } from './requestPlace.js';

/** Options of {@link byPage}: where a request has the page number, e.g. `{ param: 'page' }`, and how it counts. */
export type PageNumberOptions = RequestPlace &
  MoreOptions & {
    /** The number of the first page. Default 1. */
    readonly first?: number;
    /**
     * Where a response has the number of pages: a number, or text of digits, e.g. of a header. Default: none. Then, and
     * where a response has none (`undefined`), the first empty page ends the listing, unless there is `more` or `last`.
     */
    readonly pages?: Selector<unknown>;
  };

/**
 * Paging by page numbers.
 *
 * Repeated pages are detected, moved rows are not: a row that is added during a walk makes another one appear twice, a
 * removed one makes another be missed. If the API also takes an offset, use `byOffset`, which detects both.
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
  const flag = moreFlag({ more, last });
  const counted = pages === undefined ? undefined : finder(pages);
  const numberOf = ({ from }: PageResponse): number => (from ? parsePageNumber(cursorOf(from)) : first);
  /** Whether there is a page behind this one; unknown without a flag and the number of pages. */
  const isMore = (response: PageResponse): boolean | undefined => {
    const follows = flag.find(response);
    if (follows !== undefined) return follows;
    const count = counted && readPages(counted, response);
    return count === undefined ? undefined : numberOf(response) - first + 1 < count;
  };
  return {
    identity: { by: 'page', ...identity, first, pages: counted?.identity ?? null, ...flag.identity },
    ...sets,
    reads: flag.reads && headersRead(counted),
    request: (request, at) => put(request, parsePageNumber(cursorOf(at))),
    next(response) {
      const goesOn = isMore(response) ?? response.items > 0;
      return goesOn ? { cursor: String(numberOf(response) + 1) } : 'end';
    },
    more: (response) => isMore(response) === true,
  };
}

function readPages(pages: Finder, response: PageResponse): number | undefined {
  const found = pages.find(response);
  if (found === undefined) return undefined;
  const count = typeof found === 'string' && /^\d{1,15}$/.test(found) ? Number(found) : found;
  if (isCount(count)) return count;
  throw response.read.fault(pages.text, 'it is not a number of pages');
}

function parsePageNumber(cursor: string): number {
  if (/^\d{1,15}$/.test(cursor)) return Number(cursor);
  throw new ConfigError('startAt is not a page number. Give one as text, e.g. "7", or start without it.');
}
