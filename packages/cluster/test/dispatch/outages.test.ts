// @module-tag slow
import { once } from 'node:events';
import { createClient } from '@sluice/core';
import { aptos, type ListNftsOptions } from '@sluice/aptos';
import { describe, expect, test, vi } from 'vitest';
import { onTestEnd } from '../../../../scripts/testScope.js';
import { redisProgram, startRedis } from '../../../../test/kit/redisServer.js';
import type { OpenSource } from '../../src/run/run.js';
import { openCluster, redisLimiter, segments, type RedisLimiterOptions, type WorkEvent } from '../../src/index.js';
import { startCluster, withSecondPartition } from './startCluster.js';

const isCommit = (event: WorkEvent): boolean => event.type === 'partition' && event.outcome === 'committed';

type Setup = Awaited<ReturnType<typeof startCluster>>;

/** Sources whose requests a limiter in Redis holds back. */
function limited({ server, holdings }: Setup, options: Partial<RedisLimiterOptions>) {
  const limiter = redisLimiter({ url: server.url, name: 'api', ...options });
  const client = createClient({ apiKey: holdings.sandbox.apiKey, limiter }).use(
    aptos({ baseUrl: holdings.sandbox.aptosUrl }),
  );
  onTestEnd(() => client.close());
  return { 'aptos.nfts': (params: ListNftsOptions) => client.aptos.nfts(params) };
}

describe.runIf(redisProgram !== undefined)('K9 a Redis', () => {
  test('that is stopped fails commands, and lets a worker end that is told to', async () => {
    const setup = await startCluster({ latency: 5 });
    await setup.submit();
    const worker = setup.work({ concurrency: 1 });
    await worker.next(isCommit);
    process.kill(setup.server.pid, 'SIGSTOP');
    const late = openCluster({ url: setup.server.url });
    onTestEnd(() => late.close());
    await Promise.all([
      worker.stop(),
      ...[setup.cluster, late].map((cluster) =>
        expect(cluster.runs()).rejects.toMatchObject({
          code: 'network',
          message: expect.stringMatching(/^Redis at 127\.0\.0\.1:\d+ can't be used: /),
        }),
      ),
    ]);
  });

  test('that is away for longer than requests wait gets its worker back, which finishes alone', async () => {
    const setup = await startCluster({ latency: 5 });
    await setup.submit();
    const held = limited(setup, { limits: { requests: 500, per: 1_000 }, waitForRedis: 200 });
    let begin = (): void => undefined;
    const outage = new Promise<void>((resolve) => (begin = resolve));
    onTestEnd(() => begin());
    // Three of the partitions need the limiter, and wait for the outage: the run can't end before, however busy the machine.
    const open: OpenSource = (params: never) =>
      withSecondPartition(
        setup.holdings.open,
        () =>
          async function* (options) {
            await outage;
            yield* held['aptos.nfts'](params).pages(options);
          },
      )(params);
    const worker = setup.work({ sources: { 'aptos.nfts': open }, concurrency: 4 });
    await worker.next(isCommit);
    const noticed = ['redis', 'unable'].map((event) => worker.next(({ type }) => type === event));
    await setup.server.kill();
    begin();
    await Promise.all(noticed);
    await setup.server.start({ isEmpty: true });
    expect((await worker.report).partitions).toBe(8);
    const [first] = worker.events.flatMap((event) => (event.type === 'unable' ? [String(event.error)] : []));
    // The driver gives up within that time, or not.
    expect(first).toMatch(
      /could not be reached for 0\.2 s, so no request may start\. (Redis at 127\.0\.0\.1:\d+ can't be used: .*|There was no reply within 200 ms\.) Then go on/,
    );
  });

  test('K4 that loses a run gets it back from a worker that can not work on it for now', async () => {
    const setup = await startCluster({ latency: 5 });
    await setup.submit();
    const other = await startRedis();
    onTestEnd(() => other.close());
    const sources = limited(setup, { url: other.url, limits: { requests: 500, per: 1_000 }, waitForRedis: 200 });
    await other.kill();
    const worker = setup.work({ sources, concurrency: 2 });
    await worker.next(({ type }) => type === 'unable');
    const run = await setup.run();
    const left = { working: [], unable: expect.stringContaining('could not be reached') };
    // It has left the run.
    await expect
      .poll(async () => (await setup.cluster.status('holdings', run)).workers, { timeout: 60_000 })
      .toMatchObject([{ runs: [left] }]);
    await setup.redis.flushall();
    await expect.poll(() => setup.cluster.runs(), { timeout: 60_000 }).toMatchObject([{ state: 'active' }]);
    await run.cancel();
    await setup.redis.flushall();
    // Nobody needs it any more.
    expect(await worker.report).toMatchObject({ partitions: 0 });
    expect(await setup.cluster.runs()).toEqual([]);
  });

  test('that comes up later than the program is used then', async () => {
    const setup = await startCluster();
    await setup.server.kill();
    await expect(setup.submit()).rejects.toThrow(/ECONNREFUSED.*Check that it runs/);
    await setup.server.start();
    const { redis } = setup;
    if (redis.status !== 'ready') await once(redis, 'ready');
    await expect.poll(() => setup.submit().catch(() => undefined)).toMatchObject({ state: 'active' });
  });

  test('that is a replica, or full, says so', async () => {
    const setup = await startCluster();
    const replica = await startRedis(['--replicaof', '127.0.0.1', String(setup.server.port)]);
    onTestEnd(() => replica.close());
    const cluster = openCluster({ url: replica.url });
    onTestEnd(() => cluster.close());
    const { plan, runFolder } = setup.holdings;
    await expect(cluster.submit({ ...plan, to: segments(runFolder) })).rejects.toThrow(
      /READONLY .* It is a replica: give the address of the primary\.$/,
    );
    await expect(cluster.changeLimit('api', { requests: 1, per: 1_000 })).rejects.toThrow(/read only replica\. It is/);
    await setup.redis.config('SET', 'maxmemory', '1');
    await expect(setup.submit()).rejects.toThrow(/OOM .* raise maxmemory/);
  });

  test('that was full for a while holds up a run, and no more', async () => {
    const setup = await startCluster({ latency: 5 });
    await setup.submit();
    const worker = setup.work({ concurrency: 1, lostAfter: 1_000 });
    await worker.next(isCommit);
    await setup.redis.config('SET', 'maxmemory', '1');
    await worker.next(({ type }) => type === 'redis');
    await setup.redis.config('SET', 'maxmemory', '0');
    expect(await worker.report).toMatchObject({ failed: 0 });
    expect((await (await setup.run()).status()).done).toBe(8);
  });

  test('that is away leaves what is done to be seen, and a run to be cancelled', async () => {
    const setup = await startCluster();
    await setup.submit();
    const run = await setup.run();
    await setup.server.kill();
    expect(await setup.cluster.status('holdings', run)).toMatchObject({
      state: 'unknown',
      source: 'aptos.nfts',
      partitions: 8,
      done: 0,
      workers: [],
      redisError: expect.stringContaining("can't be used: connect ECONNREFUSED"),
    });
    await expect(setup.cluster.cancel('holdings', run)).rejects.toThrow(
      /^holdings is cancelled for good, but its jobs are still in Redis\. Redis at /,
    );
    expect((await run.status()).isCancelled).toBe(true);
    await setup.server.start();
    const { redis } = setup;
    if (redis.status !== 'ready') await once(redis, 'ready');
    await vi.waitUntil(async () => (await setup.cluster.status('holdings', run)).redisError === undefined, {
      timeout: 60_000,
    });
    // Redis still has it as active. A worker finds out.
    expect(await setup.cluster.runs()).toMatchObject([{ state: 'active' }]);
    const worker = setup.work();
    expect(await worker.report).toMatchObject({ partitions: 0, rows: 0 });
    expect(worker.events.at(-1)).toMatchObject({ type: 'ended', state: 'cancelled' });
    expect(await redis.keys('*')).toEqual(['{sluice:runs}']);
  });

  test('that has lost a limit gets it back from workers that were given none', async () => {
    const setup = await startCluster({ latency: 5 });
    await setup.submit();
    await setup.cluster.changeLimit('api', { requests: 500, per: 1_000 });
    const worker = setup.work({ sources: limited(setup, {}), concurrency: 1 });
    await worker.next(isCommit);
    await setup.redis.flushall();
    expect(await worker.report).toMatchObject({ partitions: 8 });
    expect(await setup.cluster.limit('api')).toMatchObject({ limits: '500 per 1000 ms' });
  });

  test('without a limit gets that of workers that have one for this case', async () => {
    const setup = await startCluster();
    await setup.submit();
    const sources = limited(setup, { defaultLimits: { requests: 400, per: 1_000 } });
    expect(await setup.work({ sources }).report).toMatchObject({ partitions: 8 });
    expect(await setup.cluster.limit('api')).toMatchObject({ limits: '400 per 1000 ms' });
  });
});
