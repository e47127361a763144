// @module-tag slow
import { describe, expect, test } from 'vitest';
import { someOf } from '../../../../../scripts/testEffort.js';
import type { Change, Page } from '../../../src/index.js';
import { simulatedDisk, type SimulatedDisk } from '../../node/simulatedDisk.js';
import type { FaultAt } from '../../node/simulatedDisk/diskCalls.js';
import { newStates } from '../../node/simulatedDisk/newStates.js';
import type { RestartMode } from '../../node/simulatedDisk/survivors.js';
import { FoldedChanges } from './foldedChanges.js';
import { Listing, rowsOf, type Row } from './listing.js';
import { acceptedOn, changesOn, exportChangesOn, watchOn } from './simulatedWatch.js';

const modesAt = (n: number): RestartMode[] => ['killed', 'all', 'dropped', { seed: 2 * n }, { seed: 2 * n + 1 }];

/** A server that goes on at each walk: back and forth, up and down, in and out. It begins where another one of them is. */
function movingListing({ rows, walks } = new Listing(rowsOf('a', 'b', 'c', 'd', 'e'))): Listing {
  const listing = new Listing(rows, 3);
  listing.walks = walks;
  listing.onFetch = ({ walk, page }) => {
    if (page !== 0) return;
    listing.set('a', walk % 2 === 0 ? 'active' : 'error');
    if (walk % 5 === 3) listing.remove('b', 'c');
    if (walk % 5 === 0) for (const id of ['b', `new ${String(walk)}`]) listing.add(id);
  };
  return listing;
}

function emptyDisk(faultAt?: FaultAt): SimulatedDisk {
  const disk = simulatedDisk(faultAt);
  disk.putFolder('/data');
  return disk;
}

/** Goes on until nothing moves any more, and sees that the file tells the whole story, once. */
async function checkStory(disk: SimulatedDisk, listing: Listing): Promise<void> {
  await exportChangesOn(disk, listing, 1);
  new FoldedChanges<Row>().take(changesOn(disk));
  listing.onFetch = () => undefined;
  await exportChangesOn(disk, listing, 4);
  const { rows } = new FoldedChanges<Row>().take(changesOn(disk));
  expect(rows).toEqual(await acceptedOn(disk));
  expect(rows).toEqual(new Map(listing.rows.map((each) => [each.id, each])));
}

describe('C6 changes go into a file exactly once', () => {
  test('whatever call it is killed at, or the power cut, and whatever the server does meanwhile', async () => {
    const dry = emptyDisk();
    await exportChangesOn(dry, movingListing(), 4);
    expect(dry.calls.length).toBeGreaterThan(60);
    const isNew = newStates();
    for (const { n, name } of someOf(dry.calls)) {
      for (const cut of ['before', 'after', ...(name === 'write' ? [7] : [])] as const) {
        const listing = movingListing();
        const disk = emptyDisk((call) => (call.n === n ? { cut } : undefined));
        await exportChangesOn(disk, listing, 4).catch(() => undefined);
        expect(disk.isStopped).toBe(true);
        for (const mode of cut === 'after' ? modesAt(n) : (['dropped', { seed: -n }] as const)) {
          const left = disk.restart(mode);
          if (isNew(left, listing.rows, listing.walks)) await checkStory(left, movingListing(listing));
        }
      }
    }
  });

  test('where a call fails, and the next run goes on', async () => {
    const dry = emptyDisk();
    await exportChangesOn(dry, movingListing(), 3);
    const isNew = newStates();
    for (const { n } of someOf(dry.calls, 1)) {
      for (const when of ['before', 'after'] as const) {
        const listing = movingListing();
        const disk = emptyDisk((call) => (call.n === n ? { code: 'EIO', when } : undefined));
        await exportChangesOn(disk, listing, 3).catch(() => undefined);
        const left = disk.restart('killed');
        if (isNew(left, listing.rows, listing.walks)) await checkStory(left, listing);
      }
    }
  });
});

test('C6 compacting the log loses nothing, whatever call it is killed at', async () => {
  const ids = Array.from({ length: 600 }, (_, at) => `row ${String(at)}`);
  const newListing = ({ rows, walks } = new Listing(rowsOf(...ids))): Listing => {
    const listing = new Listing(rows, 600);
    listing.walks = walks;
    listing.onFetch = ({ walk }) => {
      for (const id of walk < 8 ? ids : []) listing.set(id, `at ${String(walk)}`);
    };
    return listing;
  };
  const dry = emptyDisk();
  await exportChangesOn(dry, newListing(), 4);
  const replaced = dry.calls.filter(({ label }) => label.endsWith('-> /data/state/watch.log'));
  expect(replaced).toHaveLength(2);
  const last = replaced.at(-1)!.n;
  const isNew = newStates();
  for (const { n } of dry.calls.filter((call) => call.n > last - 5 && call.n < last + 3)) {
    const disk = emptyDisk((call) => (call.n === n ? { cut: 'after' } : undefined));
    const listing = newListing();
    await exportChangesOn(disk, listing, 4).catch(() => undefined);
    for (const mode of ['killed', 'dropped', { seed: n }] as const) {
      const left = disk.restart(mode);
      if (isNew(left, listing.rows, listing.walks)) await checkStory(left, newListing(listing));
    }
  }
});

describe('C6 whoever pulls changes', () => {
  test('gets what was staged again, with the same ids and bodies, whatever call it is killed at', async () => {
    const dry = emptyDisk();
    await pull(dry, movingListing(), 4, []);
    const isNew = newStates();
    for (const { n } of someOf(dry.calls, 2)) {
      const disk = emptyDisk((call) => (call.n === n ? { cut: 'after' } : undefined));
      const stopped = movingListing();
      const given: Page<Change<Row>>[] = [];
      await pull(disk, stopped, 4, given).catch(() => undefined);
      for (const mode of modesAt(n)) {
        const next = disk.restart(mode);
        if (!isNew(next, stopped.rows, stopped.walks, given.length)) continue;
        const listing = movingListing(stopped);
        const again: Page<Change<Row>>[] = [];
        await pull(next, listing, 2, again);
        listing.onFetch = () => undefined;
        await pull(next, listing, 4, again);
        const byGeneration = new Map<number, readonly Change<Row>[]>();
        for (const { items } of [...given, ...again]) {
          if (items.length === 0) continue;
          const { generation } = items[0]!;
          // Asking for more says that all before is taken, so at most the last page comes again.
          const known = byGeneration.get(generation);
          if (known) expect([items, generation]).toEqual([known, given.at(-1)?.health?.generation]);
          byGeneration.set(generation, items);
        }
        const { rows } = new FoldedChanges<Row>().take([...byGeneration.values()].flat());
        expect(rows).toEqual(new Map(listing.rows.map((each) => [each.id, each])));
      }
    }
  });
});

async function pull(disk: SimulatedDisk, listing: Listing, polls: number, given: Page<Change<Row>>[]): Promise<void> {
  for await (const page of watchOn(disk, listing, polls).pages()) given.push(page);
}
