import { ConfigError } from '../errors.js';
import type { FetchedPage, UndecodedPage } from './definition.js';
import { sourceFault } from './sourceFault.js';

/** The original rows of a page, by which it is compared with others. */
export function receivedRows(page: FetchedPage<unknown> | UndecodedPage<unknown>): readonly unknown[] {
  return 'decode' in page ? page.received : (page.received ?? page.rows);
}

/**
 * The rows of a page. Called once, when the walk emits it: a decoder may modify its input, and pages that nobody takes
 * are never decoded.
 *
 * @throws the decoder's error; ConfigError if it does not return one row for each received.
 */
export function decodeRows<T>(page: FetchedPage<T> | UndecodedPage<T>, source: string): readonly T[] {
  const received = receivedRows(page).length;
  let rows: readonly T[];
  try {
    rows = 'decode' in page ? page.decode() : page.rows;
  } catch (error) {
    throw sourceFault(error, source, 'decode');
  }
  if (rows.length === received) return rows;
  throw new ConfigError(
    `${source} received ${received} row(s) and returned ${rows.length}. Return one row for each: positions count received rows.`,
  );
}
