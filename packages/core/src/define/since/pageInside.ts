import { PaginationError } from '../../errors.js';
import type { IncrementalPaging } from '../pages/paging.js';
import {
  checkOrder,
  doubtFilter,
  findUnwanted,
  pageIncrement,
  type RowValue,
  rowValues,
  type SinceField,
} from './sinceField.js';

/** The order of a listing's rows, by their values. */
export type SinceOrder = 'ascending' | 'newest-first' | 'any';

/**
 * Leaves out the known rows of pages that another paging requests. They stay in `received`: they count for offsets, and
 * are compared to detect loops and moves.
 */
export function pageInside(by: SinceField, order: SinceOrder, isSent: boolean): Pick<IncrementalPaging, 'newRows'> {
  return {
    newRows(page, { since, from, at, read, warn, isAgain, walked }) {
      const start = since.from;
      const rows = rowValues(by, page.received, read);
      const before = walked.memo instanceof LastPage ? walked.memo : undefined;
      if (order !== 'any') {
        checkOrder(by, rows, order, read);
        before?.checkNext(by, rows, order);
      }
      const doubt = isSent && rows.length === 0 && from === undefined ? doubtFilter(by, since, false) : undefined;
      if (doubt !== undefined) warn(doubt);
      const { isEarly, isLate } = findUnwanted(by, rows, since, { isSent, warn });
      const isLeftOut = rows.map(
        ({ hash }, index) =>
          isEarly[index] === true ||
          isLate[index] === true ||
          since.isKnown?.(hash) === true ||
          (isAgain && index === 0),
      );
      const last = rows.at(-1);
      // Only if no row is new: a change may have moved some old ones.
      const isPast = order === 'newest-first' && rows.length > 0 && !isEarly.includes(false);
      const isPassed = isPast || (order === 'ascending' && isLate.at(-1) === true);
      return {
        ...page,
        // No total, since the walk ends before the listing does.
        total: order === 'newest-first' && start !== undefined ? undefined : page.total,
        next: isPassed ? 'end' : page.next,
        leftOut: new Set(isLeftOut.flatMap((is, index) => (is ? [index] : []))),
        increment: pageIncrement(by, rows, { at, emitted: rows.filter((_, index) => !isLeftOut[index]) }),
        memo: last === undefined || order === 'any' ? before : new LastPage(last.value, rows),
      };
    },
  };
}

/** The rows of a page, for checking the order of the next page. */
class LastPage {
  readonly #last: string;
  readonly #rows: ReadonlySet<string>;

  constructor(last: string, rows: readonly RowValue[]) {
    this.#last = last;
    this.#rows = new Set(rows.map(({ hash }) => hash));
  }

  /**
   * Rows that new rows have moved come again. So if most rows of the next page did not come before, and belong before
   * the last row, the API has no order from page to page.
   *
   * @throws PaginationError, since more than a page of rows may have been added instead.
   */
  checkNext({ rule, field }: SinceField, rows: readonly RowValue[], order: 'ascending' | 'newest-first'): void {
    const sign = order === 'ascending' ? 1 : -1;
    const misplaced = rows.filter(
      ({ hash, value }) => sign * rule.compare(value, this.#last) < 0 && !this.#rows.has(hash),
    );
    if (2 * misplaced.length <= rows.length) return;
    throw new PaginationError(
      'rows-moved',
      `most rows have a value of ${field} that belongs to the pages before: the API does not list ${order === 'ascending' ? 'rows in ascending order' : 'the newest rows first'} from page to page, or more than a page of them was added meanwhile. If it is the order, use order: 'any'.`,
      { advice: [{ kind: 'restart' }] },
    );
  }
}
