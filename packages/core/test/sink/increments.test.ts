import { filter } from 'rxjs';
import { describe, expect, test } from 'vitest';
import { createSource, exportTo, memoryState, type ExportOptions, type StateStore } from '../../src/index.js';
import { ChangingTable, entriesOf, type Entry } from '../api/changingTable.js';
import { Random } from '../../../../test/kit/random.js';
import { someOf } from '../../../../scripts/testEffort.js';
import { type Recording, recordingSink } from './recordingSink.js';

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

/** An increment that ends at a page, if it has so many: what it had in memory is gone. Returns whether it did. */
async function killed(
  table: ChangingTable,
  state: StateStore,
  sink: Recording<Entry>,
  pages: number,
): Promise<boolean> {
  const kill = new Error('killed');
  let written = 0;
  sink.beforeWrite = () => {
    written += 1;
    if (written >= pages) throw kill;
  };
  const outcome: unknown = await exportTo(entriesOf(table), sink, { state, incremental: true, commitEvery: 1 })
    .run()
    .catch((error: unknown) => error);
  sink.beforeWrite = () => undefined;
  if (outcome instanceof Error && outcome !== kill) throw outcome;
  return outcome === kill;
}

const never = new Promise<never>(() => undefined);

/** What somebody keeps who merges by key. */
function kept(...increments: readonly (readonly Entry[])[]): Entry[] {
  const rows = new Map<number, Entry>();
  for (const row of increments.flat()) rows.set(row.id, row);
  return [...rows.values()].sort((a, b) => a.id - b.id);
}

describe('A5 an incremental export', () => {
  test('has all rows at first, then what is new, and of an unchanged table nothing, for one request', async () => {
    const table = await openTable(1);
    table.now += 100_000;
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
        table.now += 130_000;
        all.push(...(await increment(table, state)));
        expect(kept(all)).toEqual(table.rows);
        const before = table.asked.length;
        expect(await increment(table, state)).toEqual([]);
        expect(table.asked.length).toBe(before + 1);
      }
    },
  );

  test('finds what is late within the overlap, and does not repeat what is known', async () => {
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

  test('resumes after each step of its end, and moves the mark only once the target is in place', async () => {
    const steps = ['save checkpoint', 'close', 'save mark', 'remove checkpoint'];
    for (const [nth, step] of steps.entries()) {
      const table = await openTable(6);
      table.now += 100_000;
      const state = memoryState();
      const sink = recordingSink<Entry>();
      const done: string[] = [];
      const fails = (name: string): void => {
        done.push(name);
        if (name === step) throw new Error(`killed before: ${name}`);
      };
      const killing: StateStore = {
        ...state,
        save(name, record) {
          if (name.startsWith('mark-')) fails('save mark');
          else if ('isSealed' in record) fails('save checkpoint');
          return state.save(name, record);
        },
        remove(name) {
          fails('remove checkpoint');
          return state.remove(name);
        },
      };
      sink.beforeClose = () => fails('close');
      await expect(increment(table, killing, sink)).rejects.toThrow('killed before');
      expect(done).toEqual(steps.slice(0, nth + 1));
      sink.beforeClose = () => undefined;
      await increment(table, state, sink);
      expect(kept(sink.rows)).toEqual(table.rows);
      expect(await increment(table, state)).toEqual([]);
    }
  });

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
    table.now += 100_000;
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
});
