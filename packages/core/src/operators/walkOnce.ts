import { abortable } from '../abortable.js';
import type { Page } from '../source/page.js';
import type { PageCache } from '../source/pageCache.js';
import type { PageSource } from '../source/pageSource.js';

/**
 * Calls `take` with every row of one complete walk.
 *
 * @returns whether rows are missing: as the API said (`isIncomplete`), or by the listing's own total (`isShort`)
 * @throws what the walk raises; `signal.reason` when aborted.
 */
export async function walkOnce<T>(
  source: PageSource<T>,
  {
    concurrency,
    signal,
    cache,
  }: {
    readonly concurrency?: number | undefined;
    readonly signal: AbortSignal;
    readonly cache?: PageCache | undefined;
  },
  take: (row: T) => void,
): Promise<{ readonly isIncomplete: boolean; readonly isShort: boolean }> {
  signal.throwIfAborted();
  const pages = source
    .pages({ ...(concurrency !== undefined && { concurrency }), ...(cache && { cache }) })
    [Symbol.asyncIterator]();
  const stop = (): void => {
    // Errors after a cancellation are of no interest.
    pages.return?.().catch(() => undefined);
  };
  signal.addEventListener('abort', stop, { once: true });
  /** The last total of each partition. */
  const totals = new Map<number, number | undefined>();
  let last: Page<T> | undefined;
  let isIncomplete = false;
  try {
    for (;;) {
      const next = await abortable(pages.next(), signal);
      // A cancelled walk ends like a complete one.
      signal.throwIfAborted();
      if (next.done) return { isIncomplete, isShort: source.info.maxRows === undefined && lacks(totals, last) };
      last = next.value;
      isIncomplete ||= last.isIncomplete === true;
      totals.set(last.partition, last.listed ?? last.total);
      for (const row of last.items) take(row);
    }
  } finally {
    signal.removeEventListener('abort', stop);
    // Also if `take` threw: nothing is fetched ahead any more.
    stop();
  }
}

/** Compares with the rows that the walk counted: an operator on its pages may have added or removed some. */
function lacks(totals: ReadonlyMap<number, number | undefined>, last: Page<unknown> | undefined): boolean {
  let rows = 0;
  for (const total of totals.values()) {
    if (total === undefined) return false;
    rows += total;
  }
  return last !== undefined && rows > last.position.rows;
}
