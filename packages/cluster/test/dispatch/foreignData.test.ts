// @module-tag slow
import { createHash } from 'node:crypto';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { HttpError, SinkError } from '@sluice/core';
import { describe, expect, test } from 'vitest';
import { onTestEnd } from '../../../../scripts/testScope.js';
import { redisProgram } from '../../../../test/kit/redisServer.js';
import { RunQueue } from '../../src/dispatch/runQueue.js';
import { segments, type WorkEvent } from '../../src/index.js';
import { sealRecord } from '../../src/run/decodeRecords.js';
import { RunFolder } from '../../src/run/runFolder.js';
import { startCluster, withSecondPartition } from './startCluster.js';

const runsKey = '{sluice:runs}';
const hintsKey = '{sluice:run}:holdings:sluice-hints';

const isUnable = ({ type }: WorkEvent): boolean => type === 'unable';

describe.runIf(redisProgram !== undefined)('K4 what others have written into Redis', () => {
  test('among the runs keeps no worker from the real ones', async () => {
    const setup = await startCluster();
    const { redis, holdings } = setup;
    const run = await setup.submit();
    const entries: Record<string, unknown> = {
      'a:b': { ...run, name: 'a:b' },
      twin: run,
      'future.format': { ...run, name: 'future.format', state: 'paused' },
      'no-count': { ...run, name: 'no-count', partitions: -1, failed: '1' },
      '\u001b[2Jclear': { ...run, name: '\u001b[2Jclear' },
      list: [run],
    };
    for (const [name, value] of Object.entries(entries)) await redis.hset(runsKey, name, JSON.stringify(value));
    await redis.hset(runsKey, 'text', 'not JSON');
    expect(await setup.cluster.runs()).toMatchObject([{ name: 'holdings' }]);
    // What can't be read is replaced, not argued with.
    expect(await setup.cluster.submit({ ...holdings.plan, name: 'text', to: segments(`${holdings.runFolder}-2`) })) //
      .toMatchObject({ name: 'text', state: 'active' });
    expect(await setup.work().report).toMatchObject({ partitions: 16 });
  });

  test('about a run that nobody can open keeps no worker from the other ones', async () => {
    const setup = await startCluster();
    const run = await setup.submit();
    const broken = { ...run, since: 0 };
    await setup.redis.hset(runsKey, 'source', JSON.stringify({ ...broken, name: 'source', source: 'toString' }));
    await setup.redis.hset(runsKey, 'target', JSON.stringify({ ...broken, name: 'target', target: 'throws' }));
    const queue = '{sluice:run}:queue';
    await setup.redis.hset(runsKey, 'queue', JSON.stringify({ ...broken, name: 'queue' }));
    for (const key of ['wait', 'active', 'delayed', 'failed', 'sluice-feeder', 'sluice-fed'])
      await setup.redis.xadd(`${queue}:${key}`, '*', 'a', 'b');
    const worker = setup.work({
      untilDone: false,
      openTarget: (address, hints) => {
        if (address === 'throws') throw new TypeError('secret');
        return segments(address, { hints });
      },
    });
    await worker.next(({ type, run: name }: WorkEvent & { run?: string }) => type === 'ended' && name === 'holdings');
    const unable = worker.events.flatMap((event) => (event.type === 'unable' ? [event.run] : []));
    expect(unable.sort()).toEqual(['queue', 'source', 'target']);
    await worker.stop();
  });

  test('into the queue is ignored, and failed jobs that nobody can read are none', async () => {
    const setup = await startCluster();
    const { id: run } = await setup.submit();
    const queue = new RunQueue(setup.redis, 'holdings');
    onTestEnd(() => queue.close());
    const data: unknown[] = [
      null,
      'text',
      7,
      [],
      {},
      { run },
      { run, partition: -1 },
      { run, partition: 1e9 },
      { run, partition: 0.5 },
      { run, partition: '0' },
      { run, partition: 0, failures: 'many' },
      { version: 2, run, pieces: [1, 2] },
    ];
    for (const [at, each] of data.entries()) await queue.queue.add('partition', each as never, { jobId: `own-${at}` });
    const fails = withSecondPartition(
      setup.holdings.open,
      () =>
        async function* () {
          await Promise.reject(new SinkError('Not this one.'));
          yield* [];
        },
    );
    const worker = setup.work({ sources: { 'aptos.nfts': fails } });
    expect(await worker.report).toMatchObject({ partitions: 5, failed: 3 });
    expect(worker.events.filter(isUnable)).toEqual([]);
    expect((await setup.cluster.status('holdings', await setup.run())).failed).toBeGreaterThanOrEqual(3);
  });

  test.each([
    ['sluice-feeder', 'text'],
    ['sluice-feeder', 'list'],
    ['sluice-fed', 'list'],
    ['sluice-hints', 'text'],
    ['wait', 'text'],
    ['delayed', 'text'],
  ])('under its key %s, a %s, is named, and the run goes on when it is removed', async (name, kind) => {
    const setup = await startCluster();
    await setup.submit();
    const key = `{sluice:run}:holdings:${name}`;
    await (kind === 'text' ? setup.redis.set(key, 'x') : setup.redis.rpush(key, 'x'));
    const worker = setup.work();
    await worker.next(isUnable);
    const [told] = worker.events.flatMap((event) => (event.type === 'unable' ? [String(event.error)] : []));
    // BullMQ's scripts read several keys.
    if (name.startsWith('sluice')) expect(told).toContain(key);
    expect(told).toMatch(/Redis.*(that no worker has stored: remove it|something else uses keys that begin with)/);
    await worker.stop();
    await setup.redis.del(key);
    await setup.submit();
    expect(await setup.work().report).toMatchObject({ partitions: 8 });
  });

  test('in place of the list of workers is told, and holds nothing up', async () => {
    const setup = await startCluster();
    await setup.submit();
    await setup.redis.set('{sluice:workers}', 'text');
    const worker = setup.work();
    expect(await worker.report).toMatchObject({ partitions: 8 });
    const told = worker.events.flatMap((event) => (event.type === 'redis' ? [String(event.error)] : []));
    expect(told).toEqual([
      expect.stringMatching(/WRONGTYPE .*\(\{sluice:workers\}\).* something else uses keys that begin with \{sluice:/),
    ]);
  });

  test('as progress is used only if it can be that of the partition', async () => {
    const setup = await startCluster();
    await setup.submit();
    const found = await setup.run();
    const hash = found instanceof RunFolder ? found.plan.hash : '';
    const claim = 'a'.repeat(32);
    const empty = createHash('sha256').digest('hex');
    const own = { run: found.header.id, plan: hash, claim, segments: [], rows: 0, restarts: 0, isIncomplete: false };
    const segment = { claim, bytes: 0, sha256: empty, rows: 0, pages: [[0, 1]] };
    const hints: object[] = [
      { partition: 7, position: { before: 1, begun: {}, rows: 0, pages: 0 } },
      { segments: 5 },
      { position: 5 },
      { position: { before: 'x' } },
      { restarts: 'x' },
      { segments: [{ ...segment, pages: 7 }] },
      { segments: [{ ...segment, claim: '../../etc' }] },
      { segments: [{ ...segment, pages: [[3, 1]] }] },
    ];
    for (const [partition, hint] of hints.entries())
      await setup.redis.hset(hintsKey, String(partition), JSON.stringify(sealRecord({ ...own, partition, ...hint })));
    const worker = setup.work();
    expect(await worker.report).toEqual({ partitions: 8, rows: 900, refused: 0, failed: 0 });
    expect(worker.events.filter(({ type }) => type === 'failed')).toEqual([]);
  });
});

describe.runIf(redisProgram !== undefined)('K5 a fault of the machine or of the key', () => {
  test('gives up no partition', async () => {
    for (const error of [
      new SinkError('The disk is full.', { details: { path: '/mnt/out', platformCode: 'ENOSPC' } }),
      new SinkError('db: nothing can be written here', { details: { database: 'db', code: '25006' } }),
      new HttpError('HTTP 401', { status: 401, excerpt: '' }),
    ]) {
      const setup = await startCluster();
      await setup.submit();
      const fails = withSecondPartition(
        setup.holdings.open,
        () =>
          async function* () {
            await Promise.reject(error);
            yield* [];
          },
      );
      const worker = setup.work({ sources: { 'aptos.nfts': fails } });
      await worker.next(isUnable);
      await setup.work().report;
      expect(await worker.report).toMatchObject({ failed: 0 });
      expect(worker.events.filter(({ type }) => type === 'failed')).toEqual([]);
      expect(readdirSync(join(setup.holdings.runFolder, 'done', '0')).filter((name) => /^\d/.test(name))).toHaveLength(
        8,
      );
    }
  });
});
