import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { watch, type StateStore } from '../../../src/index.js';
import { fileState } from '../../../src/node/index.js';
import { temporaryFolder } from '../../../../../test/kit/temporaryFolder.js';
import { FoldedChanges, inShort } from './foldedChanges.js';
import { Listing, row, rowsOf, type Row } from './listing.js';
import { SkippingClock } from './skippingClock.js';
import { watchPolls, type WatchedPolls } from './watchPolls.js';

const ids = [...'abcdefghijklmnopqrst'];

/** Five are changed, two added and one removed. */
function change(listing: Listing): void {
  for (const id of ['a', 'c', 'k', 'm', 't']) listing.set(id, 'error');
  listing.add('u');
  listing.add('v', 'paused');
  listing.remove('e');
}
const netChanges = [...['a', 'c', 'k', 'm', 't'].map((id) => `changed ${id}: active -> error`), 'added u', 'added v'];

describe('a watch that is started again', () => {
  test('C4 tells exactly what changed while it was down, each once', async () => {
    const folder = join(temporaryFolder(), 'state');
    const listing = new Listing(rowsOf(...ids), 7);
    const folded = new FoldedChanges<Row>().take((await watchPolls(listing, 2, { state: fileState(folder) })).changes);
    change(listing);
    // There and back again is not seen, and is documented so.
    listing.set('b', 'error');
    listing.set('b', 'active');
    const { told, changes } = await watchPolls(listing, 4, { state: fileState(folder) });
    expect(told).toEqual([netChanges, ['removed e'], [], []]);
    expect([...folded.take(changes).rows.values()]).toEqual(expect.arrayContaining([...listing.rows]));
    expect(folded.rows.size).toBe(listing.rows.length);
    expect((await watchPolls(listing, 2, { state: fileState(folder) })).told).toEqual([[], []]);
  });

  test('C4 gives out again what was not taken, and only then asks', async () => {
    const state = fileState(join(temporaryFolder(), 'state'));
    const listing = new Listing(rowsOf('a', 'b'));
    const watched = watch(listing.source(), { every: 1_000, clock: new SkippingClock(), state });
    const firstPage = async (): Promise<readonly string[]> => {
      for await (const { items } of watched.pages()) return items.map(({ id }) => id);
      return [];
    };
    const first = await firstPage();
    const { walks } = listing;
    listing.set('a', 'error');
    listing.remove('b');
    expect(await firstPage()).toEqual(first);
    expect(listing.walks).toBe(walks);
    const { told, changes, health } = await watchPolls(listing, 4, { state });
    expect(changes.slice(0, 2).map(({ id }) => id)).toEqual(first);
    expect(told).toEqual([['initial a', 'initial b'], ['changed a: active -> error'], ['removed b'], [], []]);
    expect(health.map((each) => each?.outcome)).toEqual(['replayed', 'polled', 'polled', 'polled', 'polled']);
    expect(health.map((each) => each?.isSynced)).toEqual([true, undefined, undefined, undefined, undefined]);
  });
});

describe('a watch that polls once at a time, as under cron', () => {
  /** Each run is a process of its own, a minute after the one before. */
  function cron(listing: Listing): (polls: number) => Promise<WatchedPolls> {
    const folder = join(temporaryFolder(), 'state');
    const clock = new SkippingClock();
    return async (polls) => {
      const runs: WatchedPolls[] = [];
      for (let nth = 0; nth < polls; nth += 1) {
        const state: StateStore = fileState(folder);
        runs.push(await watchPolls(listing, 1, { state, clock, every: 60_000 }));
        clock.time += 60_000;
      }
      return {
        pages: runs.flatMap(({ pages }) => pages),
        changes: runs.flatMap(({ changes }) => changes),
        told: runs.flatMap(({ told }) => told),
        health: runs.flatMap(({ health }) => health),
      };
    };
  }

  test('C4 tells exactly what changed, removals by the second run without the row', async () => {
    const listing = new Listing(rowsOf(...ids), 7);
    const run = cron(listing);
    expect((await run(2)).told).toEqual([ids.map((id) => `initial ${id}`), []]);
    change(listing);
    expect((await run(4)).told).toEqual([netChanges, ['removed e'], [], []]);
  });

  test('C2 a row that is missed now and then stays', async () => {
    const listing = new Listing(rowsOf(...ids), 7);
    const run = cron(listing);
    await run(1);
    listing.seenAs = (rows, { walk }) => (walk % 2 === 0 ? rows : rows.slice(1));
    expect((await run(8)).told.flat()).toEqual([]);
  });

  test(
    'C3 holds what is missing from an empty listing for three runs, and forgets it when the rows are back',
    { tags: ['slow'] },
    async () => {
      const listing = new Listing(rowsOf(...ids), 7);
      const run = cron(listing);
      await run(1);
      const { rows } = listing;
      listing.rows = [];
      const held = await run(2);
      expect([held.told.flat(), held.health.at(-1)?.held]).toEqual([[], 20]);
      listing.rows = rows;
      expect((await run(1)).told.flat()).toEqual([]);
      listing.rows = [row('a', 'error')];
      const { told } = await run(4);
      expect(told).toEqual([['changed a: active -> error'], [], ids.slice(1).map((id) => `removed ${id}`), []]);
    },
  );

  test('C3 holds them for twice the rate, however quickly one run follows another', async () => {
    const listing = new Listing(rowsOf(...ids), 7);
    const folder = join(temporaryFolder(), 'state');
    const clock = new SkippingClock();
    const runAt = async (minutes: number): Promise<number> => {
      clock.time = minutes * 60_000;
      const { changes } = await watchPolls(listing, 1, { state: fileState(folder), clock, every: 60_000 });
      return changes.length;
    };
    expect(await runAt(0)).toBe(20);
    listing.rows = [];
    // Three walks agree after a minute and a half, and many more before two are over.
    expect([await runAt(1), await runAt(1.5), await runAt(2), await runAt(2.5), await runAt(2.999)]).toEqual([
      0, 0, 0, 0, 0,
    ]);
    expect(await runAt(3)).toBe(20);
  });

  test('C3 takes removals when told to, also when they are held already', async () => {
    const listing = new Listing(rowsOf(...ids), 7);
    const folder = join(temporaryFolder(), 'state');
    const poll = async (acceptRemovals: boolean): Promise<readonly string[]> =>
      (await watchPolls(listing, 1, { state: fileState(folder), acceptRemovals })).changes.map(inShort);
    await poll(false);
    listing.rows = [];
    expect([await poll(false), await poll(false)]).toEqual([[], []]);
    expect(await poll(true)).toEqual(ids.map((id) => `removed ${id}`));
  });
});
