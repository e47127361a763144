import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { exportTo, memoryState, watch, type Change, type Page, type StateStore } from '../../../src/index.js';
import { fileSink } from '../../../src/node/index.js';
import { temporaryFolder } from '../../../../../test/kit/temporaryFolder.js';
import { changeLines, changesIn } from './changeLines.js';
import { Listing, row, type Row } from './listing.js';
import { SkippingClock } from './skippingClock.js';

const size = 25_000;
const rows = Array.from({ length: size }, (_, nth) => row(`r${nth}`));
const ids = rows.map(({ id }) => id);

const watched = (listing: Listing, state: StateStore) =>
  watch(listing.source(), { every: 1_000, clock: new SkippingClock(), polls: 1, state });

/** Exports one poll; stopped when so many rows are committed. */
async function exportOnce(listing: Listing, state: StateStore, path: string, stopAt = Infinity): Promise<string[]> {
  const stop = new AbortController();
  const onCommitted = (checkpoint?: { readonly rows: number }): void => {
    if ((checkpoint?.rows ?? 0) >= stopAt) stop.abort();
  };
  const run = exportTo(watched(listing, state), fileSink(changeLines, { path }), { state, onCommitted });
  await run.run({ signal: stop.signal }).catch(() => undefined);
  return changesIn(readFileSync(path, 'utf8')).map(({ type, key }) => `${type} ${key}`);
}

describe('a generation of many changes', () => {
  test('C6 is emitted in pages, of which the last one says how the poll ended', { tags: ['slow'] }, async () => {
    const state = memoryState();
    const listing = new Listing(rows, 5_000);
    const source = watched(listing, state);
    const pages: Page<Change<Row>>[] = [];
    for await (const page of source.pages()) pages.push(page);
    expect(pages.map(({ items }) => items.length)).toEqual([10_000, 10_000, 5_000]);
    expect(pages.map(({ isContinued }) => isContinued)).toEqual([true, true, undefined]);
    expect(pages.map(({ health }) => health?.rows)).toEqual([undefined, undefined, size]);
    expect(pages.flatMap(({ items }) => items.map(({ key }) => key))).toEqual(ids);
  });

  test('C6 resumes within it, at the position of any page', { tags: ['slow'] }, async () => {
    const state = memoryState();
    const listing = new Listing(rows, 5_000);
    const first: Page<Change<Row>>[] = [];
    for await (const page of watched(listing, state).pages()) {
      first.push(page);
      if (first.length === 2) break;
    }
    const [begun, second] = first;
    const rest: Change<Row>[] = [];
    for await (const page of watched(listing, state).pages({ startAt: begun!.position })) rest.push(...page.items);
    expect(rest.slice(0, 10_000)).toEqual(second!.items);
    expect([...begun!.items, ...rest].map(({ key }) => key)).toEqual(ids);
  });

  test('C6 reaches a file once, wherever the export is stopped', { tags: ['slow'] }, async () => {
    const path = join(temporaryFolder(), 'changes');
    const state = memoryState();
    const listing = new Listing(rows, 5_000);
    expect(await exportOnce(listing, state, path, 1)).toHaveLength(10_000);
    expect(await exportOnce(listing, state, path, 20_000)).toHaveLength(20_000);
    expect(await exportOnce(listing, state, path)).toEqual(ids.map((id) => `initial ${id}`));
    // The next generation, too.
    listing.rows = rows.map(({ id }) => row(id, 'error'));
    expect(await exportOnce(listing, state, path, size + 10_000)).toHaveLength(size + 10_000);
    const all = await exportOnce(listing, state, path);
    expect(all.slice(size)).toEqual(ids.map((id) => `changed ${id}`));
  });
});
