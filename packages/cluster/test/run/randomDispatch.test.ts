// @module-tag slow
import { expect, test } from 'vitest';
import { bothFiles, startHoldings } from './holdingsRun.js';
import { dispatchAtRandom } from './randomDispatch.js';

const slow = { latency: [1, 4], holdings: 300, owners: 5, pageSize: 10 } as const;

// `randomDispatch.campaign.test.ts` is more thorough.
test('K1 partitions of workers that are killed and stopped, and have the same ones, count once', async () => {
  const holdings = await startHoldings(slow);
  const report = await dispatchAtRandom(holdings, { workers: 2, kills: 1, stops: 2, seed: 1 });
  expect(report).toMatchObject({ failures: [], committedTwice: [] });
  const [merged, single] = await bothFiles(holdings, 'holdings.csv');
  expect(merged?.equals(single ?? Buffer.alloc(0))).toBe(true);
});

test('K1 of the commits of a partition that two workers run at once, all but one are refused', async () => {
  const together = { workers: 2, kills: 0, stops: 0, seed: 1, isTogether: true };
  const fenced = await dispatchAtRandom(await startHoldings(slow), together);
  expect(fenced).toMatchObject({ failures: [], committedTwice: [], outcomes: { committed: 5 } });
  expect(fenced.outcomes['refused']).toBeGreaterThan(0);
  const unfenced = await dispatchAtRandom(await startHoldings(slow), { ...together, isUnfenced: true });
  expect(unfenced.committedTwice).not.toEqual([]);
});
