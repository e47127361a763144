import { describe, expect, test } from 'vitest';
import { onTestEnd } from '../../../../scripts/testScope.js';
import { redisProgram, startRedis } from '../../../../test/kit/redisServer.js';
import { openCluster, segments, type WorkEvent } from '../../src/index.js';
import { bothFiles, startHoldings } from '../run/holdingsRun.js';

describe.runIf(redisProgram !== undefined)('K4 runs that workers work off', () => {
  test('finishes a run with two workers, and has nothing left in Redis but its name', async () => {
    const holdings = await startHoldings();
    const server = await startRedis();
    onTestEnd(() => server.close());
    const cluster = openCluster({ url: server.url });
    onTestEnd(() => cluster.close());
    const events: WorkEvent[] = [];
    const { plan, open, runFolder } = holdings;
    const run = await cluster.submit({ ...plan, to: segments(runFolder) });
    expect(run).toMatchObject({ name: 'holdings', state: 'active', target: runFolder });
    const work = () =>
      cluster.work({
        sources: { 'aptos.walletNfts': open },
        untilDone: true,
        onEvent: (event) => events.push(event),
      });
    const reports = await Promise.all([work(), work()]);
    console.log(reports, events);
    const [merged, single] = await bothFiles(holdings, 'holdings.csv');
    expect(merged?.equals(single ?? Buffer.of())).toBe(true);
  });
});
