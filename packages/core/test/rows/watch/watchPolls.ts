import { watch, type Change, type Page, type WatchOptions } from '../../../src/index.js';
import type { PageHealth } from '../../../src/kit.js';
import { inShort } from './foldedChanges.js';
import type { Listing, Row } from './listing.js';
import { SkippingClock } from './skippingClock.js';

/** What a run of polls gave. */
export interface WatchedPolls {
  readonly pages: readonly Page<Change<Row>>[];
  readonly changes: readonly Change<Row>[];
  /** The changes of each page in short, e.g. `['initial a', 'initial b']`. */
  readonly told: readonly (readonly string[])[];
  readonly health: readonly (PageHealth | undefined)[];
}

/** Watches a listing for some polls, in no time. Whatever is given out is taken. */
export async function watchPolls(
  listing: Listing,
  polls: number,
  options: Partial<Omit<WatchOptions<Row>, 'rules'>> = {},
): Promise<WatchedPolls> {
  const pages: Page<Change<Row>>[] = [];
  const source = watch(listing.source(), { every: 1_000, clock: new SkippingClock(), polls, ...options });
  for await (const page of source.pages()) pages.push(page);
  return {
    pages,
    changes: pages.flatMap(({ items }) => items),
    told: pages.map(({ items }) => items.map(inShort)),
    health: pages.map(({ health }) => health),
  };
}
