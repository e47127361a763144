import { abortable } from '../../abortable.js';
import type { Page } from '../source/page.js';
import type { PageSource } from '../source/pageSource.js';
import type { SourceInfo } from '../source/sourceInfo.js';
import type { PagesOptions } from '../source/pagesOptions.js';

/** The counts of a partition in a walk. */
interface WalkedPartition {
  /** The largest total that the API stated: a smaller one during the same walk may come from another replica. */
  readonly total: number | undefined;
  /** Rows with keys that the walk had not listed before. */
  readonly different: number;
}

/**
 * Calls `take` with every row of one complete walk.
 *
 * @param take returns whether the walk has listed the row's key before
 * @returns whether rows are missing: as the API said (`isIncomplete`), or by the listing's own total (`isShort`)
 * @throws the walk's error; `signal.reason` when aborted.
 */
export async function walkOnce<T>(
  source: PageSource<T>,
  { signal, ...options }: Pick<PagesOptions, 'concurrency' | 'cache'> & { readonly signal: AbortSignal },
  take: (row: T) => boolean,
): Promise<{ readonly isIncomplete: boolean; readonly isShort: boolean }> {
  signal.throwIfAborted();
  const pages = source.pages(options)[Symbol.asyncIterator]();
  const stop = (): void => {
    // Errors after a cancellation are of no interest.
    pages.return?.().catch(() => undefined);
  };
  signal.addEventListener('abort', stop, { once: true });
  const partitions = new Map<number, WalkedPartition>();
  let last: Page<T> | undefined;
  let isIncomplete = false;
  let repeated = 0;
  try {
    for (;;) {
      const next = await abortable(pages.next(), signal);
      // A cancelled walk ends like a complete one.
      signal.throwIfAborted();
      if (next.done) {
        // The position also counts rows that an operator or a filter left out.
        const received = last?.position.rows ?? 0;
        return { isIncomplete, isShort: sumTotals(partitions.values(), source.info) > received - repeated };
      }
      last = next.value;
      isIncomplete ||= last.isIncomplete === true;
      const before = partitions.get(last.partition);
      const totals = [before?.total, last.listed ?? last.total].filter((total) => total !== undefined);
      let { different } = before ?? { different: 0 };
      for (const row of last.items) {
        if (take(row)) repeated += 1;
        else different += 1;
      }
      partitions.set(last.partition, { total: totals.length > 0 ? Math.max(...totals) : undefined, different });
    }
  } finally {
    signal.removeEventListener('abort', stop);
    // Stops prefetching also if `take` threw.
    stop();
  }
}

/** How many rows the listing has, by the API; `NaN` if unknown. A partition without a total counts the rows it sent. */
function sumTotals(
  partitions: Iterable<WalkedPartition>,
  { maxRows, hasOperator }: Pick<SourceInfo<never>, 'maxRows' | 'hasOperator'>,
): number {
  // With `maxRows`, the walk ends before the listing.
  if (maxRows !== undefined) return NaN;
  let rows = 0;
  for (const { total, different } of partitions)
    // The number of rows that an operator emits says nothing about the rows that it received.
    rows += hasOperator ? (total ?? NaN) : Math.max(total ?? 0, different);
  return rows;
}
