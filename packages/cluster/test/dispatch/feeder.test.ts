// @module-tag slow
import { Redis } from 'ioredis';
import { describe, expect, test } from 'vitest';
import { onTestEnd } from '../../../../scripts/testScope.js';
import { redisProgram, startRedis } from '../../../../test/kit/redisServer.js';
import { Feeder } from '../../src/dispatch/feeder.js';
import { RunQueue } from '../../src/dispatch/runQueue.js';
import type { Run } from '../../src/index.js';

/** No lease lapses while a slow machine removes jobs. */
const leaseFor = 600_000;

/** A run of so many partitions, none of which is done but those that are said. */
function pretended(partitions: number) {
  const done = new Set<number>();
  let asked = 0;
  const run: Run = {
    header: { id: 'run-1', name: 'many', source: 'any', columns: null, types: {} },
    partitions,
    async *pending() {
      for (let partition = 0; partition < partitions; partition += 1) {
        asked += 1;
        if (!done.has(partition)) yield await Promise.resolve(partition);
      }
    },
    sourceOf: () => Promise.reject(new Error('Nobody asks.')),
    claim: () => Promise.reject(new Error('Nobody asks.')),
    status: () => Promise.resolve({ partitions, done: done.size, rows: 0, isCancelled: false }),
    cancel: () => Promise.resolve(),
    clean: () => Promise.resolve(0),
  };
  return { run, done, asked: () => asked };
}

async function openQueue() {
  const server = await startRedis();
  onTestEnd(() => server.close());
  const redis = new Redis(server.url);
  const queue = new RunQueue(redis, 'many');
  onTestEnd(async () => {
    await queue.close();
    redis.disconnect();
  });
  const waiting = async (): Promise<number> => (await queue.queue.getJobCounts('waiting'))['waiting'] ?? 0;
  /** Takes jobs as a worker does that finishes them at once, the first ones first. */
  const take = async (count: number): Promise<number[]> => {
    const taken: number[] = [];
    const removed: Promise<unknown>[] = [];
    for (const job of await queue.queue.getJobs(['waiting'], 0, count - 1, true)) {
      taken.push(job.data.partition);
      removed.push(job.remove());
    }
    await Promise.all(removed);
    return taken;
  };
  return { redis, queue, waiting, take };
}

describe.runIf(redisProgram !== undefined)('K4 the feeder', () => {
  test('keeps at most 10,000 jobs queued, and reads no more of the plan than that', async () => {
    const { queue, waiting, take } = await openQueue();
    const { run, asked } = pretended(25_000);
    const feeder = new Feeder({ run, queue, worker: 'a', leaseFor });
    expect(await feeder.step()).toBeUndefined();
    expect(await waiting()).toBe(10_000);
    expect(asked()).toBe(10_000);
    await feeder.step();
    expect(await waiting()).toBe(10_000);
    const first = await take(6_000);
    expect(first).toEqual(Array.from({ length: 6_000 }, (_, partition) => partition));
    await feeder.step();
    expect(await waiting()).toBe(10_000);
    expect((await take(10_000)).at(-1)).toBe(15_999);
    await feeder.close();
  });

  test('is one at a time, and the next one goes on where the first one was', async () => {
    const { queue, waiting, take } = await openQueue();
    const { run } = pretended(12_000);
    const first = new Feeder({ run, queue, worker: 'a', leaseFor });
    const second = new Feeder({ run, queue, worker: 'b', leaseFor });
    await first.step();
    await take(9_000);
    await second.step();
    expect(await waiting()).toBe(1_000);
    await first.close();
    await second.step();
    expect(await waiting()).toBe(3_000);
    const rest = await take(3_000);
    expect(rest).toEqual(Array.from({ length: 3_000 }, (_, at) => 9_000 + at));
    await second.close();
  });

  test('waits for no job that a wrong clock has delayed for hours', async () => {
    const { queue, waiting } = await openQueue();
    const { run, done } = pretended(1);
    const patient = new Feeder({ run, queue, worker: 'a', leaseFor });
    done.add(0);
    await queue.queue.add('partition', { run: 'run-1', partition: 0, failures: 1 }, { delay: 7_200_000 });
    expect(await patient.step()).toBeUndefined();
    expect(await patient.step()).toBeUndefined();
    expect(await waiting()).toBe(0);
    await patient.close();
    const other = new Feeder({ run, queue, worker: 'b', leaseFor, longestDelay: 0 });
    await other.step();
    expect(await waiting()).toBe(1);
    await other.close();
  });

  test('adds everything that is missing again when Redis has lost its data, and then says what failed', async () => {
    const { redis, queue, take } = await openQueue();
    const { run, done } = pretended(30);
    const feeder = new Feeder({ run, queue, worker: 'a', leaseFor });
    await feeder.step();
    for (const partition of await take(10)) done.add(partition);
    await redis.flushall();
    await feeder.step();
    const again = await take(30);
    expect(again).toEqual(Array.from({ length: 20 }, (_, at) => 10 + at));
    for (const partition of again.slice(1)) done.add(partition);
    // The job of partition 10 has vanished.
    expect(await feeder.step()).toBeUndefined();
    await feeder.step();
    expect(await take(5)).toEqual([10]);
    done.add(10);
    expect(await feeder.step()).toBe(0);
    await feeder.close();
  });
});
