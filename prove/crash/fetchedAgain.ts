import { size, type ExportOrder } from './exportOrder.js';

/** What one run asked for, by query. */
export interface RunQueries {
  readonly asked: readonly string[];
  /** Those that got their page. */
  readonly answered: readonly string[];
}

/** For each run, how many of the pages that it got were asked for again by later runs. Attempts of one run count once. */
export function fetchedAgain(runs: readonly RunQueries[]): number[] {
  return runs.map(({ answered }, nth) => {
    const later = new Set(runs.slice(nth + 1).flatMap(({ asked }) => asked));
    return new Set(answered.filter((query) => later.has(query))).size;
  });
}

/** How many that may be (E4): what was not committed yet, and what the walk had ahead. */
export function maxFetchedAgain({
  commitEvery,
  concurrency,
}: Pick<ExportOrder, 'commitEvery' | 'concurrency'>): number {
  return commitEvery + concurrency * (size.prefetch + 1);
}
