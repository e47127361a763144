import type { IncrementalPaging } from './paging.js';
import { checkOrder, findUnwanted, pageIncrement, rowValues, type SinceField } from './sinceField.js';

/** In which order a listing has its rows, by their values. */
export type SinceOrder = 'ascending' | 'newest-first' | 'any';

/**
 * Leaves out the known rows of pages that another paging finds. It stays on them as received: they count for offsets,
 * and are compared to detect loops and moves.
 */
export function pageInside(by: SinceField, order: SinceOrder, isSent: boolean): Pick<IncrementalPaging, 'newRows'> {
  return {
    newRows(page, { since, at, read, warn, isAgain }) {
      const start = since.from;
      const rows = rowValues(by, page.received, read);
      if (order !== 'any') checkOrder(by, rows, order, read);
      const { isEarly, isLate } = findUnwanted(by, rows, since, { isSent, warn });
      const isLeftOut = rows.map(
        ({ hash }, index) =>
          isEarly[index] === true ||
          isLate[index] === true ||
          since.isKnown?.(hash) === true ||
          (isAgain && index === 0),
      );
      // Only if none is new: a change may have moved some of them.
      const isPast = order === 'newest-first' && rows.length > 0 && !isEarly.includes(false);
      const isPassed = isPast || (order === 'ascending' && isLate.at(-1) === true);
      return {
        ...page,
        // Of a walk that ends before the listing does.
        total: order === 'newest-first' && start !== undefined ? undefined : page.total,
        next: isPassed ? 'end' : page.next,
        leftOut: new Set(isLeftOut.flatMap((is, index) => (is ? [index] : []))),
        increment: pageIncrement(by, rows, { at, emitted: rows.filter((_, index) => !isLeftOut[index]) }),
      };
    },
  };
}
