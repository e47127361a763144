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

/** The calm line of an export that goes on. @example 'Going on after 12,300 rows in 123 pages, at page 4 of part 3 of 12.' */
export function resumedLine({ rows, pages, isSealed, parts, part, page, otherParts }: Resumed): string {
  if (isSealed) return `All ${formatCount(rows, 'row')} are written already; only putting the file in place is left.`;
  const of = parts === 1 ? '' : ` of part ${formatNumber(part)} of ${formatNumber(parts)}`;
  const others = otherParts === 0 ? '' : `, and in ${formatCount(otherParts, 'later part')}`;
  return `Going on after ${formatCount(rows, 'row')} in ${formatCount(pages, 'page')}, at page ${formatNumber(page)}${of}${others}.`;
}
