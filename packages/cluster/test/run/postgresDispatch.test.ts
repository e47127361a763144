// @module-tag slow
import { describe, expect, test } from 'vitest';
import { postgresPrograms } from '../../../../test/kit/postgresServer.js';
import { openEmptyPostgres } from '../../../tables/test/databases.js';
import { startHoldings } from './holdingsRun.js';
import { bothTables } from './postgresHoldings.js';
import { dispatchAtRandom } from './randomDispatch.js';

const slow = { latency: [1, 4], holdings: 300, owners: 5, pageSize: 10 } as const;
// `postgresDispatch.campaign.test.ts` is more thorough.
describe.runIf(postgresPrograms !== undefined)('K2 partitions in a table', () => {
  test('K2 of workers that are killed and stopped, and have the same ones, count once', async () => {
    const holdings = await startHoldings(slow);
    const database = await openEmptyPostgres();
    const place = { url: database.url, table: 'holdings' };
    const report = await dispatchAtRandom(holdings, { workers: 2, kills: 1, stops: 2, seed: 1, place });
    expect(report).toMatchObject({ failures: [], committedTwice: [] });
    const [shared, single] = await bothTables(holdings, database, 'holdings');
    expect(shared).toEqual(single);
  });

  test('K2 that two workers run at once are committed by one of them', async () => {
    const together = { workers: 2, kills: 0, stops: 0, seed: 1, isTogether: true };
    const holdings = await startHoldings(slow);
    const database = await openEmptyPostgres();
    const fenced = await dispatchAtRandom(holdings, { ...together, place: { url: database.url, table: 'holdings' } });
    expect(fenced).toMatchObject({ failures: [], committedTwice: [], outcomes: { committed: 5 } });
    expect(fenced.outcomes['refused']).toBeGreaterThan(0);
    const [shared, single] = await bothTables(holdings, database, 'holdings');
    expect(shared).toEqual(single);
    const { url } = await openEmptyPostgres();
    const place = { url, table: 'holdings' };
    const unfenced = await dispatchAtRandom(holdings, { ...together, isUnfenced: true, place });
    expect(unfenced.committedTwice).not.toEqual([]);
  });
});
