import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { filter, map } from 'rxjs';
import { describe, expect, test } from 'vitest';
import {
  createClient,
  createSource,
  exportTo,
  memoryState,
  systemClock,
  type ExportOptions,
  type Source,
  type StateStore,
} from '../../../src/index.js';
import { bySince, defineApi, listing } from '../../../src/define/index.js';
import { ChangingTable, entriesOf, overlap, type Entry } from '../../define/changingTable.js';
import { serve } from '../../define/servedApi.js';
import { fileSink } from '../../../src/node/index.js';
import { Random } from '../../../../../test/kit/random.js';
import { temporaryFolder } from '../../../../../test/kit/temporaryFolder.js';
import { someOf } from '../../../../../scripts/testEffort.js';
import { onTestEnd } from '../../../../../scripts/testScope.js';
import { nameMark } from '../../../src/rows/export/increments/increments.js';
import { textFormat } from '../../node/textRows.js';
import { killBeforeEachStep } from './killedAtEnd.js';
import { killedAtPage } from './killedAtPage.js';
import { type Recording, recordingSink } from '../sink/recordingSink.js';

async function openTable(seed: number, changes = 200): Promise<ChangingTable> {
  const random = new Random(seed);
  const table = new ChangingTable(() => random.next());
  for (let nth = 0; nth < changes; nth += 1) table.change();
  await table.listen();
  return table;
}

/** One increment into a target of its own; returns its rows. */
async function increment(
  table: ChangingTable,
  state: StateStore,
  sink = recordingSink<Entry>(),
  incremental: ExportOptions['incremental'] = true,
): Promise<Entry[]> {
  await exportTo(entriesOf(table), sink, { state, incremental, commitEvery: 1 }).run();
  return sink.rows;
}

const killed = (table: ChangingTable, state: StateStore, sink: Recording<Entry>, pages: number): Promise<boolean> =>
  killedAtPage(sink, pages, () => increment(table, state, sink));

/** A table whose second increment was killed. */
async function openInterrupted(): Promise<{ readonly table: ChangingTable; readonly state: StateStore }> {
  const table = await openTable(11);
  table.now += 100_000;
  const state = memoryState();
  await increment(table, state);
  for (let nth = 0; nth < 60; nth += 1) table.change();
  expect(await killed(table, state, recordingSink(), 2)).toBe(true);
  return { table, state };
}

const never = new Promise<never>(() => undefined);

/** What somebody keeps who merges by key. */
function kept(...increments: readonly (readonly Entry[])[]): Entry[] {
  const rows = new Map<number, Entry>();
  for (const row of increments.flat()) rows.set(row.id, row);
  return [...rows.values()].sort((a, b) => a.id - b.id);
}

describe('A5 an incremental export', () => {
  test('has a mark for each source, whatever its page size', () => {
    const markOf = (identity: string, rowsIdentity?: string): string =>
      nameMark({ name: 'rows', identity, rowsIdentity, partitions: 1 });
    expect(markOf('of a')).not.toBe(markOf('of b'));
    expect(markOf('in pages of 1', 'rows')).toBe(markOf('in pages of 2', 'rows'));
  });

  test('has all rows at first, then what is new, and of an unchanged table nothing, for one request', async () => {
    const table = await openTable(1);
    table.settle();
    const state = memoryState();
    const first = await increment(table, state);
    expect(kept(first)).toEqual(table.rows);
    const before = table.asked.length;
    expect(await increment(table, state)).toEqual([]);
    expect(table.asked.length).toBe(before + 1);
    for (let nth = 0; nth < 5; nth += 1) table.change();
    table.now += 100_000;
    const second = await increment(table, state);
    expect(second.length).toBeLessThanOrEqual(5);
    expect(kept(first, second)).toEqual(table.rows);
  });

  test.each(someOf([1, 2, 3, 4]))(
    'keeps what the table has, through changes, late rows and kills (seed %i)',
    { tags: ['slow'] },
    async (seed) => {
      const table = await openTable(seed);
      const random = new Random(`kills ${String(seed)}`);
      const state = memoryState();
      const all: Entry[] = [];
      let changes = true;
      table.beforeResponse = () => {
        for (let nth = random.int(0, 6); changes && nth > 0; nth -= 1) table.change();
      };
      for (let round = 0; round < 20; round += 1) {
        changes = true;
        const target = recordingSink<Entry>();
        let isKilled = true;
        for (let left = random.int(0, 3); left > 0 && isKilled; left -= 1)
          isKilled = await killed(table, state, target, random.int(1, 6));
        if (isKilled) await increment(table, state, target);
        all.push(...target.rows);
        changes = false;
        // Until what is late is seen, and what is new is old enough to be passed by.
        table.settle();
        all.push(...(await increment(table, state)));
        expect(kept(all)).toEqual(table.rows);
        const before = table.asked.length;
        expect(await increment(table, state)).toEqual([]);
        expect(table.asked.length).toBe(before + 1);
      }
    },
  );

  test.each<[string, number | undefined]>([
    ['runs five minutes ahead of the rows', 300_000],
    ['runs five minutes behind', -300_000],
    ['is that of a cached response', -86_400_000],
    ['is missing', undefined],
  ])('finds what is late within the overlap, if the Date of the responses %s', { tags: ['slow'] }, async (_, ahead) => {
    const table = await openTable(5, 0);
    table.dated = (now) => (ahead === undefined ? undefined : now + ahead);
    const state = memoryState();
    for (let nth = 0; nth < 40; nth += 1) table.change();
    const increments = [await increment(table, state)];
    for (let nth = 0; nth < 8; nth += 1) {
      table.now += 10_000;
      increments.push(await increment(table, state));
    }
    expect(kept(...increments)).toEqual(table.rows);
    expect(increments.flat()).toHaveLength(table.rows.length);
  });

  test('finds what is late although a row has a time in the future', async () => {
    const table = await openTable(5, 10);
    const state = memoryState();
    table.addLate(1_000, table.now + 86_400_000);
    const late = table.now - 10_000;
    const first = await increment(table, state);
    table.addLate(1_001, late);
    table.now = late + overlap;
    expect(kept(first, await increment(table, state)).map(({ id }) => id)).toContain(1_001);
  });

  test('finds what is late within the overlap, and does not repeat what is known', { tags: ['slow'] }, async () => {
    const table = await openTable(5, 0);
    const state = memoryState();
    for (let nth = 0; nth < 40; nth += 1) table.change();
    const increments = [await increment(table, state)];
    for (let nth = 0; nth < 8; nth += 1) {
      table.now += 10_000;
      increments.push(await increment(table, state));
    }
    expect(kept(...increments)).toEqual(table.rows);
    // Only those that had been invisible come later, each once.
    expect(increments.flat()).toHaveLength(table.rows.length);
  });

  test('R7 passes any number of pages that have known rows only', { tags: ['slow'] }, async () => {
    const second = (nth: number): string => new Date(Date.UTC(2026, 0, 1, 0, 0, nth)).toISOString();
    const table = Array.from({ length: 250 }, (_, id) => ({ id, at: second(id) }));
    const { baseUrl } = await serve(({ searchParams }) => {
      const since = searchParams.get('since') ?? '';
      return { body: table.filter(({ at }) => at >= since).slice(0, Number(searchParams.get('limit'))) };
    });
    const client = createClient({ apiKey: false, rateLimit: false }).use(
      defineApi({
        name: 'test',
        baseUrl,
        sources: {
          rows: listing({
            path: '/rows',
            pageSize: { param: 'limit', default: 3, max: 3 },
            paging: bySince({ param: 'since', field: 'at', type: 'instant', overlap: 86_400_000 }),
            rows: '',
            columns: ['id'],
          }),
        },
      })(),
    );
    const state = memoryState();
    const exported = async (): Promise<unknown[]> => {
      const sink = recordingSink<object>();
      await exportTo(client.test.rows({}), sink, { state, incremental: true }).run();
      return sink.rows;
    };
    expect(await exported()).toEqual(table);
    table.push({ id: 250, at: second(250) });
    expect(await exported()).toEqual([table.at(-1)]);
    await client.close();
  });

  test(
    'resumes after each step of its end, and moves the mark only once the target is in place',
    { tags: ['slow'] },
    async () => {
      await killBeforeEachStep<Entry>(async () => {
        const table = await openTable(6);
        table.now += 100_000;
        return {
          increment: (state, sink) => increment(table, state, sink),
          judge: (rows) => expect(kept(rows)).toEqual(table.rows),
        };
      });
    },
  );

  test('from a value beyond the mark leaves the mark where it was; from an earlier one it has the rows again', async () => {
    const table = await openTable(7);
    table.now += 100_000;
    const state = memoryState();
    const first = await increment(table, state);
    table.change();
    table.now += 500_000;
    const from = new Date(table.now).toISOString();
    table.change();
    table.now += 100_000;
    expect(await increment(table, state, undefined, { from })).toHaveLength(1);
    const second = await increment(table, state);
    expect(second).toHaveLength(2);
    const again = await increment(table, state, undefined, { from: '2026-01-01T00:00:00Z' });
    expect(kept(again)).toEqual(table.rows);
    expect(await increment(table, state)).toEqual([]);
    expect(kept(await increment(table, state, undefined, { full: true }))).toEqual(table.rows);
    expect(kept(first, second)).toEqual(table.rows);
  });

  test.each<[string, string | undefined, { readonly from?: string }, number]>([
    ['a file with rows', 'rows\n1\n', {}, 1],
    ['a file without rows', 'rows\n', {}, 0],
    ['no file', undefined, {}, 0],
    ['a file with rows, from a time on', 'rows\n1\n', { from: '2026-01-01T00:00:00Z' }, 0],
  ])(
    'D3 that appends to %s without a mark warns of rows that may be there twice',
    { tags: ['slow'] },
    async (_, text, first, warnings) => {
      const table = await openTable(12);
      const path = join(temporaryFolder(), 'rows.txt');
      if (text !== undefined) writeFileSync(path, text);
      const source = entriesOf(table).pipePages(
        map(({ id }) => String(id)),
        { schema: { columns: [] }, version: '1' },
      );
      const state = memoryState();
      const warned: string[] = [];
      for (const incremental of [first, {}])
        await exportTo(source, fileSink(textFormat, { path, ifExists: 'append' }), {
          state,
          incremental,
          onWarning: (message) => warned.push(message),
        }).run();
      expect(warned).toHaveLength(warnings);
      for (const warning of warned) expect(warning).toContain(`${path} has rows, and no export with this definition`);
    },
  );

  test('is refused where rows would be missed', async () => {
    const table = await openTable(8);
    const source = entriesOf(table);
    const state = memoryState();
    expect(() => exportTo(source, recordingSink(), { incremental: true })).toThrow('incremental needs state');
    const run = (options: ExportOptions, of = source): Promise<unknown> =>
      exportTo(of, recordingSink(), { state, ...options }).run();
    await expect(run({ incremental: { from: 'yesterday' } })).rejects.toThrow(
      'it must be a date with a time and a zone',
    );
    await expect(run({ incremental: { from: '2026-01-01T00:00:00Z', full: true } })).rejects.toThrow(
      'exclude each other',
    );
    await expect(run({ incremental: true }, entriesOf(table, { maxRows: 5 }))).rejects.toThrow('takes no maxRows');
    const numbers = createSource({ name: 'numbers', identity: 1, schema: { columns: [] }, fetch: () => never });
    await expect(exportTo(numbers, recordingSink(), { state, incremental: true }).run()).rejects.toThrow(
      "numbers can't be exported incrementally: its paging is not bySince.",
    );
    expect(await killed(table, state, recordingSink(), 2)).toBe(true);
    await expect(run({})).rejects.toThrow('The checkpoint was written by an export that was incremental.');
    expect(table.asked.length).toBeGreaterThan(0);
  });

  test('into another target begins anew at the mark if the last one did not finish', async () => {
    const table = await openTable(11);
    table.now += 100_000;
    const state = memoryState();
    const named = (target: string): Recording<Entry> => Object.assign(recordingSink<Entry>(), { target });
    expect(await killed(table, state, named('monday'), 3)).toBe(true);
    const tuesday = named('tuesday');
    const warnings: string[] = [];
    const options = { state, incremental: true, onWarning: (message: string) => warnings.push(message) } as const;
    await exportTo(entriesOf(table), tuesday, options).run();
    expect(kept(tuesday.rows)).toEqual(table.rows);
    expect(warnings).toEqual([expect.stringContaining('did not finish. Its target was another one')]);
    expect(await increment(table, state)).toEqual([]);
  });

  test.each([[11], [13]])(
    'that was interrupted is resumed, or begun anew at the mark, after %i hours: no row is missed',
    { tags: ['slow'] },
    async (hours) => {
      const table = await openTable(11);
      const path = join(temporaryFolder(), 'rows.txt');
      const state = memoryState();
      const warnings: string[] = [];
      const run = (now: number, pages = Infinity): Promise<unknown> => {
        let nth = 0;
        const source = entriesOf(table).pipePages(
          map(({ id }) => {
            nth += 1;
            if (nth > pages * 8) throw new Error('killed');
            return String(id);
          }),
          { schema: { columns: [] }, version: '1' },
        );
        return exportTo(source, fileSink(textFormat, { path, ifExists: 'append' }), {
          state,
          incremental: true,
          commitEvery: 1,
          clock: { ...systemClock, now: () => now },
          onWarning: (message) => warnings.push(message),
        }).run();
      };
      const since = Date.UTC(2030, 0, 1);
      await run(since);
      table.now += 100_000;
      for (let nth = 0; nth < 60; nth += 1) table.change();
      await expect(run(since, 2)).rejects.toThrow('killed');
      for (let nth = 0; nth < 20; nth += 1) table.change();
      table.now += 100_000;
      await run(since + hours * 3_600_000);
      await run(since + hours * 3_600_000);
      expect(warnings).toEqual(hours > 12 ? [expect.stringContaining('too old to resume after')] : []);
      const ids = new Set(readFileSync(path, 'utf8').split('\n'));
      expect(table.rows.filter(({ id }) => !ids.has(String(id)))).toEqual([]);
    },
  );

  test('that began later than what is wanted now is not resumed', async () => {
    const { table, state } = await openInterrupted();
    const run = (incremental: ExportOptions['incremental']): Promise<unknown> =>
      exportTo(entriesOf(table), recordingSink(), { state, incremental }).run();
    for (const incremental of [{ full: true }, { from: '2000-01-01T00:00:00Z' }])
      await expect(run(incremental)).rejects.toThrow('by an incremental export that began later than this one.');
    await run({ from: '2999-01-01T00:00:00Z' });
  });

  test('whose values have another type since it was interrupted is not resumed', async () => {
    const { table, state } = await openInterrupted();
    const paging = bySince({ param: 'since', field: 'id', type: 'integer' });
    const pageSize = { param: 'n', default: 8, max: 8 };
    const entries = listing({ path: '/entries', rows: 'items', columns: ['id'], version: '1', pageSize, paging });
    const client = createClient({ apiKey: false, rateLimit: false, retry: { retries: 0 } });
    onTestEnd(() => client.close());
    const source = client
      .use(defineApi({ name: 'table', sources: { entries } })({ baseUrl: table.baseUrl }))
      .table.entries();
    await expect(exportTo(source, recordingSink(), { state, incremental: { from: '5' } }).run()).rejects.toThrow(
      'The checkpoint was written with different settings',
    );
  });

  test('of another project is refused', async () => {
    const table = await openTable(9);
    table.now += 100_000;
    const state = memoryState();
    await increment(table, state);
    const other = entriesOf(table, { apiKey: 'key-of-another-project' });
    const run = (sameProject: boolean): Promise<unknown> =>
      exportTo(other, recordingSink(), { state, incremental: true, sameProject }).run();
    await expect(run(false)).rejects.toThrow('The mark of the last increment was made with another API key');
    await run(true);
  });

  test('of a source with pipePages has its increments', async () => {
    const table = await openTable(10);
    table.settle();
    const source = entriesOf(table).pipePages(
      filter(({ id }) => id % 2 === 0),
      { version: '1', schema: { columns: ['id'] } },
    );
    const state = memoryState();
    const sink = recordingSink<Entry>();
    await exportTo(source, sink, { state, incremental: true }).run();
    expect(kept(sink.rows)).toEqual(table.rows.filter(({ id }) => id % 2 === 0));
    const before = table.asked.length;
    await exportTo(source, recordingSink<Entry>(), { state, incremental: true }).run();
    expect(table.asked.length).toBe(before + 1);
  });

  test('replaces a mark that cannot be read, but only if it exports all rows', async () => {
    const table = await openTable(2);
    table.now += 100_000;
    const inner = memoryState();
    const names: string[] = [];
    const state: StateStore = {
      ...inner,
      load: (name) => {
        names.push(name);
        return name.startsWith('mark-') && isDamaged ? Promise.resolve({ v: 9 }) : inner.load(name);
      },
    };
    let isDamaged = true;
    await expect(increment(table, state)).rejects.toThrow(/can't be read\. Export all rows again, with incremental/);
    expect(kept(await increment(table, state, undefined, { full: true }))).toEqual(table.rows);
    isDamaged = false;
    expect(await increment(table, state)).toEqual([]);
    expect(names.some((name) => name.startsWith('mark-'))).toBe(true);
  });

  describe('of several groups that a source requests by itself', () => {
    interface Row {
      readonly id: number;
      readonly at: number;
    }

    /** A listing whose groups are partitions, by instants or by numbers. */
    async function openGroups(type: 'instant' | 'integer') {
      const now = Date.now();
      const groups = new Map<string, Row[]>([
        ['a', [{ id: 1, at: now + 3_600_000 }]],
        ['b', [{ id: 2, at: now - 1_000 }]],
      ]);
      const { baseUrl } = await serve(({ searchParams }) => {
        const listed = (groups.get(searchParams.get('group') ?? '') ?? []).map(({ id, at }) => ({
          id,
          at: type === 'instant' ? new Date(at).toISOString() : at,
        }));
        const since = searchParams.get('since');
        const isNew = (at: string | number): boolean =>
          since === null || (type === 'instant' ? String(at) >= since : Number(at) >= Number(since));
        return { body: listed.filter(({ at }) => isNew(at)) };
      });
      const rows = listing<{ id: number }>({
        path: '/rows',
        rows: '',
        columns: ['id'],
        version: '1',
        pageSize: { param: 'n', default: 8, max: 8 },
        query: { group: '{group}' },
        partitions: () => [...groups.keys()].map((group) => ({ group })),
        paging: bySince({ param: 'since', field: 'at', type, overlap: 0 }),
        key: ({ id }) => id,
        decode: (row, path, read) => ({ id: Number(read.record(row, path)['id']) }),
      });
      const client = createClient({ apiKey: false, rateLimit: false, retry: { retries: 0 } });
      onTestEnd(() => client.close());
      return {
        now,
        groups,
        source: client.use(defineApi({ name: 'groups', sources: { rows } })({ baseUrl })).groups.rows(),
      };
    }

    const idsOf = async (source: Source<{ id: number }>, state: StateStore): Promise<number[]> => {
      const sink = recordingSink<{ id: number }>();
      await exportTo(source, sink, { state, incremental: true }).run();
      return sink.rows.map(({ id }) => id);
    };

    test.each(['instant', 'integer'] as const)('R6 has a mark for each of its values, by %s', async (type) => {
      const { now, groups, source } = await openGroups(type);
      const state = memoryState();
      expect(await idsOf(source, state)).toEqual([1, 2]);
      // Long before the last row of the other group.
      groups.get('b')?.push({ id: 3, at: now + 60_000 });
      expect(await idsOf(source, state)).toEqual([3]);
      expect(await idsOf(source, state)).toEqual([]);
    });

    test('is refused if one mark may hide rows of another partition', async () => {
      const { increment } = bySince({ param: 'since', field: 'at', type: 'integer' });
      const source = createSource<{ id: number }>({
        name: 'groups.rows',
        identity: null,
        schema: { columns: ['id'] },
        partitions: 2,
        increment,
        fetch: () => Promise.resolve({ rows: [], next: 'end' }),
      });
      await expect(idsOf(source, memoryState())).rejects.toThrow(
        "groups.rows can't be exported incrementally: its 2 partitions would share a mark",
      );
    });
  });
});
