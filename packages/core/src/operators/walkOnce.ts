import { abortable } from '../abortable.js';
import type { PageSource } from '../source/pageSource.js';

/** Hands every row of one complete walk on, page by page. @throws whatever the walk raises; `signal.reason` when aborted. */
export async function walkOnce<T>(
  source: PageSource<T>,
  { lanes, signal }: { readonly lanes?: number | undefined; readonly signal: AbortSignal },
  take: (row: T) => void,
): Promise<void> {
  signal.throwIfAborted();
  const pages = source.pages(lanes === undefined ? {} : { lanes })[Symbol.asyncIterator]();
  const stop = (): void => {
    // Whoever stops it has no interest in what still goes wrong.
    pages.return?.().catch(() => undefined);
  };
  signal.addEventListener('abort', stop, { once: true });
  try {
    for (;;) {
      const next = await abortable(pages.next(), signal);
      // A walk that is stopped ends like one that is through: only the latter is complete.
      signal.throwIfAborted();
      if (next.done) return;
      for (const row of next.value.items) take(row);
    }
  } finally {
    signal.removeEventListener('abort', stop);
    // Also where a row could not be taken: nothing is fetched for nobody.
    stop();
  }
}
