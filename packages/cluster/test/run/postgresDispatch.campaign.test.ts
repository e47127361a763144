// @module-tag slow
import { describe, expect, test } from 'vitest';
import { postgresPrograms } from '../../../../test/kit/postgresServer.js';
import { openEmptyPostgres } from '../../../tables/test/databases.js';
import { startHoldings } from './holdingsRun.js';
import { bothTables } from './postgresHoldings.js';
import { dispatchAtRandom } from './randomDispatch.js';

const disturbed = {
  holdings: 4_000,
  owners: 30,
  pageSize: 20,
  latency: [0, 6] as const,
  faults: { serverError: 0.03, reset: 0.02, cutBody: 0.02, html: 0.01 },
};
describe.runIf(postgresPrograms !== undefined)('K2 a table of workers', () => {
  /** In all campaigns: whether one of them has any is up to the machine. */
  let refused = 0;

  test.each([1, 2, 3])('K2 under random, duplicate dispatch, killed and stopped again and again (%d)', async (seed) => {
    const holdings = await startHoldings(disturbed);
    const database = await openEmptyPostgres();
    const place = { url: database.url, table: 'holdings' };
    const report = await dispatchAtRandom(holdings, { workers: 4, kills: 15, stops: 20, seed, place });
    expect(report).toMatchObject({ failures: [], committedTwice: [] });
    expect(report.kills + report.stops).toBeGreaterThan(5);
    refused += report.outcomes['refused'] ?? 0;
    const [shared, single] = await bothTables(holdings, database, 'holdings');
    expect(shared).toEqual(single);
  });

  test('K2 commits of partitions that others had finished were refused', () => {
    expect(refused).toBeGreaterThan(0);
  });
});
