import type { Begun } from './begun.js';
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
 * @param begun what it has begun with: an endpoint may have got more rows than were committed, and a plugin's sink may be anything.
 * @example 'Going on after 12,300 rows in 123 pages, at page 4 of part 3 of 12.'
 */
export function resumedLine(
  { rows, pages, isSealed, parts, part, page, otherParts }: Resumed,
  begun: Pick<Begun, 'state' | 'deadLetterFile'> = {},
): string {
  const words = wordsFor(begun);
  if (isSealed) return `All ${formatCount(rows, 'row')} are ${words.sealed}`;
  if (pages === 0 && words.first !== undefined) return words.first;
  const of = parts === 1 ? '' : ` of part ${formatNumber(part)} of ${formatNumber(parts)}`;
  const others = otherParts === 0 ? '' : `, and in ${formatCount(otherParts, 'later part')}`;
  return `Going on after ${formatCount(rows, 'row')} in ${formatCount(pages, 'page')}, at page ${formatNumber(page)}${of}${others}.`;
}

/** What is said of a target before its first page, and when only its end is left. */
interface TargetWords {
  readonly sealed: string;
  readonly first?: string;
}

const ofFile: TargetWords = { sealed: 'written already; only putting the file in place is left.' };
const ofEndpoint: TargetWords = {
  sealed: 'delivered already; only clearing up is left.',
  first: 'Going on from the first page; what was delivered is not sent again.',
};
const ofSink: TargetWords = {
  sealed: 'there already; only closing the target is left.',
  first: 'Going on from the first page: no row was committed yet.',
};

/** A file has its state beside itself, and only an endpoint has dead letters. */
function wordsFor({ state, deadLetterFile }: Pick<Begun, 'state' | 'deadLetterFile'>): TargetWords {
  if (state === undefined) return ofFile;
  return deadLetterFile === undefined ? ofSink : ofEndpoint;
}
