import { abortable } from '../abortable.js';
import type { Page } from '../source/page.js';
import type { PageSource } from '../source/pageSource.js';

/**
 * Hands every row of one complete walk on, page by page.
 *
 * @returns how many more rows there are by the listing's own total; 0 where it gives none.
 * @throws whatever the walk raises; `signal.reason` when aborted.
 */
export async function walkOnce<T>(
  source: PageSource<T>,
  { concurrency, signal }: { readonly concurrency?: number | undefined; readonly signal: AbortSignal },
  take: (row: T) => void,
): Promise<number> {
  signal.throwIfAborted();
  const pages = source.pages(concurrency === undefined ? {} : { concurrency })[Symbol.asyncIterator]();
  const stop = (): void => {
    // Whoever stops it has no interest in what still goes wrong.
    pages.return?.().catch(() => undefined);
  };
  signal.addEventListener('abort', stop, { once: true });
  /** What each part of the plan said last. */
  const totals = new Map<number, number | undefined>();
  let last: Page<T> | undefined;
  try {
    for (;;) {
      const next = await abortable(pages.next(), signal);
      // A walk that is stopped ends like one that is through: only the latter is complete.
      signal.throwIfAborted();
      if (next.done) return source.info.maxRows === undefined ? lacking(totals, last) : 0;
      last = next.value;
      totals.set(last.partition, last.listed ?? last.total);
      for (const row of last.items) take(row);
    }
  } finally {
    signal.removeEventListener('abort', stop);
    // Also where a row could not be taken: nothing is fetched for nobody.
    stop();
  }
}

/** By the walk's own count, since an operator on its pages may have made fewer or more rows of them. */
function lacking(totals: ReadonlyMap<number, number | undefined>, last: Page<unknown> | undefined): number {
  let rows = 0;
  for (const total of totals.values()) {
    if (total === undefined) return 0;
    rows += total;
  }
  return last === undefined ? 0 : Math.max(0, rows - last.position.rows);
}
