import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createClient, PaginationError, SinkError, type Page } from '@sluice/core';
import { aptos, type ListNftsOptions } from '@sluice/aptos';
import { describe, expect, test, vi } from 'vitest';
import { onTestEnd } from '../../../../scripts/testScope.js';
import { redisProgram } from '../../../../test/kit/redisServer.js';
import { RunQueue } from '../../src/dispatch/runQueue.js';
import {
  openCluster,
  redisLimiter,
  segments,
  type OpenSource,
  type RedisLimiter,
  type WorkEvent,
} from '../../src/index.js';
import { bothFiles } from '../run/holdingsRun.js';
import { startCluster, withSecondPartition } from './startCluster.js';

const isCommit = (event: WorkEvent): boolean => event.type === 'partition' && event.outcome === 'committed';

/** The bytes of one machine's export. */
async function expectWhole({ holdings }: Awaited<ReturnType<typeof startCluster>>): Promise<void> {
  const [merged, single] = await bothFiles(holdings, 'rows.csv');
  expect(merged?.equals(single ?? Buffer.of())).toBe(true);
}

describe.runIf(redisProgram !== undefined)('K4 runs that workers work off', () => {
  test('are finished by two workers, and leave nothing in Redis but their name', { tags: ['slow'] }, async () => {
    const setup = await startCluster();
    const { cluster, redis } = setup;
    expect(await setup.submit()).toMatchObject({ name: 'holdings', state: 'active', partitions: 8 });
    const reports = await Promise.all([setup.work().report, setup.work().report]);
    expect(reports[0].partitions + reports[1].partitions).toBe(8);
    expect(reports[0].rows + reports[1].rows).toBe(900);
    expect(await cluster.runs()).toMatchObject([{ name: 'holdings', state: 'finished', failed: 0 }]);
    expect(await redis.keys('*')).toEqual(['{sluice:runs}']);
    expect(await cluster.status('holdings', await setup.run())).toMatchObject({ done: 8, rows: 900, workers: [] });
    await expectWhole(setup);
  });

  test(
    'are finished however often Redis loses everything, and although nobody submits them again',
    { tags: ['slow'] },
    async () => {
      const setup = await startCluster({ latency: 5 });
      await setup.submit();
      const worker = setup.work({ concurrency: 1 });
      await worker.next(isCommit);
      await setup.redis.flushall();
      await worker.next(isCommit);
      await setup.server.kill();
      await worker.next(({ type }) => type === 'redis');
      await setup.server.start({ isEmpty: true });
      await worker.next(({ type }) => type === 'reconnected');
      await worker.report;
      expect((await (await setup.run()).status()).done).toBe(8);
      await expectWhole(setup);
    },
  );

  test(
    'are resumed by the call that submitted them, after Redis lost them and no worker was there',
    { tags: ['slow'] },
    async () => {
      const setup = await startCluster();
      const first = await setup.submit();
      await setup.redis.flushall();
      expect(await setup.submit()).toMatchObject({ id: first.id });
      await setup.work().report;
      await setup.submit();
      const worker = setup.work();
      expect(await worker.report).toEqual({ partitions: 0, rows: 0, refused: 0, failed: 0 });
      await expectWhole(setup);
    },
  );

  test('have no name of another one that is worked on', { tags: ['slow'] }, async () => {
    const setup = await startCluster();
    await setup.submit();
    const { plan, folder } = setup.holdings;
    const elsewhere = setup.cluster.submit({ ...plan, to: segments(join(folder, 'other')) });
    await expect(elsewhere).rejects.toThrow(/Another run has the name holdings: it writes to .*\/run\./);
    await expect(setup.cluster.submit({ ...plan, name: 'a:b', to: segments(join(folder, 'third')) })).rejects.toThrow(
      /can't name a run/,
    );
    await setup.cluster.cancel('holdings', await setup.run());
    expect(await setup.cluster.submit({ ...plan, to: segments(join(folder, 'other')) })).toMatchObject({
      state: 'active',
    });
  });

  test('are drained: what was fetched is saved, and another worker continues there', { tags: ['slow'] }, async () => {
    const setup = await startCluster({ latency: 10, owners: 1, holdings: 400, pageSize: 10 });
    await setup.submit();
    const { sandbox } = setup.holdings;
    const worker = setup.work({ concurrency: 1 });
    await worker.next(({ type }) => type === 'joined');
    await vi.waitUntil(() => sandbox.requests.length >= 15, { interval: 1, timeout: 60_000 });
    expect((await worker.stop()).partitions).toBe(0);
    const queue = new RunQueue(setup.redis, 'holdings');
    onTestEnd(() => queue.close());
    expect(await queue.queue.getJobCounts('waiting', 'active', 'delayed', 'failed')).toMatchObject({
      waiting: 1,
      active: 0,
      delayed: 0,
      failed: 0,
    });
    await setup.work().report;
    // Of 40 pages, none is fetched twice but those that were on their way.
    expect(sandbox.requests.length).toBeLessThan(43);
    await expectWhole(setup);
  });
});

describe.runIf(redisProgram !== undefined)('K5 failures', () => {
  test(
    'give a partition up after five in a row, while the others finish; to submit again runs what is missing',
    { tags: ['slow'] },
    async () => {
      const setup = await startCluster();
      const fails = withSecondPartition(
        setup.holdings.open,
        () =>
          async function* () {
            await Promise.reject(new SinkError('Not this one.'));
            yield* [];
          },
      );
      await setup.submit(fails);
      const worker = setup.work({ sources: { 'aptos.nfts': fails } });
      expect(await worker.report).toMatchObject({ partitions: 5, failed: 3 });
      const failures = worker.events.flatMap((event) =>
        event.type === 'failed' && event.partition === 4 ? [event] : [],
      );
      expect(failures.map(({ failures, isGivenUp }) => [failures, isGivenUp])).toEqual([
        [1, false],
        [2, false],
        [3, false],
        [4, false],
        [5, true],
      ]);
      const status = await setup.cluster.status('holdings', await setup.run());
      expect(status).toMatchObject({ state: 'finished', done: 5, failed: 3 });
      expect(status.failures.map(({ partition, reason }) => `${partition}: ${reason}`).sort()).toEqual([
        '1: Not this one.',
        '4: Not this one.',
        '7: Not this one.',
      ]);
      const stored = await setup.redis.hgetall(await oneJob(setup));
      expect(stored).toMatchObject({ failedReason: 'Not this one.' });
      expect(JSON.stringify(stored)).not.toContain(' at ');

      await setup.submit();
      expect(await setup.work().report).toMatchObject({ partitions: 3, failed: 0 });
      await expectWhole(setup);
    },
  );

  test('never give up a partition that gets on, however often it fails', { tags: ['slow'] }, async () => {
    const setup = await startCluster({ owners: 2, holdings: 600, pageSize: 20 });
    let walks = 0;
    const stumbles = withSecondPartition(
      setup.holdings.open,
      (pages) =>
        async function* (options): AsyncGenerator<Page<unknown>> {
          walks += 1;
          for await (const page of pages(options)) {
            yield page;
            if (!page.endsPartition) throw new SinkError('Stumbled.');
          }
        },
    );
    await setup.submit(stumbles);
    const worker = setup.work({ sources: { 'aptos.nfts': stumbles } });
    expect(await worker.report).toMatchObject({ partitions: 2, failed: 0 });
    expect(walks).toBeGreaterThan(6);
    await expectWhole(setup);
  });

  test(
    'give a partition up once its cursor was refused after three restarts, whatever was saved',
    { tags: ['slow'] },
    async () => {
      const setup = await startCluster({ owners: 2, holdings: 200, pageSize: 20 });
      let walks = 0;
      const refused = withSecondPartition(
        setup.holdings.open,
        (pages) =>
          async function* (options): AsyncGenerator<Page<unknown>> {
            walks += 1;
            for await (const page of pages(options)) {
              yield page;
              throw new PaginationError('cursor-refused', 'The cursor has expired.');
            }
          },
      );
      await setup.submit(refused);
      const worker = setup.work({ sources: { 'aptos.nfts': refused } });
      expect(await worker.report).toMatchObject({ partitions: 1, failed: 1 });
      // `pages` is also called to check where it continues.
      expect(walks).toBe(4);
      const { failures } = await setup.cluster.status('holdings', await setup.run());
      expect(failures).toMatchObject([
        { reason: expect.stringMatching(/started over 3 times.*has expired/) as string },
      ]);
      await setup.submit();
      expect(await setup.work().report).toMatchObject({ partitions: 1, failed: 0 });
      await expectWhole(setup);
    },
  );

  test(
    'of a machine are no failures of a partition: it claims nothing, says so, and another one does the work',
    { tags: ['slow'] },
    async () => {
      const setup = await startCluster();
      await setup.submit();
      const other = createClient({ apiKey: 'key-of-another-project', rateLimit: false }).use(
        aptos({ baseUrl: setup.holdings.sandbox.aptosUrl }),
      );
      onTestEnd(() => other.close());
      const lacking = setup.work({ sources: {} });
      const foreign = setup.work({
        sources: { 'aptos.nfts': (params: ListNftsOptions) => other.aptos.nfts(params) },
      });
      const elsewhere = setup.work({ openTarget: () => segments(join(setup.holdings.folder, 'nowhere')) });
      const unable = [lacking, foreign, elsewhere];
      await Promise.all(unable.map((worker) => worker.next(({ type }) => type === 'unable')));
      expect(setup.holdings.sandbox.requests).toEqual([]);
      await setup.work().report;
      const reports = await Promise.all(unable.map((worker) => worker.report));
      for (const report of reports) expect(report).toMatchObject({ partitions: 0, rows: 0, failed: 0 });
      expect(unable.map(({ events }) => events.map(told))).toEqual([
        ['unable: holdings needs the source aptos.nfts, which this machine does not have. It has: none.'],
        [expect.stringContaining('unable: holdings was submitted with another API key')],
        [expect.stringContaining('either nothing was submitted to it, or it is not mounted on this machine')],
      ]);
      await expectWhole(setup);
    },
  );

  test(
    'are over once a run is cancelled: nothing more counts, and nobody can submit it again',
    { tags: ['slow'] },
    async () => {
      let isHeld = false;
      const setup = await startCluster({ script: () => (isHeld ? { kind: 'delay', ms: 500 } : undefined) });
      await setup.submit();
      const worker = setup.work({ concurrency: 1 });
      await worker.next(isCommit);
      isHeld = true;
      const run = await setup.run();
      await setup.cluster.cancel('holdings', run);
      const { done } = await run.status();
      await worker.report;
      expect(worker.events.at(-1)).toMatchObject({ type: 'ended', state: 'cancelled' });
      expect((await run.status()).done).toBe(done);
      expect(done).toBeLessThan(8);
      await expect(setup.submit()).rejects.toThrow(/cancelled for good/);
    },
  );

  test('leave files that are removed once no worker is there', { tags: ['slow'] }, async () => {
    let held: string | undefined;
    const setup = await startCluster({
      // One partition gets no further than its first page.
      script({ query }) {
        if (!query.has('cursor')) return undefined;
        const others = new URLSearchParams(query);
        others.delete('cursor');
        held ??= String(others);
        return String(others) === held ? { kind: 'never' } : undefined;
      },
    });
    await setup.submit();
    const worker = setup.work({ concurrency: 2 });
    await worker.next(isCommit);
    const run = await setup.run();
    while ((await setup.cluster.status('holdings', run)).workers.length === 0);
    await expect(setup.cluster.clean('holdings', run)).rejects.toThrow(
      /A worker may still write, e.g. process \d+ of /,
    );
    await worker.stop();
    await setup.redis.del('{sluice:run}:holdings:sluice-hints');
    await setup.cluster.cancel('holdings', run);
    expect(await setup.cluster.clean('holdings', run)).toBeGreaterThan(0);
    expect(await setup.redis.keys('*')).toEqual([]);
    const { done } = await run.status();
    const rows = readdirSync(join(setup.holdings.runFolder, 'rows', '0'));
    expect(rows.length).toBe(done);
  });
});

describe.runIf(redisProgram !== undefined)('K10 secrets', () => {
  test('are in no key, value or file of Redis', { tags: ['slow'] }, async () => {
    const setup = await startCluster({ latency: 2 });
    await setup.submit();
    const worker = setup.work({ concurrency: 1 });
    await worker.next(isCommit);
    const jobs = await new RunQueue(setup.redis, 'holdings').queue.getJobs(['waiting', 'active']);
    expect(Object.keys(jobs[0]?.data ?? {}).sort()).toEqual(['failures', 'partition', 'run']);
    await worker.report;
    const files = readdirSync(setup.server.folder, { recursive: true, withFileTypes: true }).filter((each) =>
      each.isFile(),
    );
    const stored = files.map(({ parentPath, name }) => readFileSync(join(parentPath, name), 'latin1')).join('\n');
    expect(stored).toContain('holdings');
    expect(stored).not.toContain(setup.holdings.sandbox.apiKey);
  });
});

describe.runIf(redisProgram !== undefined)('K10 rights', () => {
  test('need be no more than the guide says', { tags: ['slow'] }, async () => {
    const guide = readFileSync(join(import.meta.dirname, '../../../../docs/guides/severalMachines.md'), 'utf8');
    const [, rights = ''] = /^ACL SETUSER sluice on >PASSWORD (.*)$/m.exec(guide) ?? [];
    const setup = await startCluster({ latency: 2 });
    await setup.redis.call('ACL', 'SETUSER', 'sluice', 'on', '>PASSWORD', ...rights.split(' '));
    const url = setup.server.url.replace('redis://', 'redis://sluice:PASSWORD@');
    const cluster = openCluster({ url });
    onTestEnd(() => cluster.close());
    const { plan, open, runFolder } = setup.holdings;
    const fails = withSecondPartition(
      open,
      () =>
        async function* () {
          await Promise.reject(new SinkError('Not this one.'));
          yield* [];
        },
    );
    const to = segments(runFolder);
    await cluster.submit({ ...plan, to });
    const work = (source: OpenSource, limiter?: RedisLimiter) =>
      cluster.work({
        sources: { 'aptos.nfts': source },
        untilDone: true,
        retryAfter: 1,
        ...(limiter && { limiter }),
      });
    expect(await work(fails)).toMatchObject({ failed: 3 });
    await cluster.submit({ ...plan, to });
    await cluster.changeLimit('api', { requests: 500, per: 1_000 });
    const limiter = redisLimiter({ url, name: 'api' });
    const client = createClient({ apiKey: setup.holdings.sandbox.apiKey, limiter }).use(
      aptos({ baseUrl: setup.holdings.sandbox.aptosUrl }),
    );
    onTestEnd(() => client.close());
    await work((params: ListNftsOptions) => client.aptos.nfts(params), limiter);
    const run = await to.open();
    expect(await cluster.status('holdings', run)).toMatchObject({ done: 8, failed: 0 });
    await cluster.clean('holdings', run);
    await cluster.submit({ ...plan, name: 'other', to: segments(`${runFolder}-2`) });
    await cluster.cancel('other', await segments(`${runFolder}-2`).open());
    expect(await cluster.limit('api')).toMatchObject({ limits: '500 per 1000 ms' });
    expect(await setup.redis.call('ACL', 'LOG')).toEqual([]);
  });
});

async function oneJob({ redis }: Awaited<ReturnType<typeof startCluster>>): Promise<string> {
  const keys = await redis.keys('{sluice:run}:holdings:?-*');
  return keys.find((key) => !key.includes('sluice-')) ?? '';
}

function told(event: WorkEvent): string {
  return 'error' in event && event.error instanceof Error ? `${event.type}: ${event.error.message}` : event.type;
}
