import { chmodSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import {
  exportTo,
  HttpError,
  memoryState,
  watch,
  type Change,
  type Page,
  type PagesOptions,
  type StateStore,
} from '../../../src/index.js';
import { fileSink, fileState } from '../../../src/node/index.js';
import { simulatedDisk } from '../../node/simulatedDisk.js';
import { temporaryFolder } from '../../../../../test/kit/temporaryFolder.js';
import { recordingSink } from '../sink/recordingSink.js';
import { changeLines, changesIn } from './changeLines.js';
import { FoldedChanges, inShort } from './foldedChanges.js';
import { Listing, row, rowsOf, type Row } from './listing.js';
import { changesOn, exportChangesOn } from './simulatedWatch.js';
import { SkippingClock } from './skippingClock.js';

interface Run {
  readonly state: StateStore;
  readonly path: string;
  readonly restart?: boolean;
}

/** One poll, into a file, with one state for the watch and the export. */
async function run(listing: Listing, { state, path, restart = false }: Run): Promise<string[]> {
  const watched = watch(listing.source(), { every: 1_000, clock: new SkippingClock(), polls: 1, state });
  await exportTo(watched, fileSink(changeLines, { path, ifExists: 'overwrite' }), { state, restart }).run();
  return changesIn(readFileSync(path, 'utf8')).map(inShort);
}

describe('C7 an export that starts over begins its watch anew', () => {
  test('so that the new file begins with initial, and goes on from there', async () => {
    const state = memoryState();
    const path = join(temporaryFolder(), 'changes');
    const listing = new Listing(rowsOf('a', 'b'));
    expect(await run(listing, { state, path })).toEqual(['initial a', 'initial b']);
    listing.set('a', 'error');
    expect(await run(listing, { state, path, restart: true })).toEqual(['initial a', 'initial b']);
    listing.set('b', 'error');
    const told = ['initial a', 'initial b', 'changed b: active -> error'];
    expect(await run(listing, { state, path })).toEqual(told);
    // Another restart has another history: its changes are others.
    const ids = (): string[] => changesIn(readFileSync(path, 'utf8')).map(({ id }) => id);
    const before = ids();
    chmodSync(path, 0o640);
    await run(listing, { state, path, restart: true });
    expect(statSync(path).mode & 0o777).toBe(0o640);
    expect(ids().filter((id) => before.includes(id))).toEqual([]);
  });

  test('also where the export keeps no state of its own', async () => {
    const state = memoryState();
    const listing = new Listing(rowsOf('a'));
    const told = async (restart: boolean): Promise<string[]> => {
      const sink = recordingSink<Parameters<typeof inShort>[0] & { readonly key: string }>();
      const watched = watch(listing.source(), { every: 1_000, clock: new SkippingClock(), polls: 2, state });
      await exportTo(watched, sink, { restart }).run();
      return sink.rows.map(inShort);
    };
    expect(await told(false)).toEqual(['initial a']);
    expect(await told(false)).toEqual([]);
    expect(await told(true)).toEqual(['initial a']);
    expect(await told(false)).toEqual([]);
  });

  test(
    'whatever is left of it: damaged, of another listing, or made with another key',
    { tags: ['slow'] },
    async () => {
      const listing = new Listing(rowsOf('a'));
      const folder = join(temporaryFolder(), 'state');
      const path = join(folder, '..', 'changes');
      const start = (restart: boolean): Promise<string[]> => run(listing, { state: fileState(folder), path, restart });
      await start(false);
      // The second time it is one that was begun anew itself.
      for (let time = 1; time <= 2; time += 1) {
        writeFileSync(join(folder, 'watch.log'), 'sluice-state 1\ndamaged\ndamaged\n');
        await expect(start(false)).rejects.toThrow(/is damaged/);
        expect(await start(true)).toEqual(['initial a']);
        expect(await start(false)).toEqual(['initial a']);
      }
      await fileState(folder)
        .log('watch')
        .replace([
          {
            base: 1,
            watch: 'another',
            history: 'x',
            generation: 3,
            observedAt: '',
            committed: 3,
            size: 0,
            missing: {},
          },
        ]);
      expect(await start(true)).toEqual(['initial a']);
      expect(await start(false)).toEqual(['initial a']);
    },
  );

  test('once: what it has found comes again until it was taken, and a place in another history is none', async () => {
    const state = memoryState();
    const listing = new Listing(rowsOf('a'));
    const watched = watch(listing.source(), { every: 1_000, clock: new SkippingClock(), polls: 1, state });
    const first = async (options: PagesOptions): Promise<Page<Change<Row>> | undefined> => {
      for await (const page of watched.pages(options)) return page;
      return undefined;
    };
    await watched.toArray();
    const begun = await first({ newHistory: 'one' });
    expect(begun?.items.map(inShort)).toEqual(['initial a']);
    listing.set('a', 'error');
    const again = await first({ newHistory: 'one' });
    expect(again).toMatchObject({ items: begun?.items, health: { outcome: 'replayed' } });
    const startAt = begun!.position;
    const { walks } = listing;
    await expect(first({ newHistory: 'another', startAt })).rejects.toThrow(
      /does not match the position to resume from/,
    );
    expect(listing.walks).toBe(walks);
    expect((await first({ newHistory: 'one', startAt }))?.items.map(inShort)).toEqual(['changed a: active -> error']);
  });

  test('and what was known stays until its first poll succeeds, in this run or a later one', async () => {
    const state = memoryState();
    const path = join(temporaryFolder(), 'changes');
    const listing = new Listing(rowsOf('a', 'b'));
    await run(listing, { state, path });
    const { walks } = listing;
    listing.onFetch = ({ walk }) => {
      if (walk <= walks + 2) throw new HttpError('503', { status: 503, excerpt: '' });
    };
    expect(await run(listing, { state, path, restart: true })).toEqual([]);
    const records: unknown[] = [];
    for await (const record of state.log('watch').read()) records.push(record);
    expect(records[0]).toMatchObject({ generation: 1 });
    expect(await run(listing, { state, path })).toEqual([]);
    expect(await run(listing, { state, path })).toEqual(['initial a', 'initial b']);
    expect(await run(listing, { state, path })).toEqual(['initial a', 'initial b']);
  });
});

test(
  'C6 an export that starts over and is killed at any call has each change once all the same',
  { tags: ['slow'] },
  async () => {
    const dry = await begun();
    const first = dry.disk.calls.length;
    await exportChangesOn(dry.disk, dry.listing, 2, { restart: true });
    const last = dry.disk.calls.length;
    expect(last).toBeGreaterThan(first + 20);
    for (let n = first + 1; n <= last; n += 1) {
      const { disk, listing } = await begun((call) => (call === n ? { cut: 'after' } : undefined));
      await exportChangesOn(disk, listing, 2, { restart: true }).catch(() => undefined);
      const left = disk.restart('killed');
      listing.set('b', 'paused');
      await exportChangesOn(left, listing, 2);
      const changes = changesOn(left);
      const { rows } = new FoldedChanges<Row>().take(changes);
      expect(rows, `killed at call ${String(n)}`).toEqual(new Map(listing.rows.map((each) => [each.id, each])));
    }
  },
);

/** A listing that was exported for two polls, after which one row has changed. */
async function begun(fault: (call: number) => { readonly cut: 'after' } | undefined = () => undefined) {
  const disk = simulatedDisk(({ n }) => fault(n));
  disk.putFolder('/data');
  const listing = new Listing([row('a'), row('b'), row('c')]);
  await exportChangesOn(disk, listing, 2);
  listing.set('a', 'error');
  return { disk, listing };
}
