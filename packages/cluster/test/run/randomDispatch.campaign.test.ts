// @module-tag slow
import { expect, test } from 'vitest';
import { bothFiles, startHoldings } from './holdingsRun.js';
import { dispatchAtRandom } from './randomDispatch.js';

const disturbed = {
  holdings: 4_000,
  owners: 30,
  pageSize: 20,
  latency: [0, 6] as const,
  faults: { serverError: 0.03, reset: 0.02, cutBody: 0.02, html: 0.01 },
};

test.each([
  ['holdings.csv', 1],
  ['holdings.jsonl', 2],
  ['holdings.csv.gz', 3],
])('K1 K7 %s of workers under random, duplicate dispatch, killed and stopped again and again', async (name, seed) => {
  const holdings = await startHoldings(disturbed);
  const report = await dispatchAtRandom(holdings, { workers: 4, kills: 15, stops: 20, seed });
  expect(report).toMatchObject({ failures: [], committedTwice: [] });
  expect(report.kills + report.stops).toBeGreaterThan(5);
  expect(report.outcomes['refused']).toBeGreaterThan(0);
  const [merged, single] = await bothFiles(holdings, name);
  expect(merged?.equals(single ?? Buffer.alloc(0))).toBe(true);
});
