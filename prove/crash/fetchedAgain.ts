import type { LoggedRequest } from '@sluice/sandbox';
import { size, type ExportOrder } from './exportOrder.js';

/** The requests of one run, by query. */
export interface RunQueries {
  readonly asked: readonly string[];
  /** Those that received their page. */
  readonly answered: readonly string[];
}

/** For each run, how many of its pages later runs requested again. Several attempts of one run count once. */
export function fetchedAgain(runs: readonly RunQueries[]): number[] {
  return runs.map(({ answered }, nth) => {
    const later = new Set(runs.slice(nth + 1).flatMap(({ asked }) => asked));
    return new Set(answered.filter((query) => later.has(query))).size;
  });
}

/** The permitted number (E4): uncommitted pages, and those that the walk had fetched ahead. */
export function maxFetchedAgain({
  commitEvery,
  concurrency,
}: Pick<ExportOrder, 'commitEvery' | 'concurrency'>): number {
  return commitEvery + concurrency * (size.prefetch + 1);
}

/** What a run requested, from a server's log. */
export function queriesOf(requests: readonly LoggedRequest[]): RunQueries {
  const answered = requests.filter(({ status, fault, aborted }) => status === 200 && fault === undefined && !aborted);
  return { asked: requests.map(({ query }) => query), answered: answered.map(({ query }) => query) };
}
