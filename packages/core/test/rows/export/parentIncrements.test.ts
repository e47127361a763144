// @module-tag slow
import { describe, expect, test } from 'vitest';
import { someOf } from '../../../../../scripts/testEffort.js';
import { Random } from '../../../../../test/kit/random.js';
import {
  createClient,
  exportTo,
  memoryState,
  type Json,
  type ExportOptions,
  type ExportReport,
  type StateStore,
} from '../../../src/index.js';
import { bySince, defineApi, listing, onePage, rowOf } from '../../../src/define/index.js';
import { decodeCheckpoint, type StateLog } from '../../../src/kit.js';
import { fileSink, fileState } from '../../../src/node/index.js';
import { byLine, ChangingForge, keptOf, type TableEntry } from '../../define/changingForge.js';
import { emptyDisk } from '../../define/exportedForge.js';
import { serve } from '../../define/servedApi.js';
import type { SimulatedDisk } from '../../node/simulatedDisk.js';
import { disksBeforeCalls } from '../../node/simulatedDisk/disksBeforeCalls.js';
import { newStates } from '../../node/simulatedDisk/newStates.js';
import { newProcess } from '../../node/simulatedExport.js';
import { killBeforeEachStep } from './killedAtEnd.js';
import { killedAtPage } from './killedAtPage.js';
import { recordingSink, type Recording } from '../sink/recordingSink.js';

async function openForge(seed: number, names = ['a', 'b', 'c']): Promise<ChangingForge> {
  const forge = new ChangingForge(seed);
  for (const name of names) forge.add(name);
  await forge.listen();
  forge.advance(130_000);
  return forge;
}

interface IncrementOptions extends ExportOptions {
  readonly sink?: Recording<TableEntry>;
  readonly isSkipping?: boolean;
}

/** One increment into a target of its own; returns its rows. */
async function increment(
  forge: ChangingForge,
  state: StateStore,
  { sink = recordingSink<TableEntry>(), isSkipping = false, ...options }: IncrementOptions = {},
): Promise<TableEntry[]> {
  const source = forge.source({ isSkipping });
  await exportTo(source, sink, { incremental: true, commitEvery: 1, ...options, state }).run();
  return sink.rows;
}

const expected = (forge: ChangingForge): TableEntry[] => forge.rows.sort(byLine);
const ofTable = (name: string) => (row: TableEntry) => row.table === name;

const killed = (
  forge: ChangingForge,
  state: StateStore,
  sink: Recording<TableEntry>,
  pages: number,
  options: IncrementOptions = {},
): Promise<boolean> => killedAtPage(sink, pages, () => increment(forge, state, { ...options, sink }));

describe('A5 an incremental export of a listing for each row of another one', () => {
  test('has all rows at first, then what is new, and of unchanged listings nothing, for one request each', async () => {
    const forge = await openForge(1);
    forge.settle();
    const state = memoryState();
    const first = await increment(forge, state);
    expect(keptOf(first)).toEqual(expected(forge));
    const before = forge.asked.length;
    expect(await increment(forge, state)).toEqual([]);
    const pages = forge.pagesAfter(before);
    expect(pages).toHaveLength(3);
    // Each begins at its own mark.
    expect(new Set(pages.map((each) => /since=([^&]+)/.exec(each)?.[1])).size).toBe(3);
    forge.change(5);
    forge.advance(130_000);
    const second = await increment(forge, state);
    expect(second.length).toBeLessThanOrEqual(5);
    expect(keptOf(first, second)).toEqual(expected(forge));
  });

  test.each([1, 3])(
    'walks a new parent completely, and others from their marks (concurrency %i)',
    async (concurrency) => {
      const forge = await openForge(2, ['a', 'b']);
      const state = memoryState();
      const first = await increment(forge, state, { concurrency });
      // Its rows are older than all marks.
      forge.add('old', 0);
      const old = forge.tables.get('old')!;
      const { now } = forge;
      old.now = Date.parse('2025-06-01T00:00:00Z');
      for (let nth = 0; nth < 30; nth += 1) old.change();
      old.now = now;
      const second = await increment(forge, state, { concurrency });
      expect(second.every(ofTable('old'))).toBe(true);
      expect(keptOf(first, second)).toEqual(expected(forge));
    },
  );

  test('walks a parent completely that had gone and is there again', async () => {
    const forge = await openForge(3);
    const state = memoryState();
    await increment(forge, state);
    const b = forge.tables.get('b')!;
    forge.tables.delete('b');
    expect(await increment(forge, state)).toEqual([]);
    forge.tables.set('b', b);
    forge.advance(130_000);
    const third = await increment(forge, state);
    expect(keptOf(third)).toEqual(expected(forge).filter(ofTable('b')));
    expect(await increment(forge, state)).toEqual([]);
  });

  test('moves no mark of a parent that is skipped, and those of all others', async () => {
    const forge = await openForge(4);
    const state = memoryState();
    const isSkipping = true;
    const first = await increment(forge, state, { isSkipping });
    forge.change(30);
    forge.advance(130_000);
    let pages = 0;
    // Its later pages are refused, and then its first one, too.
    forge.say = ({ pathname }) => {
      if (!pathname.endsWith('/b')) return undefined;
      pages += 1;
      return pages > 1 ? { status: 404, body: {} } : undefined;
    };
    const second = await increment(forge, state, { isSkipping });
    forge.say = ({ pathname }) => (pathname.endsWith('/c') ? { status: 404, body: {} } : undefined);
    const third = await increment(forge, state, { isSkipping });
    forge.say = () => undefined;
    expect(third.length).toBeGreaterThan(0);
    expect(third.every(ofTable('b'))).toBe(true);
    const before = forge.asked.length;
    expect(await increment(forge, state, { isSkipping })).toEqual([]);
    // The mark of c was kept: it is not walked from the start.
    expect(forge.pagesAfter(before).every((each) => each.includes('since='))).toBe(true);
    expect(keptOf(first, second, third)).toEqual(expected(forge));
  });

  test('R6 moves the marks of the parents that an incomplete page of parents has, and keeps those of others', async () => {
    const parents = new Set(['a', 'b', 'c']);
    const rows = [{ id: 1, at: '2026-01-01T00:00:00Z' }];
    let status = 200;
    const { baseUrl } = await serve(({ pathname, searchParams }) =>
      pathname.endsWith('/parents')
        ? { status, body: [...parents].map((id) => ({ id })) }
        : { body: rows.filter(({ at }) => at >= (searchParams.get('since') ?? '')) },
    );
    const columns = ['id'];
    const client = createClient({ apiKey: false, rateLimit: false }).use(
      defineApi({
        name: 'test',
        baseUrl,
        sources: {
          parents: listing({
            ...{ path: '/parents', paging: onePage(), rows: '', columns, key: 'id' },
            responses: { 206: 'partial' },
          }),
          rows: listing({
            each: rowOf({ source: 'parents', params: { parent: '{id}' } }),
            ...{ path: '/{parent}', fields: { parent: '{parent}' }, rows: '', columns, version: '1' },
            pageSize: { param: 'limit', default: 10, max: 10 },
            paging: bySince({ param: 'since', field: 'at', type: 'instant' }),
          }),
        },
      })(),
    );
    const state = memoryState();
    const exported = async (): Promise<unknown[]> => {
      const sink = recordingSink<object>();
      await exportTo(client.test.rows({}), sink, { state, incremental: true, concurrency: 1 }).run();
      return sink.rows;
    };
    const row = (parent: string, nth: number): object => ({ ...rows[nth], parent });
    expect(await exported()).toEqual([row('a', 0), row('b', 0), row('c', 0)]);
    rows.push({ id: 2, at: '2026-01-02T00:00:00Z' });
    status = 206;
    parents.delete('c');
    expect(await exported()).toEqual([row('a', 1), row('b', 1)]);
    status = 200;
    parents.add('c');
    expect(await exported()).toEqual([row('c', 1)]);
    await client.close();
  });

  test('from a value holds for all parents, and moves no mark that it is beyond', async () => {
    const forge = await openForge(5, ['a', 'b']);
    const state = memoryState();
    const first = await increment(forge, state);
    forge.tables.get('a')!.change();
    forge.advance(500_000);
    forge.add('late', 0);
    const from = new Date(forge.now).toISOString();
    for (const table of forge.tables.values()) table.change();
    forge.advance(130_000);
    const given = await increment(forge, state, { incremental: { from } });
    expect(given.map(({ table }) => table)).toEqual(['a', 'b', 'late']);
    const after = await increment(forge, state);
    // What was left out comes, and what came comes again; the new one begins where it was told.
    expect(after.filter(ofTable('a'))).toHaveLength(2);
    expect(after.filter(ofTable('b'))).toHaveLength(1);
    expect(after.filter(ofTable('late'))).toEqual([]);
    expect(keptOf(first, given, after)).toEqual(expected(forge));
    const again = await increment(forge, state, { incremental: { from: '2025-01-01T00:00:00Z' } });
    expect(keptOf(again)).toEqual(expected(forge));
    expect(await increment(forge, state)).toEqual([]);
    expect(keptOf(await increment(forge, state, { incremental: { full: true } }))).toEqual(expected(forge));
    expect(await increment(forge, state)).toEqual([]);
  });

  test.each(someOf([4, 1, 2]))(
    'resumes after each page, and keeps what the tables have (concurrency %i)',
    async (concurrency) => {
      for (let page = 1, isKilled = true; isKilled; page += 1) {
        const forge = await openForge(6);
        const state = memoryState();
        const sink = recordingSink<TableEntry>();
        isKilled = await killed(forge, state, sink, page, { concurrency });
        forge.change(10);
        if (isKilled) await increment(forge, state, { sink, concurrency });
        const before = forge.asked.length;
        forge.advance(130_000);
        const second = await increment(forge, state, { concurrency });
        expect(keptOf(sink.rows, second)).toEqual(expected(forge));
        // Whatever was known before the kill is known now.
        expect(second.length).toBeLessThanOrEqual(10);
        expect(forge.pagesAfter(before).every((each) => each.includes('since='))).toBe(true);
      }
    },
  );

  test.each(someOf([1, 2, 3, 4]))(
    'keeps what the tables have, through changes, kills and skips (seed %i)',
    async (seed) => {
      const forge = await openForge(seed, ['a', 'b', 'c', 'd', 'e']);
      const random = new Random(`parents ${String(seed)}`);
      const state = memoryState();
      const all: TableEntry[] = [];
      let changes = true;
      let gone = '';
      forge.say = ({ pathname }) => {
        if (changes && random.chance(0.3)) forge.change(random.int(0, 6));
        return gone !== '' && pathname.endsWith(`/${gone}`) ? { status: 404, body: {} } : undefined;
      };
      for (let round = 0; round < 10; round += 1) {
        changes = true;
        if (round % 4 === 2) forge.add(`new${String(round)}`, 20);
        gone = (random.chance(0.5) && [...forge.tables.keys()][random.int(0, forge.tables.size - 1)]) || '';
        const options = { isSkipping: true, concurrency: random.int(1, 4) };
        const sink = recordingSink<TableEntry>();
        let isKilled = true;
        for (let left = random.int(0, 3); left > 0 && isKilled; left -= 1)
          isKilled = await killed(forge, state, sink, random.int(1, 9), options);
        if (isKilled) await increment(forge, state, { ...options, sink });
        all.push(...sink.rows);
        [changes, gone] = [false, ''];
        forge.settle();
        all.push(...(await increment(forge, state, options)));
        expect(keptOf(all)).toEqual(expected(forge));
        const before = forge.asked.length;
        expect(await increment(forge, state, options)).toEqual([]);
        expect(forge.pagesAfter(before)).toHaveLength(forge.tables.size);
      }
    },
  );

  test('resumes after each step of its end, and moves the marks only once the target is in place', async () => {
    await killBeforeEachStep<TableEntry>(async () => {
      const forge = await openForge(7);
      return {
        increment: (state, sink) => increment(forge, state, { sink }),
        judge: (rows) => expect(keptOf(rows)).toEqual(expected(forge)),
      };
    });
  });

  test('into another target begins at the marks again if the last one did not finish', async () => {
    const forge = await openForge(8);
    const state = memoryState();
    const named = (target: string): Recording<TableEntry> => Object.assign(recordingSink<TableEntry>(), { target });
    const first = await increment(forge, state);
    forge.change(40);
    forge.advance(130_000);
    // All but the last parent have ended.
    expect(await killed(forge, state, named('monday'), 7)).toBe(true);
    const tuesday = await increment(forge, state, { sink: named('tuesday') });
    expect(keptOf(first, tuesday)).toEqual(expected(forge));
    expect(await increment(forge, state)).toEqual([]);
  });

  test('takes back a parent whose cursor is refused, and walks it again with its rows', async () => {
    const forge = await openForge(9);
    const state = memoryState();
    const removing = Object.assign(recordingSink<TableEntry>(), {
      withoutPartition: (): number => {
        removing.rows.splice(0, removing.rows.length, ...removing.rows.filter((row) => !ofTable('b')(row)));
        return removing.rows.length;
      },
    });
    let pages = 0;
    forge.say = ({ pathname }) => {
      if (pathname.endsWith('/b')) pages += 1;
      return pathname.endsWith('/b') && pages === 3 ? { status: 410, body: {} } : undefined;
    };
    const first = [...(await increment(forge, state, { sink: removing, onExpired: 'restart-partition' }))];
    expect(pages).toBeGreaterThan(3);
    expect(keptOf(first)).toEqual(expected(forge));
    expect(first).toHaveLength(expected(forge).length);
    expect(await increment(forge, state)).toEqual([]);
  });

  /** Tables whose last changes are new, and a row before them that nobody can see yet. */
  async function withLateRow(): Promise<ChangingForge> {
    const forge = new ChangingForge(15);
    await forge.listen();
    for (const name of ['a', 'b', 'c']) {
      const first = forge.now;
      const table = forge.add(name, 30);
      table.addLate(1_000, first + 1);
    }
    return forge;
  }

  test('does not lose sight of a parent that a run has not continued yet', async () => {
    const forge = await withLateRow();
    const state = memoryState();
    const sink = recordingSink<TableEntry>();
    expect(await killed(forge, state, sink, 6, { concurrency: 3 })).toBe(true);
    const begun = await unfinishedIn(state);
    expect(begun).toHaveLength(3);
    forge.advance(600_000);
    expect(await killed(forge, state, sink, 2, { concurrency: 1, prefetch: 0 })).toBe(true);
    expect(await unfinishedIn(state)).toEqual(begun);
    await increment(forge, state, { sink });
    forge.advance(130_000);
    const second = await increment(forge, state);
    expect(keptOf(sink.rows, second)).toEqual(expected(forge));
  });

  test('has no mark for rows that were not committed', async () => {
    const forge = await openForge(16, ['a']);
    const inner = memoryState();
    const marks: unknown[] = [];
    const kill = new Error('killed');
    const state: StateStore = {
      ...inner,
      save: (name, record) =>
        name === 'checkpoint' && marks.length > 0 ? Promise.reject(kill) : inner.save(name, record),
      log: (name) => {
        const log = inner.log(name);
        const append = async (record: object): Promise<void> => {
          await log.append(record);
          if (name.startsWith('mark-')) marks.push(record);
        };
        return logLike(log, { append });
      },
    };
    const sink = recordingSink<TableEntry>();
    const isSkipping = true;
    await expect(increment(forge, state, { sink, isSkipping, commitEvery: 100 })).rejects.toMatchObject({
      cause: kill,
    });
    expect(marks).toHaveLength(1);
    forge.say = ({ pathname }) => (pathname.endsWith('/a') ? { status: 404, body: {} } : undefined);
    await increment(forge, inner, { sink, isSkipping });
    forge.say = () => undefined;
    expect(keptOf(sink.rows, await increment(forge, inner, { isSkipping }))).toEqual(expected(forge));
  });

  test('goes back with its target when a parent is taken back', async () => {
    const forge = await withLateRow();
    const state = memoryState();
    const sink = recordingSink<TableEntry>();
    // Its rows are behind those of the last commit, which the new writer cuts.
    const removing = Object.assign(sink, { withoutPartition: (sinkPosition: Json): Json => sinkPosition });
    let pages = 0;
    let isRefused = false;
    sink.isCommittable = () => pages < 2 || pages > 20;
    sink.beforeWrite = () => void (pages += 1);
    forge.say = ({ pathname, searchParams }) => {
      if (isRefused || !pathname.endsWith('/b') || searchParams.get('since') === null) return undefined;
      isRefused = true;
      forge.advance(600_000);
      return { status: 410, body: {} };
    };
    const options = { sink: removing, onExpired: 'restart-partition', prefetch: 0 } as const;
    const first = [...(await increment(forge, state, options))];
    forge.advance(130_000);
    const second = await increment(forge, state);
    expect(keptOf(first, second)).toEqual(expected(forge));
    expect(second.some(({ table, text }) => table === 'a' && text === 'late')).toBe(true);
  });

  test('of another project is refused', async () => {
    const forge = await openForge(10);
    const state = memoryState();
    await increment(forge, state);
    const other = forge.source({ apiKey: 'key-of-another-project' });
    const run = (sameProject: boolean): Promise<unknown> =>
      exportTo(other, recordingSink(), { state, incremental: true, sameProject }).run();
    await expect(run(false)).rejects.toThrow('The mark of the last increment was made with another API key');
    await run(true);
  });

  test.each(['the mark', 'its log', 'a value in its log'])(
    'replaces %s that cannot be read, but only if it exports all rows',
    async (what) => {
      const forge = await openForge(11);
      const state = memoryState();
      await increment(forge, state);
      const name = await markName(forge);
      const log = state.log(name);
      if (what === 'the mark') await state.save(name, { v: 9 });
      else if (what === 'its log') await log.replace([{ run: 'x', parents: 1 }]);
      else await log.replace((await recordsIn(log)).map(withoutTimes));
      await expect(increment(forge, state)).rejects.toThrow(/can't be read\. Export all rows again, with incremental/);
      expect(keptOf(await increment(forge, state, { incremental: { full: true } }))).toEqual(expected(forge));
      expect(await increment(forge, state)).toEqual([]);
    },
  );

  const losses: [string, (records: readonly object[]) => readonly object[]][] = [
    ['its last record', (records) => records.slice(0, -1)],
    ['all but its first record', (records) => records.slice(0, 1)],
    ['all records', () => []],
  ];

  test.each(losses)('is refused if the log of the marks has lost %s, instead of having rows twice', async (_, lose) => {
    const forge = await openForge(15);
    const state = memoryState();
    await increment(forge, state);
    const log = state.log(await markName(forge));
    await log.replace(lose(await recordsIn(log)));
    await expect(increment(forge, state)).rejects.toThrow('lacks records that the last export wrote');
    expect(keptOf(await increment(forge, state, { incremental: { full: true } }))).toEqual(expected(forge));
    expect(await increment(forge, state)).toEqual([]);
  });

  test.each(losses.filter(([, lose]) => lose([{}]).length === 0))(
    'is not resumed if the log of the marks has lost %s of the run',
    async (_, lose) => {
      const forge = await openForge(16);
      const state = memoryState();
      const sink = recordingSink<TableEntry>();
      expect(await killed(forge, state, sink, 12)).toBe(true);
      const log = state.log(await markName(forge));
      await log.replace(lose(await recordsIn(log)));
      await expect(increment(forge, state, { sink })).rejects.toThrow('lacks records that the last export wrote');
      expect(keptOf(await increment(forge, state, { restart: true }))).toEqual(expected(forge));
      expect(await increment(forge, state)).toEqual([]);
    },
  );

  test('keeps its marks however often it is run', async () => {
    const forge = await openForge(17);
    const state = memoryState();
    const all: TableEntry[][] = [];
    for (let nth = 0; nth < 5; nth += 1) {
      all.push(await increment(forge, state));
      forge.change(5);
      forge.advance(130_000);
    }
    all.push(await increment(forge, state));
    expect(keptOf(...all)).toEqual(expected(forge));
    expect(await increment(forge, state)).toEqual([]);
  });

  test('of all rows that is stopped keeps the marks that there were, and resumes with all rows', async () => {
    const forge = await openForge(12);
    const state = memoryState();
    await increment(forge, state);
    const sink = recordingSink<TableEntry>();
    expect(await killed(forge, state, sink, 7, { incremental: { full: true } })).toBe(true);
    await increment(forge, state, { sink });
    expect(keptOf(sink.rows)).toEqual(expected(forge));
    expect(await killed(forge, state, recordingSink(), 7, { incremental: { full: true } })).toBe(true);
    expect(await increment(forge, state, { restart: true })).toEqual([]);
  });

  test('that is killed at any call of the disk resumes, and loses no row', async () => {
    const forge = await openForge(13, ['a', 'b']);
    forge.settle();
    const first = emptyDisk();
    await exportOn(first, forge, 'first');
    forge.change(10);
    forge.advance(130_000);
    const disks = await disksBeforeCalls(first.restart('all'), (disk) => exportOn(disk, forge, 'second'));
    const isNew = newStates();
    for (const [nth, disk] of someOf(disks).entries()) {
      for (const mode of ['killed', 'dropped', { seed: nth }] as const) {
        const left = disk.restart(mode);
        if (!isNew(left)) continue;
        if (left.text('/data/second') === undefined) await exportOn(left, forge, 'second');
        await exportOn(left, forge, 'third');
        const rows = ['first', 'second', 'third'].map((name) => entriesIn(left, name));
        expect(keptOf(...rows), `disk ${String(nth)}, ${JSON.stringify(mode)}`).toEqual(expected(forge));
      }
    }
  });

  test('has commits whose cost does not grow with the parents that are done', async () => {
    const names = Array.from({ length: 60 }, (_, nth) => `t${String(nth)}`);
    const forge = new ChangingForge(14);
    for (const name of names) forge.add(name, 3);
    await forge.listen();
    forge.advance(130_000);
    const sizes: { readonly checkpoint: number[]; readonly appended: number[] } = { checkpoint: [], appended: [] };
    let replaced = 0;
    const inner = memoryState();
    const state: StateStore = {
      ...inner,
      save(name, record) {
        if (name === 'checkpoint') sizes.checkpoint.push(JSON.stringify(record).length);
        return inner.save(name, record);
      },
      log(name) {
        const log = inner.log(name);
        if (!name.startsWith('mark-')) return log;
        return logLike(log, {
          append(record) {
            sizes.appended.push(JSON.stringify(record).length);
            return log.append(record);
          },
          replace(records) {
            replaced += 1;
            return log.replace(records);
          },
        });
      },
    };
    await increment(forge, state, { concurrency: 2 });
    await increment(forge, state, { concurrency: 2 });
    await increment(forge, state, { concurrency: 2 });
    expect(replaced).toBe(1);
    expect(sizes.appended).toHaveLength(3 * names.length);
    expect(Math.max(...sizes.appended)).toBeLessThan(1_000);
    expect(Math.max(...sizes.checkpoint)).toBeLessThan(5_000);
  });
});

/** The same log with other methods. */
function logLike(log: StateLog, others: Partial<Pick<StateLog, 'append' | 'replace'>>): StateLog {
  return {
    get bytes() {
      return log.bytes;
    },
    read: () => log.read(),
    append: (record) => log.append(record),
    replace: (records) => log.replace(records),
    remove: () => log.remove(),
    close: () => log.close(),
    ...others,
  };
}

function exportOn(disk: SimulatedDisk, forge: ChangingForge, name: string): Promise<ExportReport> {
  const state = fileState('/data/state', { fileSystem: disk, claims: newProcess() });
  const lines = {
    name: 'lines',
    identity: null,
    encoder: () => ({
      header: '',
      encode: (rows: readonly TableEntry[]) => rows.map((row) => `${JSON.stringify(row)}\n`).join(''),
    }),
  };
  const sink = fileSink(lines, { path: `/data/${name}`, fileSystem: disk });
  return exportTo(forge.source(), sink, { commitEvery: 1, incremental: true, state }).run();
}

function entriesIn(disk: SimulatedDisk, name: string): TableEntry[] {
  const lines = disk.text(`/data/${name}`)?.split('\n').slice(0, -1) ?? [];
  return lines.map((line) => JSON.parse(line) as TableEntry);
}

/** What a checkpoint has of each unfinished parent, of when its walk began. */
async function unfinishedIn(state: StateStore): Promise<[string, unknown][]> {
  const checkpoint = decodeCheckpoint(await state.load('checkpoint'));
  return Object.entries(checkpoint.increment?.parents ?? {}).map(([partition, { began }]) => [partition, began]);
}

/** The name of a forge's mark. */
async function markName(forge: ChangingForge): Promise<string> {
  const names: string[] = [];
  const state = memoryState();
  const watching: StateStore = {
    ...state,
    save(name, record) {
      names.push(name);
      return state.save(name, record);
    },
  };
  await increment(forge, watching);
  return names.find((name) => name.startsWith('mark-')) ?? '';
}

/** A record whose marks have no time. */
function withoutTimes(record: object): object {
  return JSON.parse(JSON.stringify(record).replaceAll(/"value":"[^"]+"/g, '"value":"soon"')) as object;
}

async function recordsIn(log: StateLog): Promise<object[]> {
  const records: object[] = [];
  for await (const record of log.read()) records.push(Object(record) as object);
  return records;
}
