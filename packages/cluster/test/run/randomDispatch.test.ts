import { expect, test } from 'vitest';
import { bothFiles, startHoldings } from './holdingsRun.js';
import { dispatchAtRandom } from './randomDispatch.js';

const disturbed = { latency: [0, 4], faults: { serverError: 0.03, reset: 0.02, cutBody: 0.02 } } as const;

test('K1 partitions that are given out twice, by workers that are killed and stopped, count once', async () => {
  const holdings = await startHoldings({ ...disturbed, holdings: 1_500, owners: 10, pageSize: 10 });
  const report = await dispatchAtRandom(holdings, { workers: 3, kills: 4, stops: 6, seed: 1 });
  console.log(report);
  expect(report.failures).toEqual([]);
  expect(report.committedTwice).toEqual([]);
  expect(report.outcomes['refused']).toBeGreaterThan(0);
  const [merged, single] = await bothFiles(holdings, 'holdings.csv');
  expect(merged?.equals(single ?? Buffer.alloc(0))).toBe(true);
});

test('K1 commits without a fence are found by the same test', async () => {
  const holdings = await startHoldings({ ...disturbed, holdings: 1_500, owners: 10, pageSize: 10 });
  const report = await dispatchAtRandom(holdings, { workers: 3, kills: 0, stops: 6, seed: 1, isUnfenced: true });
  expect(report.committedTwice).not.toEqual([]);
});
