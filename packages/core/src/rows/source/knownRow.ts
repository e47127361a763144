import type { ChainPosition, PageCursor } from '../../position.js';
import { type ChainPlace, movedRows, repeatedRow } from './chainErrors.js';
import type { UndecodedPage } from './definition.js';
import { fingerprintOf, hashOf } from './fingerprint.js';

/** The beginning of a listing. */
export type ChainStart = Omit<ChainPosition, 'next'> & { readonly next: undefined };

/** @param atLeast the minimum page size */
type FetchAt<T> = (at: PageCursor | undefined, atLeast: 1 | 2) => Promise<UndecodedPage<T>>;

/**
 * Fetches the page at a position. At an offset, it reads the last known row again: if that row has changed, rows have
 * moved, and some would be lost.
 *
 * @returns the page, and how many rows at its beginning are known
 *
 * @throws PaginationError if rows have moved, or the page does not continue after the known row.
 */
export async function fetchBehindKnownRow<T>(
  { next: at, lastRow, first }: ChainStart | ChainPosition,
  fetch: FetchAt<T>,
  place: () => ChainPlace,
): Promise<{ readonly page: UndecodedPage<T>; readonly known: 0 | 1 }> {
  if (at === undefined || 'cursor' in at || lastRow === undefined) return { page: await fetch(at, 1), known: 0 };
  const page = await fetch({ offset: at.offset - 1 }, 2);
  const { received } = page;
  if (page.isEnd && received.length === 0) return { page, known: 0 };
  if (!beginsWith(received, lastRow))
    throw movedRows(place(), received.length > 0 && fingerprintOf(received) === first);
  if (received.length > 1 || page.next !== 'by-offset') return { page, known: 1 };
  // The API sends one row at a time.
  const behind = await fetch(at, 1);
  if (beginsWith(behind.received, lastRow)) {
    // If rows were added between the two requests, the known row has moved to `at`, and another row is in its place.
    const again = await fetch({ offset: at.offset - 1 }, 2);
    throw beginsWith(again.received, lastRow) ? repeatedRow(place()) : movedRows(place(), false);
  }
  return { page: page.isIncomplete ? { ...behind, isIncomplete: true } : behind, known: 0 };
}

function beginsWith(received: readonly unknown[], row: string): boolean {
  return received.length > 0 && hashOf(received[0]) === row;
}
