import { ConfigError } from '../errors.js';
import { isCount } from '../values.js';
import { checkCount, checkOptions } from '../checks.js';
import type { Selector } from './answer.js';
import { cursorOf, type Paging } from './paging.js';
import { finder, headersRead } from './documentPath.js';
import { parsePlace, placeKinds, type RequestPlace } from './requestPlace.js';

/** Options of {@link byPage}: where a request has the page number, e.g. `{ param: 'page' }`, and how it counts. */
export type PageNumberOptions = RequestPlace & {
  /** The number of the first page. Default 1. */
  readonly first?: number;
  /** Where a response has the number of pages. Default: none; then the first empty page ends the listing. */
  readonly pages?: Selector<unknown>;
};

/**
 * Paging by page numbers.
 *
 * Repeated pages are detected, moved rows are not: a row that is added during a walk makes another one appear twice, a
 * removed one makes another be missed. If the API also takes an offset, use `byOffset`, which detects both.
 *
 * @example byPage({ param: 'page', pages: 'meta.total_pages' })
 *
 * @throws ConfigError if `first` is not a count, or a path is invalid. Later: DecodeError if the number of pages is not
 * a count.
 */
export function byPage(options: PageNumberOptions): Paging {
  checkOptions('byPage()', options, {
    ...placeKinds,
    first: 'a number?',
    pages: 'text or a function?',
  });
  const { first = 1, pages, ...place } = options;
  const { identity, params, fields, headers, put } = parsePlace(place);
  checkCount('first', first, { min: 0 });
  const last = pages === undefined ? undefined : finder(pages);
  return {
    identity: { by: 'page', ...identity, first, pages: last?.identity ?? null },
    params,
    fields,
    headers,
    reads: headersRead(last),
    request: (request, at) => put(request, parsePageNumber(cursorOf(at))),
    next(answer) {
      const { from, items, read } = answer;
      const page = from ? parsePageNumber(cursorOf(from)) : first;
      const next = { cursor: String(page + 1) };
      if (!last) return items === 0 ? 'end' : next;
      const count = last.find(answer);
      if (!isCount(count)) throw read.fault(last.text, 'it is not a number of pages');
      return page - first + 1 >= count ? 'end' : next;
    },
  };
}

function parsePageNumber(cursor: string): number {
  if (/^\d{1,15}$/.test(cursor)) return Number(cursor);
  throw new ConfigError('startAt is not a page number. Give one as text, e.g. "7", or start without it.');
}
