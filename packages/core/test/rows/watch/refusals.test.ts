import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { map } from 'rxjs';
import { describe, expect, test } from 'vitest';
import {
  CheckpointError,
  ConfigError,
  createSource,
  DecodeError,
  exportTo,
  LockError,
  memoryState,
  SluiceError,
  watch,
  type Change,
  type Source,
  type StateStore,
  type WatchOptions,
} from '../../../src/index.js';
import type { PageHealth } from '../../../src/kit.js';
import { fileSink, fileState } from '../../../src/node/index.js';
import { hashOf } from '../../../src/rows/source/fingerprint.js';
import { forkChild } from '../../node/forkChild.js';
import { temporaryFolder } from '../../../../../test/kit/temporaryFolder.js';
import { recordingSink } from '../sink/recordingSink.js';
import { changeLines } from './changeLines.js';
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
    ['no concurrency', { concurrency: 0 }, /concurrency is 0/],
    ['an empty project', { project: [] }, /project is empty/],
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
      name: 'test.keyless',
      identity: null,
      schema: { columns: ['id'] },
      fetch: () => Promise.resolve({ rows: [], next: 'end' }),
    });
    expect(() => watch(keyless, { every: 1_000 })).toThrow(/The rows of test.keyless have no key: give watch a key/);
    expect(() => watch(keyless, { every: 1_000, key: ({ id }) => id })).not.toThrow();
  });

  test('an operator without a version, where there is state', async () => {
    const listing = new Listing(rowsOf('a'));
    const unversioned = listing.source().pipePages<Row>(
      map((each) => each),
      { schema: { columns: ['id'], key: idOf } },
    );
    const versioned = listing.source().pipePages<Row>(
      map((each) => each),
      { schema: { columns: ['id'], key: idOf }, version: '1' },
    );
    const state = memoryState();
    const make = (): unknown => watch(unversioned, { every: 1_000, state });
    expect(make).toThrow(ConfigError);
    expect(make).toThrow(/name it with pipePages\(operator, \{ version \}\)/);
    expect(() => watch(versioned, { every: 1_000, state })).not.toThrow();
    // Without state there is nothing that could be of another one, but an export would keep some.
    const watched = watch(unversioned, { every: 1_000, polls: 1, clock: new SkippingClock() });
    expect((await watched.toArray()).map(inShort)).toEqual(['initial a']);
    await expect(exportTo(watched, recordingSink(), { state }).run()).rejects.toThrow(ConfigError);
  });

  test('but not polls or failures without a bound', async () => {
    const listing = new Listing(rowsOf('a'));
    expect((await watchPolls(listing, 1, { maxFailures: Infinity })).told).toEqual([['initial a']]);
    expect(() => watch(listing.source(), { every: 1_000, polls: Infinity })).not.toThrow();
  });
});

const idOf = ({ id }: Row): string => id;

test.each([
  ['undefined', undefined],
  ['null', null],
  ['7.5', 7.5],
  ['NaN', NaN],
  ['an empty text', ''],
  ['a list', []],
  ['a list', ['secret']],
  ['an object', {}],
  ['an object', Object.create(null)],
  ['a bigint', 7n],
  ['a symbol', Symbol('a')],
  ['a function', () => 'a'],
])(
  'C9 a key that is %s ends a watch at its first poll, whoever gives it, and nothing is accepted',
  async (name, value) => {
    const state = memoryState();
    const listing = new Listing(rowsOf('a', 'b'));
    let isLacking = true;
    const given: object = { value };
    const key = (row: Row): string => (isLacking && row.id === 'b' ? Reflect.get(given, 'value') : row.id);
    const source = listing.source();
    const bySchema = { info: { ...source.info, schema: { columns: ['id'], key } }, pages: source.pages.bind(source) };
    for (const watched of [
      watch(source, { every: 1_000, clock: new SkippingClock(), polls: 2, state, key }),
      watch(bySchema, { every: 1_000, clock: new SkippingClock(), polls: 2, state }),
    ]) {
      await expect(watched.toArray()).rejects.toThrow(DecodeError);
      await expect(watched.toArray()).rejects.toThrow(`key returned ${name} for a row`);
    }
    isLacking = false;
    expect((await watchPolls(listing, 1, { state, key })).told).toEqual([['initial a', 'initial b']]);
  },
);

test.each(['lock', 'plugin', 'sink', 'config', 'checkpoint'] as const)(
  'C9 a fault with the code %s is none of the API’s: it ends a watch at once',
  async (code) => {
    const listing = new Listing(rowsOf('a'));
    listing.onFetch = ({ walk }) => {
      if (walk === 3) throw new SluiceError(code, 'broken');
    };
    await expect(watchPolls(listing, 5)).rejects.toMatchObject({ code });
    expect(listing.walks).toBe(3);
  },
);

/** A listing that was watched for two polls, with its state, to which nothing may happen from here on. */
async function watched(): Promise<{ listing: Listing; folder: string; log: string; bytes: Buffer }> {
  const folder = join(temporaryFolder(), 'state');
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

  test('but not one whose keys are whole numbers', async () => {
    const listing = new Listing(rowsOf('a', 'b'));
    const state = memoryState();
    const key = ({ id }: Row): number => id.charCodeAt(0);
    await watchPolls(listing, 1, { state, key });
    listing.set('a', 'error');
    expect((await watchPolls(listing, 1, { state, key })).changes).toMatchObject([{ type: 'changed', key: '97' }]);
  });

  test('one whose rows were told apart by another key', async () => {
    const { listing, folder, log, bytes } = await watched();
    const { walks } = listing;
    for (const key of [
      ({ id }: Row) => `row ${id}`,
      (): string => {
        throw new TypeError('no such field');
      },
    ]) {
      const refused = watchPolls(listing, 1, { state: fileState(folder), key });
      await expect(refused).rejects.toThrow(CheckpointError);
      await expect(refused).rejects.toThrow(/identifies rows by another key/);
    }
    expect(readFileSync(log).equals(bytes)).toBe(true);
    expect(listing.walks).toBe(walks);
    expect((await watchPolls(listing, 1, { state: fileState(folder), key: idOf })).told).toEqual([
      ['changed a: active -> error'],
    ]);
  });

  test('one of a place that was left behind', async () => {
    const state = memoryState();
    const listing = new Listing(rowsOf('a'));
    listing.onFetch = ({ walk }) => listing.set('a', walk % 2 === 0 ? 'active' : 'error');
    await watchPolls(listing, 3, { state });
    const late = watch(listing.source(), { every: 1_000, clock: new SkippingClock(), polls: 1, state });
    const refused = late.pages({ startAt: '1' })[Symbol.asyncIterator]().next();
    await expect(refused).rejects.toThrow(/does not match the position to resume from \(generation 1; it has 3 to 3\)/);
  });

  test('one with changes of other fields, for an export of them', async () => {
    const state = memoryState();
    const listing = new Listing(rowsOf('a'));
    const path = join(temporaryFolder(), 'changes');
    const run = (project: readonly string[]): Promise<unknown> => {
      const options = { every: 1_000, clock: new SkippingClock(), polls: 1, state, project };
      return exportTo(watch(listing.source(), options), fileSink(changeLines, { path }), { state }).run();
    };
    await run(['status', 'id']);
    await expect(run(['status'])).rejects.toThrow(/was written with different settings \(project\)/);
    await run(['id', 'status']);
  });

  test('one whose last rows are damaged, which no crash does to a snapshot', async () => {
    const { listing, folder, log, bytes } = await watched();
    const { walks } = listing;
    const lines = bytes.toString().split('\n');
    // The first snapshot alone: its rows are the last record.
    const snapshot = `${lines.slice(0, 3).join('\n')}\n`;
    expect(lines[2]).toContain('"rows":[["a"');
    const damaged = Buffer.from(snapshot).fill('x', snapshot.length - 8, snapshot.length - 7);
    for (const left of [damaged, `${lines.slice(0, 2).join('\n')}\n`]) {
      writeFileSync(log, left);
      for (let attempt = 1; attempt <= 2; attempt += 1) {
        const refused = watchPolls(listing, 1, { state: fileState(folder) });
        await expect(refused).rejects.toThrow(CheckpointError);
        await expect(refused).rejects.toThrow(/has lost rows of its snapshot/);
      }
    }
    expect(listing.walks).toBe(walks);
    // Nor is there more than was written, or rows that are lost in the middle.
    const state = memoryState();
    await watchPolls(listing, 1, { state });
    const records: object[] = [];
    for await (const record of state.log('watch').read()) records.push(Object(record));
    for (const changed of [records.toSpliced(1, 1), records.toSpliced(1, 0, records[1]!)]) {
      await state.log('watch').replace([...changed, { committed: 1 }]);
      await expect(watchPolls(listing, 1, { state })).rejects.toThrow(/has lost rows of its snapshot/);
    }
  });

  test('one that was made with another key', async () => {
    const { listing } = await watched();
    const folder = join(temporaryFolder(), 'state');
    const run = async (key: string, sameProject = false): Promise<string[]> => {
      const source = listing.source();
      const endpoint = { keyFingerprint: (salt: string) => Promise.resolve(hashOf(key + salt)) };
      const info = { ...source.info, endpoint };
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

  /** A watch whose key may be replaced while it runs, or an export of it. */
  function rotating(listing: Listing, state: StateStore, { isExported = false } = {}) {
    let key = 'old';
    const { info, pages } = listing.source();
    const source = {
      info: { ...info, endpoint: { keyFingerprint: (salt: string) => Promise.resolve(hashOf(key + salt)) } },
    };
    const sink = recordingSink<Change<Row>>();
    /** Polls with these keys, one after the other. */
    const polls = async (...keys: readonly string[]): Promise<void> => {
      let poll = 0;
      key = keys[0] ?? key;
      const onHealth = ({ outcome }: PageHealth): void => {
        if (outcome === 'replayed') return;
        poll += 1;
        key = keys[poll] ?? key;
      };
      const options = {
        every: 1_000,
        polls: keys.length,
        confirmations: 1,
        clock: new SkippingClock(),
        state,
        onHealth,
      };
      const changes = watch({ ...source, pages: pages.bind(listing.source()) }, options);
      if (isExported) await exportTo(changes, sink, { state }).run();
      else await changes.toArray();
    };
    return polls;
  }

  describe.each([false, true])('C6 the state of a watch (exported: %s)', (isExported) => {
    test('takes a key that replaces another one while it runs, with the first poll that finds its rows', async () => {
      const state = memoryState();
      const polls = rotating(new Listing(rowsOf('a', 'b')), state, { isExported });
      await polls('old', 'old', 'new');
      await polls('new');
      await expect(polls('old')).rejects.toThrow(/made with another API key/);
    });

    test('takes one also where the same poll found changes', async () => {
      const state = memoryState();
      const listing = new Listing(rowsOf('a', 'b', 'c', 'd'));
      const polls = rotating(listing, state, { isExported });
      await polls('old');
      listing.set('a', 'error');
      listing.remove('b');
      await polls('old', 'new', 'newer');
      await polls('newer', 'newest');
      await polls('newest');
    });

    test('does not take one with which most rows are gone', async () => {
      const state = memoryState();
      const listing = new Listing(rowsOf('a', 'b', 'c'));
      const polls = rotating(listing, state, { isExported });
      await polls('old');
      listing.remove('a');
      listing.remove('b');
      await polls('old', 'of another project');
      await expect(polls('of another project')).rejects.toThrow(/made with another API key/);
    });
  });

  test.each(['the first snapshot', 'a change'])(
    'a new key is only said once, also where %s was not taken',
    async (what) => {
      const state = memoryState();
      const listing = new Listing(rowsOf('a'));
      const source = (key: string, sameProject = false): Source<Change<Row>> => {
        const { info, pages } = listing.source();
        const keyFingerprint = (salt: string): Promise<string> => Promise.resolve(hashOf(key + salt));
        const options = { every: 1_000, polls: 1, clock: new SkippingClock(), state, sameProject };
        return watch({ info: { ...info, endpoint: { keyFingerprint } }, pages: pages.bind(listing.source()) }, options);
      };
      const untaken = async (watched: Source<Change<Row>>): Promise<void> => {
        for await (const { items } of watched.pages()) if (items.length > 0) break;
      };
      if (what === 'a change') {
        await source('old').toArray();
        listing.set('a', 'error');
      }
      await untaken(source('old'));
      const told = (await source('new', true).toArray()).map(inShort);
      expect(told).toEqual(what === 'a change' ? ['changed a: active -> error'] : ['initial a']);
      expect(await source('new').toArray()).toEqual([]);
      await expect(source('old').toArray()).rejects.toThrow(/made with another API key/);
    },
  );

  test.each<[string, (bytes: Buffer) => Buffer | string, RegExp]>([
    ['damaged', (bytes) => Buffer.from(bytes).fill(0, 40, 41), /is damaged at byte 15/],
    ['of a newer version', () => 'sluice-state 2\n???\n', /another version of Sluice \(format 2,/],
    [
      'without its beginning',
      (bytes) => `sluice-state 1\n${bytes.toString().split('\n').slice(2).join('\n')}`,
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
  const folder = (): string => join(temporaryFolder(), 'state');
  const shared = (state: StateStore): readonly [StateStore, StateStore] => [state, state];
  /** States that two watches may be given: the same object, or two of one folder. */
  const states: [string, () => readonly [StateStore, StateStore]][] = [
    ['in memory', () => shared(memoryState())],
    ['in a folder', () => shared(fileState(folder()))],
    [
      'in a folder, each with an object of its own',
      () => {
        const path = folder();
        return [fileState(path), fileState(path)];
      },
    ],
  ];

  test.each(states)('in one process, %s: the second one is refused at once, and the first goes on', async (_, make) => {
    const [state, other] = make();
    const listing = new Listing(rowsOf('a', 'b'));
    const first = watch(listing.source(), { every: 1_000, clock: new SkippingClock(), state }).pages();
    const pages = first[Symbol.asyncIterator]();
    expect((await pages.next()).value?.items.map(inShort)).toEqual(['initial a', 'initial b']);
    const { fetches } = listing;
    const refused = watchPolls(listing, 1, { state: other });
    await expect(refused).rejects.toThrow(LockError);
    await expect(refused).rejects.toThrow(/in use by another watch of this process/);
    expect(listing.fetches).toBe(fetches);
    listing.set('a', 'error');
    expect((await pages.next()).value?.items.map(inShort)).toEqual(['changed a: active -> error']);
    await pages.next();
    await pages.return();
    expect((await watchPolls(listing, 1, { state: other })).told).toEqual([[]]);
  });

  test.each(states)('in one process, %s: one that is closing is waited for', async (_, make) => {
    const [state, other] = make();
    const listing = new Listing(rowsOf('a', 'b'));
    const pages = watch(listing.source(), { every: 1_000, clock: new SkippingClock(), state })
      .pages()
      [Symbol.asyncIterator]();
    await pages.next();
    const closing = pages.return();
    // What was not taken comes again.
    expect((await watchPolls(listing, 1, { state: other })).told).toEqual([['initial a', 'initial b'], []]);
    await closing;
  });

  test.each(states)(
    'in one process, %s, begun at once: one of them is refused, and the other one is not',
    async (_, make) => {
      const listing = new Listing(rowsOf('a', 'b'));
      // The one that has the lock keeps it until the other one was told.
      let refused = (): void => undefined;
      const refusal = new Promise<void>((resolve) => (refused = resolve));
      listing.onFetch = () => refusal;
      const runs = await Promise.allSettled(
        make().map((state) =>
          watchPolls(listing, 1, { state }).catch((error: unknown) => {
            refused();
            throw error;
          }),
        ),
      );
      expect(runs.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
      for (const run of runs) {
        if (run.status === 'fulfilled') expect(run.value.told).toEqual([['initial a', 'initial b']]);
        else expect(run.reason).toBeInstanceOf(LockError);
      }
    },
  );

  test('in two processes: the second one is refused, and told whose it is', async () => {
    const folder = join(temporaryFolder(), 'state');
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
