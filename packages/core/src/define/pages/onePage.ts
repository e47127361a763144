import { ConfigError } from '../../errors.js';
import { countIn } from '../../values.js';
import type { PageResponse } from '../responses/pageResponse.js';
import { linkedNext } from './byLink.js';
import { findField, nextIn, tokenIn } from './namedNext.js';
import type { Paging } from './paging.js';

/**
 * Paging of a listing that has one page: a single response has all rows.
 *
 * A response that names a next page is an error, whether in a `Link` header or in a field such as `next_page`,
 * `nextPageToken`, `has_more` or `total_pages`, since rows would be missed. A page causes a warning if more rows may
 * follow: if it has exactly as many rows as were requested, states a larger total, e.g. as `total` or `X-Total-Count`,
 * or has a possible token of a next page, e.g. a `bookmark` or a `scroll_id`.
 *
 * @example listing({ path: '/currencies', paging: onePage(), rows: 'currencies', columns: ['code'] })
 */
export function onePage(): Paging {
  return {
    identity: { by: 'one-page' },
    params: [],
    reads: [],
    request() {
      throw new ConfigError('This listing has one page, so there is no cursor in it. Start without startAt.');
    },
    next(response) {
      const named = namedNext(response);
      if (named !== undefined)
        throw response.read.fault(
          named,
          'it names a next page, but paging is onePage(), so rows would be missed. Write how the API continues, e.g. byLink(), byCursor() or byPage()',
          '',
        );
      const { items, warn } = response;
      const stated = response.total === undefined ? largerTotal(response) : undefined;
      const token = tokenIn(response.body, Object.values(response.first.query).flat().map(String));
      if (stated !== undefined)
        warn(
          `the only page has ${items} rows, and says at ${stated} that there are more. If so, replace onePage() with how the API continues, e.g. byPage() or byOffset().`,
        );
      else if (token !== undefined)
        warn(
          `the only page has at ${token} what may be where a next page begins. If so, replace onePage() with how the API continues, e.g. byCursor().`,
        );
      else response.warnIfFull('replace onePage() with how the API continues');
      return 'end';
    },
  };
}

/** The place in a response that names a next page, if there is one. */
function namedNext(response: PageResponse): string | undefined {
  if (linkedNext(response, 'the Link header') !== undefined) return 'the Link header';
  if (response.headers['x-next-page']) return 'the header x-next-page';
  if (Number(response.headers['x-total-pages']) > 1) return 'the header x-total-pages';
  return nextIn(response.body);
}

const totals =
  /^(total|totalcount|totalresults|totalitems|totalrecords|totalelements|totalsize|totalhits|recordstotal)$/;

/** The place of a total that is larger than the page. It only causes a warning, since it may count something else. */
function largerTotal({ headers, body, items }: PageResponse): string | undefined {
  const header = ['x-total-count', 'x-total'].find((name) => Number(headers[name]) > items);
  if (header !== undefined) return `the header ${header}`;
  return findField(body, (name, value) => totals.test(name) && (countIn(value) ?? 0) > items);
}
