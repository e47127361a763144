import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import {
  CheckpointError,
  ConfigError,
  createSource,
  LockError,
  memoryState,
  watch,
  type StateStore,
  type WatchOptions,
} from '../../src/index.js';
import { fileState } from '../../src/node/index.js';
import { hashOf } from '../../src/source/fingerprint.js';
import { forkChild } from '../node/forkChild.js';
import { tempFolder } from '../node/tempFolder.js';
import { inShort } from './foldedChanges.js';
import { Listing, rowsOf, type Row } from './listing.js';
import { SkippingClock } from './skippingClock.js';
import { watchPolls } from './watchPolls.js';

describe('a watch refuses at once', () => {
  test.each<[string, Partial<WatchOptions<Row>>, RegExp]>([
    ['every 0', { every: 0 }, /every is 0/],
    ['a rate that is no number', { every: NaN }, /every is NaN/],
    ['too much jitter', { jitter: 1.5 }, /jitter is 1.5/],
    ['no confirmation', { confirmations: 0 }, /confirmations is 0/],
    ['half a confirmation', { confirmations: 1.5 }, /confirmations is 1.5/],
    ['holdAbove 2', { holdAbove: 2 }, /holdAbove is 2: it must be a share/],
    ['a holdAbove that is no number', { holdAbove: NaN }, /holdAbove is NaN/],
    ['no poll', { polls: 0 }, /polls is 0/],
    ['fewer failures than none', { maxFailures: -1 }, /maxFailures is -1/],
    ['no lane', { lanes: 0 }, /lanes is 0/],
    ['an unknown field in project', { project: ['stauts'] }, /project names the field "stauts", which no row has/],
  ])('%s', (_, options, message) => {
    const listing = new Listing([]);
    const make = (): unknown => watch(listing.source(), { every: 1_000, ...options });
    expect(make).toThrow(ConfigError);
    expect(make).toThrow(message);
    expect(listing.fetches).toBe(0);
  });

  test('a source whose rows nothing tells apart', () => {
    const keyless = createSource<Row>({
      ...{ name: 'test.keyless', identity: null, schema: { columns: ['id'] } },
      fetch: () => Promise.resolve({ rows: [], next: 'end' }),
    });
    expect(() => watch(keyless, { every: 1_000 })).toThrow(
      /Nothing tells the rows of test.keyless apart: give watch a key/,
    );
    expect(() => watch(keyless, { every: 1_000, key: ({ id }) => id })).not.toThrow();
  });
});

test('a key that is no text ends a watch, and nothing is accepted', async () => {
  const state = memoryState();
  const listing = new Listing(rowsOf('a', 'b'));
  const key: (value: Row) => string = (value) => Reflect.get(value, 'none');
  await expect(watchPolls(listing, 3, { state, key })).rejects.toThrow(/key gave undefined for a row/);
  expect((await watchPolls(listing, 1, { state })).told).toEqual([['initial a', 'initial b']]);
});

/** A listing that was watched for two polls, with its state, to which nothing may happen from here on. */
async function watched(): Promise<{ listing: Listing; folder: string; log: string; bytes: Buffer }> {
  const folder = join(tempFolder(), 'state');
  const listing = new Listing(rowsOf('a', 'b', 'c'));
  await watchPolls(listing, 2, { state: fileState(folder) });
  listing.set('a', 'error');
  const log = join(folder, 'watch.log');
  return { listing, folder, log, bytes: readFileSync(log) };
}

describe('E6 a state that does not fit is refused, and left as it is', () => {
  test('one of another listing', async () => {
    const { listing, folder, log, bytes } = await watched();
    const other = watch(listing.source({ another: true }), { every: 1_000, state: fileState(folder) });
    await expect(other.toArray()).rejects.toThrow(CheckpointError);
    await expect(other.toArray()).rejects.toThrow(/belongs to another watch/);
    expect(readFileSync(log).equals(bytes)).toBe(true);
    expect((await watchPolls(listing, 1, { state: fileState(folder) })).told).toEqual([['changed a: active -> error']]);
  });

  test('one that was made with another key', async () => {
    const { listing } = await watched();
    const folder = join(tempFolder(), 'state');
    const run = async (key: string, sameProject = false): Promise<string[]> => {
      const source = listing.source();
      const info = { ...source.info, keyFingerprint: (salt: string) => Promise.resolve(hashOf(key + salt)) };
      const pages = source.pages.bind(source);
      const options = { every: 1_000, polls: 1, clock: new SkippingClock(), state: fileState(folder), sameProject };
      return (await watch({ info, pages }, options).toArray()).map(inShort);
    };
    expect(await run('one key')).toHaveLength(3);
    await expect(run('another')).rejects.toThrow(/made with another API key/);
    expect(await run('one key')).toEqual([]);
    // A new key of the same project has to be said to be one, once.
    expect(await run('another', true)).toEqual([]);
    expect(await run('another')).toEqual([]);
    await expect(run('one key')).rejects.toThrow(/another API key.*with sameProject/);
    expect(readFileSync(join(folder, 'watch.log'), 'utf8')).not.toContain('one key');
  });

  test.each<[string, (bytes: Buffer) => Buffer | string, RegExp]>([
    ['damaged', (bytes) => Buffer.from(bytes).fill(0, 40, 41), /is damaged at byte 13/],
    ['of a newer version', () => 'sluice-log 2\n???\n', /another version of Sluice \(format 2\)/],
    [
      'without its beginning',
      (bytes) => `sluice-log 1\n${bytes.toString().split('\n').slice(2).join('\n')}`,
      /can't be read/,
    ],
    ['empty', () => '', /is empty/],
  ])('one that is %s', async (_, damaged, message) => {
    const { listing, folder, log, bytes } = await watched();
    const { walks } = listing;
    writeFileSync(log, damaged(bytes));
    const before = readFileSync(log);
    const refused = watchPolls(listing, 1, { state: fileState(folder) });
    await expect(refused).rejects.toThrow(CheckpointError);
    await expect(refused).rejects.toThrow(message);
    expect(readFileSync(log).equals(before)).toBe(true);
    expect(listing.walks).toBe(walks);
    writeFileSync(log, bytes);
    expect((await watchPolls(listing, 1, { state: fileState(folder) })).told).toEqual([['changed a: active -> error']]);
  });

  test('one with a record of a newer version, or of nobody’s', async () => {
    for (const [records, message] of [
      [[{ base: 2 }], /newer version of Sluice/],
      [[{ base: 'x' }], /can't be read/],
      [[{ whatever: 1 }], /can't be read/],
      [[[]], /can't be read/],
    ] as const) {
      const state = memoryState();
      await state.log('watch').replace(records);
      await expect(watchPolls(new Listing(rowsOf('a')), 1, { state })).rejects.toThrow(message);
    }
  });

  test('one from which a record is missing', async () => {
    const state = memoryState();
    const listing = new Listing(rowsOf('a', 'b'));
    await watchPolls(listing, 1, { state });
    for (const status of ['error', 'paused', 'active']) {
      listing.set('a', status);
      await watchPolls(listing, 1, { state });
    }
    const records: object[] = [];
    for await (const record of state.log('watch').read()) records.push(Object(record));
    const delta = records.findIndex((record) => 'differences' in record);
    await state.log('watch').replace(records.toSpliced(delta, 1));
    await expect(watchPolls(listing, 1, { state })).rejects.toThrow(CheckpointError);
    await state.log('watch').replace(records);
    expect((await watchPolls(listing, 1, { state })).told).toEqual([[]]);
  });
});

describe('E8 two watches on one state', () => {
  test('in one process take turns', async () => {
    for (const state of [memoryState(), fileState(join(tempFolder(), 'state'))] as StateStore[]) {
      const listing = new Listing(rowsOf('a', 'b'));
      const runs = await Promise.all([watchPolls(listing, 2, { state }), watchPolls(listing, 2, { state })]);
      expect(runs.map(({ told }) => told)).toEqual([
        [['initial a', 'initial b'], []],
        [[], []],
      ]);
    }
  });

  test('in two processes: the second one is refused, and told whose it is', async () => {
    const folder = join(tempFolder(), 'state');
    mkdirSync(folder);
    const child = forkChild(new URL('children/holdWatch.ts', import.meta.url), folder);
    expect(await child.next()).toBe('watching');
    const listing = new Listing(rowsOf('a', 'b'));
    const refused = watchPolls(listing, 1, { state: fileState(folder) });
    await expect(refused).rejects.toThrow(LockError);
    await expect(refused).rejects.toThrow(new RegExp(`in use by process ${String(child.process.pid)}`));
    expect(listing.fetches).toBe(0);
    expect(await fileState(folder).holder('watch')).toMatchObject({ liveness: 'alive' });
    await child.kill();
    // It is dead, and what it had staged was not taken.
    const { told } = await watchPolls(listing, 1, { state: fileState(folder) });
    expect(told).toEqual([['initial a', 'initial b'], []]);
    expect(existsSync(join(folder, 'watch.log'))).toBe(true);
  });
});
