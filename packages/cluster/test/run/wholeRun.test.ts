import { describe, expect, test } from 'vitest';
import { bothFiles, finish, startHoldings, submitted } from './holdingsRun.js';

describe('a run that workers have finished', () => {
  test.each(['holdings.csv', 'holdings.jsonl', 'holdings.csv.gz'])(
    'K7 merges into %s with the bytes of an export by one machine',
    { tags: ['slow'] },
    async (name) => {
      const holdings = await startHoldings();
      const run = await submitted(holdings);
      await finish(run);
      expect(await run.status()).toEqual({ partitions: 8, done: 8, rows: 900, isCancelled: false });
      const [merged, single] = await bothFiles(holdings, name);
      expect(merged?.equals(single ?? Buffer.alloc(0))).toBe(true);
    },
  );
});
