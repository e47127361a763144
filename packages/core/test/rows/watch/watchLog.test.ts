import { expect, test } from 'vitest';
import { memoryState } from '../../../src/index.js';
import { toChanges, type Delta } from '../../../src/rows/watch/acceptedSnapshot.js';
import { SnapshotRows } from '../../../src/rows/watch/snapshotRows.js';
import { WatchLog } from '../../../src/rows/watch/watchLog.js';
import type { Missing } from '../../../src/rows/watch/removals.js';
import { row, type Row } from './listing.js';

/** A row that comes, and so many that are missing that it outweighs the snapshot by far. */
function heavyDelta(generation: number): Delta<Row> {
  const key = `row ${String(generation)}`;
  const missed = Array.from({ length: 5_000 }, (_, at): [string, Missing] => [
    `missed ${String(at)}`,
    { walks: 1, since: 0, isHeld: false },
  ]);
  return {
    generation,
    observedAt: '2030-01-01T00:00:00.000Z',
    missing: generation === 2 ? new Map(missed) : new Map(),
    differences: [{ type: 'added', key, before: null, after: row(key), fields: [] }],
  };
}

test('C6 a log is not compacted over what is staged, however heavy it is, and is once that was taken', async () => {
  const state = memoryState();
  const opened = async (): Promise<WatchLog<Row>> => {
    const log = new WatchLog<Row>(state.log('watch'), { watch: 'of rows' });
    await log.open();
    return log;
  };
  const log = await opened();
  await log.begin(new SnapshotRows<Row>(), { observedAt: '2030-01-01T00:00:00.000Z' });
  await log.commit(1);
  for (const generation of [2, 3]) await log.stage(heavyDelta(generation));
  await log.commit(2);
  const again = await opened();
  expect([again.committed, again.uncommitted]).toMatchObject([2, [heavyDelta(3)]]);
  await again.commit(3);
  const last = await opened();
  expect([last.committed, last.uncommitted]).toEqual([3, []]);
  expect([...last.snapshot.rows]).toEqual(['row 2', 'row 3'].map((key) => [key, row(key)]));
  const kinds: string[] = [];
  for await (const record of state.log('watch').read()) kinds.push(Object.keys(Object(record))[0] ?? '');
  expect(kinds).toEqual(['base', 'rows']);
});

test('C6 a log that begins anew knows its key before its first snapshot is written, and refuses another one later', async () => {
  const state = memoryState();
  const opened = async (key: string, history?: string): Promise<WatchLog<Row>> => {
    const keyFingerprint = async (salt: string): Promise<string> => {
      // As long as any digest takes.
      await new Promise((resolve) => setImmediate(resolve));
      return `${salt} ${key}`;
    };
    const log = new WatchLog<Row>(state.log('watch'), { watch: 'of rows', endpoint: { keyFingerprint } });
    await log.open(history);
    return log;
  };
  const first = await opened('old key');
  await first.begin(new SnapshotRows<Row>(), { observedAt: '2030-01-01T00:00:00.000Z' });
  const anew = await opened('new key', 'another history');
  await anew.begin(new SnapshotRows<Row>(), { observedAt: '2030-01-02T00:00:00.000Z' });
  expect((await opened('new key')).history).toBe('another history');
  await expect(opened('old key')).rejects.toThrow(/made with another API key/);
});

test('W2 what an earlier version staged keeps its ids, and what is staged now gets others', async () => {
  const observedAt = '2030-01-01T00:00:00.000Z';
  const opened = async (committed: number): Promise<WatchLog<Row>> => {
    const state = memoryState();
    const base = { base: 1, watch: 'w', history: 'w', generation: 6, observedAt, committed, size: 1, missing: {} };
    const delta = { generation: 7, observedAt, missing: {}, differences: [['removed', 'a']] };
    const first = [{ ...base, generation: 1 }, { rows: [['a', row('a')]] }];
    await state.log('watch').replace(committed === 0 ? first : [base, first[1] ?? {}, delta]);
    const log = new WatchLog<Row>(state.log('watch'), { watch: 'w' });
    await log.open();
    return log;
  };
  const idsOf = (log: WatchLog<Row>): string[] =>
    log.uncommitted.flatMap((delta) => toChanges(delta, log.history).map(({ id }) => id));
  const staged = await opened(6);
  expect(idsOf(staged)).toEqual(['28dsh0abglfai484oj2s0']);
  const firstSnapshot = await opened(0);
  expect(idsOf(firstSnapshot)).toEqual(['u5ki66ire41uff60j8wos']);
  const copy = await opened(6);
  for (const log of [staged, copy]) await log.stage(heavyDelta(8));
  const ids = [...idsOf(staged), ...idsOf(copy)];
  expect(new Set(ids).size).toBe(ids.length - 1);
});
