import { describe, expect, test } from 'vitest';
import { sealRecord } from '../../src/run/decodeRecords.js';
import { MemoryHints } from './memoryHints.js';
import { folder, mergedRows, sharedDisk, TableRun } from './tableRun.js';

/** As many partitions as two shards and a half, with a row each. */
const manyPartitions = [0, 1, 2].map(() => Array.from({ length: 800 }, () => [[{ id: 'a' }]]));

describe('a run', () => {
  test(
    'says how far it is, and which partitions are missing, with any number of them',
    { tags: ['slow'] },
    async () => {
      const disk = sharedDisk();
      const table = new TableRun(manyPartitions);
      const run = await table.submit(disk);
      const missing = [1, 799, 1_500, 2_399];
      await table.runPartition(run, 0);
      const { sum, ...record } = JSON.parse(disk.text(`${folder}/done/0/0.json`) ?? '') as Record<string, unknown>;
      expect(sum).toBeDefined();
      for (let partition = 1; partition < 2_400; partition += 1)
        if (!missing.includes(partition))
          disk.put(
            `${folder}/done/${Math.floor(partition / 1_000)}/${partition}.json`,
            JSON.stringify(sealRecord({ ...record, partition })),
          );
      const found: number[] = [];
      for await (const partition of run.pending()) found.push(partition);
      expect(found).toEqual(missing);
      expect(await run.status()).toEqual({ partitions: 2_400, done: 2_396, rows: 2_396, isCancelled: false });
      for (const partition of missing) await table.runPartition(run, partition);
      const all = { partitions: 2_400, done: 2_400, rows: 2_400, isCancelled: false };
      expect(await run.status()).toEqual(all);
      const { length } = disk.calls;
      expect(await run.status()).toEqual(all);
      // The sums of shards that are done are stored.
      expect(disk.calls.length - length).toBeLessThan(100);
    },
  );

  test('says how far it is to a machine that may only read', async () => {
    let isReadOnly = false;
    const disk = sharedDisk(({ name }) =>
      isReadOnly && ['link', 'makeFolder', 'write'].includes(name) ? { code: 'EROFS' } : undefined,
    );
    const table = new TableRun();
    const run = await table.submit(disk);
    await table.finish(disk);
    isReadOnly = true;
    expect(await run.status()).toMatchObject({ done: run.partitions, rows: table.rows.length });
  });

  test('removes the rows that do not count, but not those of claims that are alive or may be continued', async () => {
    const disk = sharedDisk();
    const table = new TableRun();
    const hints = new MemoryHints();
    const run = await table.submit(disk, hints);
    const segments = (): string[] => disk.paths().filter((path) => path.endsWith('.jsonl'));
    table.onFetch = (_, page) => {
      if (page === 2) throw new Error('cut off');
    };
    // Once with a hint that is lost, and once with one that stays.
    for (const isLost of [true, false]) {
      await expect(table.runPartition(run, 2)).rejects.toThrow('cut off');
      if (isLost) hints.saved.clear();
    }
    disk.put('/shared/run/tmp/left', '');
    expect(segments()).toHaveLength(2);
    expect(await run.clean()).toBe(2);
    expect(segments()).toHaveLength(1);
    table.onFetch = () => undefined;
    table.fetched = 0;
    expect((await table.runPartition(run, 2)).outcome).toBe('committed');
    expect(table.fetched).toBe(2);
    await table.finish(disk, hints);
    expect(await run.clean()).toBe(0);
    expect(await mergedRows(disk)).toEqual(table.rows);
  });
});
