import { describe, expect, test } from 'vitest';
import { exportTo, memoryState, type ExportOptions, type StateStore } from '../../src/index.js';
import { ChangingTable, entriesOf, type Entry } from '../api/changingTable.js';
import { Random } from '../../../../test/kit/random.js';
import { recordingSink } from './recordingSink.js';

async function openTable(seed: number, changes = 200): Promise<ChangingTable> {
  const random = new Random(seed);
  const table = new ChangingTable(() => random.next());
  for (let nth = 0; nth < changes; nth += 1) table.change();
  await table.listen();
  return table;
}

/** One increment into a target of its own; returns its rows. */
async function increment(table: ChangingTable, state: StateStore, options: ExportOptions = {}): Promise<Entry[]> {
  const sink = recordingSink<Entry>();
  await exportTo(entriesOf(table), sink, { state, incremental: true, ...options }).run();
  return sink.rows;
}

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
    expect(kept(await increment(table, state, { incremental: { full: true } }))).toEqual(table.rows);
    isDamaged = false;
    expect(await increment(table, state)).toEqual([]);
    expect(names.some((name) => name.startsWith('mark-'))).toBe(true);
  });

  test('that is not finished is not resumed into another target', async () => {
    const table = await openTable(3);
    const state = memoryState();
    const into = (target: string) => Object.assign(recordingSink<Entry>(), { target });
    const first = into('1');
    first.beforeWrite = () => {
      if (first.rows.length > 0) throw new Error('stopped');
    };
    const started = exportTo(entriesOf(table), first, { state, incremental: true, commitEvery: 1 });
    await expect(started.run()).rejects.toThrow('stopped');
    await expect(exportTo(entriesOf(table), into('2'), { state, incremental: true }).run()).rejects.toThrow(
      /into another target, is not finished/,
    );
  });
});
