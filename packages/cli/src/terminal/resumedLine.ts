import { formatCount, formatNumber } from './formatNumber.js';

/** What an export goes on from. */
export interface Resumed {
  /** Kept from an interrupted run. */
  readonly rows: number;
  readonly pages: number;
  /** Everything was written; only putting the file in place is left. */
  readonly isSealed: boolean;
  /** Parts of the plan. */
  readonly parts: number;
  /** The first unfinished part, from 1, and the page of it that comes next, from 1. */
  readonly part: number;
  readonly page: number;
  /** Later parts that were begun too. */
  readonly otherParts: number;
}

/**
 * The calm line of an export that goes on.
 *
 * @param isForwarded the rows go to an endpoint, which may have got more of them than were committed.
 * @example 'Going on after 12,300 rows in 123 pages, at page 4 of part 3 of 12.'
 */
export function resumedLine(
  { rows, pages, isSealed, parts, part, page, otherParts }: Resumed,
  isForwarded = false,
): string {
  if (isSealed && isForwarded)
    return `All ${formatCount(rows, 'row')} are delivered already; only clearing up is left.`;
  if (isSealed) return `All ${formatCount(rows, 'row')} are written already; only putting the file in place is left.`;
  if (pages === 0 && isForwarded) return 'Going on from the first page; what was delivered is not sent again.';
  const of = parts === 1 ? '' : ` of part ${formatNumber(part)} of ${formatNumber(parts)}`;
  const others = otherParts === 0 ? '' : `, and in ${formatCount(otherParts, 'later part')}`;
  return `Going on after ${formatCount(rows, 'row')} in ${formatCount(pages, 'page')}, at page ${formatNumber(page)}${of}${others}.`;
}
