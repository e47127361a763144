import { randomBytes } from 'node:crypto';
import { ConfigError } from '@sluice/core';
import { isCount, isRecord, tryParseJson } from '@sluice/core/kit';
import { Queue, type JobsOptions } from 'bullmq';
import type { Redis } from 'ioredis';
import type { ProgressHints } from '../run/run.js';

/** What BullMQ stores of a job. Nobody relies on it: a job is a hint that a partition may need work. */
export interface PartitionJob {
  readonly run: string;
  readonly partition: number;
  /** Failures in a row without a saved page. */
  readonly failures: number;
}

/** What is in a job; `undefined` if that is nothing of this version. Operators and other programs add jobs, too. */
export function decodeJob(data: unknown): PartitionJob | undefined {
  if (!isRecord(data)) return undefined;
  const { run, partition, failures } = data;
  if (typeof run !== 'string' || !isCount(partition)) return undefined;
  return { run, partition, failures: isCount(failures) ? failures : 0 };
}

/** A partition that was given up. */
export interface FailedPartition {
  readonly partition: number;
  readonly reason: string;
}

/** The prefix of BullMQ's keys. The braces keep all keys of a run on one server of a cluster of Redis. */
export const queuePrefix = '{sluice:run}';

/** Jobs that wait, run or are delayed, beyond which nothing is added. */
const maxQueued = 10_000;
/** Below that, jobs are added. */
const minQueued = maxQueued / 2;
/** Jobs that are added at once. */
const addedAtOnce = 500;

/** What Redis says of a key that has no time to live. */
const neverExpires = -1;

/** BullMQ never gives a job up by itself: what counts as a failure is decided here. */
const jobOptions: JobsOptions = {
  attempts: 1_000_000,
  backoff: { type: 'custom' },
  removeOnComplete: true,
  // Operators read what failed in their dashboards, until the run is submitted again.
  removeOnFail: false,
  stackTraceLimit: 0,
  keepLogs: 0,
};

/** The queue of a run in BullMQ, and what is remembered beside it. */
export class RunQueue implements ProgressHints {
  readonly queue: Queue<PartitionJob>;
  readonly #redis: Redis;
  readonly #name: string;

  constructor(redis: Redis, name: string) {
    this.#redis = redis;
    this.#name = name;
    this.queue = new Queue(name, { connection: redis, prefix: queuePrefix });
    // Whoever calls gets the same error.
    this.queue.on('error', () => undefined);
  }

  /** Adds jobs until enough are queued. Returns `true` if there are no more partitions. */
  async fill(partitions: AsyncIterator<number, void>, run: string, onAdded: (next: number) => Promise<void>) {
    const { waiting, active, delayed } = await this.counts();
    let room = maxQueued - waiting - active - delayed;
    if (room < maxQueued - minQueued) return false;
    while (room > 0) {
      const batch: number[] = [];
      let next = await partitions.next();
      for (; next.done !== true; next = await partitions.next()) {
        batch.push(next.value);
        if (batch.length === Math.min(room, addedAtOnce)) break;
      }
      await this.#add(batch, run);
      const last = batch.at(-1);
      if (last !== undefined) await onAdded(last + 1);
      if (next.done === true) return true;
      room -= batch.length;
    }
    return false;
  }

  async #add(partitions: readonly number[], run: string): Promise<void> {
    if (partitions.length === 0) return;
    await this.queue.addBulk(
      partitions.map((partition) => ({
        name: 'partition',
        data: { run, partition, failures: 0 },
        // BullMQ ignores a job whose id it has already, e.g. that of a failed one.
        opts: { ...jobOptions, jobId: `${partition}-${randomBytes(6).toString('hex')}` },
      })),
    );
  }

  /** Jobs by state. */
  async counts() {
    const counts = await this.queue.getJobCounts('waiting', 'prioritized', 'active', 'delayed', 'failed');
    const { waiting = 0, prioritized = 0, active = 0, delayed = 0, failed = 0 } = counts;
    return { waiting: waiting + prioritized, active, delayed, failed };
  }

  /** Partitions that were given up, the latest ones first. */
  async failed(most: number): Promise<readonly FailedPartition[]> {
    const jobs = await this.queue.getJobs(['failed'], 0, most - 1);
    return jobs.flatMap(({ data, failedReason: reason }) => {
      const partition = decodeJob(data)?.partition;
      return partition === undefined ? [] : [{ partition, reason }];
    });
  }

  /** Lets partitions that were given up be tried again. */
  async retryFailed(): Promise<void> {
    await this.queue.retryJobs({ state: 'failed' });
  }

  /** The partition behind the last one that was added; 0 if nobody knows. */
  async fed(): Promise<number> {
    return Number((await this.#redis.get(this.#key('fed'))) ?? 0);
  }

  async setFed(next: number): Promise<void> {
    await this.#redis.set(this.#key('fed'), next);
  }

  /**
   * Whether `worker` is the one that adds jobs, and whether it begins to be. Two at a time would do no harm but work.
   *
   * @throws ConfigError if something else has a value there, which would keep all workers from adding jobs for ever
   */
  async lease(worker: string, ms: number): Promise<'held' | 'begun' | undefined> {
    const key = this.#key('feeder');
    if ((await this.#redis.set(key, worker, 'PX', ms, 'NX')) === 'OK') return 'begun';
    if ((await this.#redis.get(key)) !== worker) {
      if ((await this.#redis.pttl(key)) !== neverExpires) return undefined;
      throw new ConfigError(
        `Redis has a value under ${key} that no worker has stored: remove it there, or use another database, as in redis://HOST/1.`,
        { key },
      );
    }
    await this.#redis.pexpire(key, ms);
    return 'held';
  }

  async release(worker: string): Promise<void> {
    if ((await this.#redis.get(this.#key('feeder'))) === worker) await this.#redis.del(this.#key('feeder'));
  }

  /** Rejects if hints can't be stored. Otherwise a loss of them is as good as none. */
  async checkHints(): Promise<void> {
    await this.#redis.hlen(this.#key('hints'));
  }

  async load(partition: number): Promise<unknown> {
    return tryParseJson((await this.#redis.hget(this.#key('hints'), String(partition))) ?? '');
  }

  async save(partition: number, hint: object): Promise<void> {
    await this.#redis.hset(this.#key('hints'), String(partition), JSON.stringify(hint));
  }

  async drop(partition: number): Promise<void> {
    await this.#redis.hdel(this.#key('hints'), String(partition));
  }

  /** Removes everything that Redis has of the run. */
  async remove(): Promise<void> {
    await this.queue.obliterate({ force: true });
    await this.#redis.del(this.#key('hints'), this.#key('fed'), this.#key('feeder'));
  }

  close(): Promise<void> {
    return this.queue.close();
  }

  /** BullMQ's own keys have other words behind the name. */
  #key(what: string): string {
    return `${queuePrefix}:${this.#name}:sluice-${what}`;
  }
}
