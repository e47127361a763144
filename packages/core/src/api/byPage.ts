import { ConfigError } from '../errors.js';
import { isCount } from '../values.js';
import { checkCount } from '../checks.js';
import type { Selector } from './answer.js';
import { cursorOf, type Paging } from './paging.js';
import { finder } from './documentPath.js';

/** Options of {@link byPage}. */
export interface PageNumberOptions {
  /** The query parameter that carries the page's number, e.g. `page`. */
  readonly param: string;
  /** The first page's number. Default 1. */
  readonly first?: number;
  /**
   * Where an answer holds the number of pages, e.g. `meta.pages`. Default: nowhere; then the first page without rows ends the listing, so
   * no page in the middle may be empty.
   */
  readonly pages?: Selector<unknown>;
}

/**
 * Paging by page numbers.
 *
 * A page that repeats is noticed, but not that rows move: a row that is added during a walk pushes another one onto the next page, which
 * then comes twice, and where one is removed another is missed. No page can be read again from its last row. Where an API takes an offset
 * as well, use `byOffset`, which notices both.
 *
 * @example byPage({ param: 'page', pages: 'meta.total_pages' })
 *
 * @throws ConfigError if `first` is no count, or a path is none. Later: DecodeError if the number of pages is no count.
 */
export function byPage({ param, first = 1, pages }: PageNumberOptions): Paging {
  checkCount('first', first, { min: 0 });
  const last = pages === undefined ? undefined : finder(pages);
  return {
    identity: { by: 'page', param, first, pages: last?.identity ?? null },
    params: [param],
    request: ({ path, query }, mark) => ({ path, query: { ...query, [param]: numberOf(cursorOf(mark)) } }),
    next(answer) {
      const { from, rows, read } = answer;
      const page = from ? numberOf(cursorOf(from)) : first;
      const next = { cursor: String(page + 1) };
      if (!last) return rows.length === 0 ? 'end' : next;
      const count = last.find(answer);
      if (!isCount(count)) throw read.fault(last.text, 'it is no number of pages');
      return page - first + 1 >= count ? 'end' : next;
    },
  };
}

function numberOf(cursor: string): number {
  if (/^\d{1,15}$/.test(cursor)) return Number(cursor);
  throw new ConfigError('startAt is no number of a page. Give one as text, e.g. "7", or begin without it.');
}
