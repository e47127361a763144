import { ConfigError, NetworkError, type Limit } from '@sluice/core';
import { Redis } from 'ioredis';
import { changeNamedLimit, namedLimit, type NamedLimit } from '../limiter/namedLimit.js';
import { checkedRedisUrl, checkEviction } from '../redis.js';
import type { ProgressHints, Run, RunPlan, RunStatus, RunTarget } from '../run/run.js';
import { segments } from '../run/runFolder.js';
import { workersPresent, type WorkerPresence } from './presence.js';
import { checkedRunName, RunRegistry, type RegisteredRun } from './registry.js';
import { RunQueue, type FailedPartition } from './runQueue.js';
import { WorkLoop, type WorkOptions, type WorkReport } from './work.js';

/** Options of {@link openCluster}. */
export interface ClusterOptions {
  /** `redis://` or `rediss://`, with the password if there is one; it appears in no message. */
  readonly url: string;
}

/** A plan, and where its rows go. */
export interface Submission extends RunPlan {
  readonly to: RunTarget;
}

/** How far a run is, and who works on it. */
export interface ClusterStatus extends RunStatus, Pick<RegisteredRun, 'name' | 'source' | 'target' | 'state'> {
  /** Jobs in BullMQ: `delayed` ones have failed and are tried again. */
  readonly jobs: { readonly waiting: number; readonly active: number; readonly delayed: number };
  /** Partitions that were given up. */
  readonly failed: number;
  /** The first ten of them. */
  readonly failures: readonly FailedPartition[];
  /** Workers that were heard of within 15 s, and know the run. */
  readonly workers: readonly WorkerPresence[];
  /** The limits that these workers share. */
  readonly limits: readonly NamedLimit[];
}

/** Gives out runs to workers, by a Redis that all of them reach. */
export interface Cluster {
  /**
   * Stores a plan in its target and lets workers work on it. The same call resumes it, whatever happened to it: to store
   * it, to work on it, or to lose what Redis knew; partitions that were given up are tried again.
   *
   * @throws what the target throws; ConfigError if another run has the name; NetworkError if Redis can't be reached
   */
  submit(submission: Submission): Promise<RegisteredRun>;
  /** Works on all runs until the signal aborts. */
  work(options: WorkOptions): Promise<WorkReport>;
  /** The runs that Redis knows. */
  runs(): Promise<readonly RegisteredRun[]>;
  /** The run of a name. @throws ConfigError if Redis knows none */
  find(name: string): Promise<RegisteredRun>;
  /**
   * Says how far a run is, and who works on it.
   *
   * @param run the same run, as its target has it: that says what is done, and Redis who works on the rest
   */
  status(name: string, run: Run): Promise<ClusterStatus>;
  /** Lets no worker commit any more, for good, and removes the run's jobs. */
  cancel(name: string, run: Run): Promise<void>;
  /**
   * Removes files of claims that came to nothing, once no worker knows the run, and what Redis has of a run that ended.
   * Resolves to the number of files.
   *
   * @throws ConfigError if workers may still write
   */
  clean(name: string, run: Run): Promise<number>;
  /**
   * The limit that processes share by this name; `undefined` if nobody has used it.
   *
   * @param expected what the caller would give its own limiter
   *
   * @throws ConfigError if that is another limit
   */
  limit(name: string, expected?: Limit | readonly Limit[]): Promise<NamedLimit | undefined>;
  /**
   * Changes that limit for all processes, also those that were given another one. Nothing starts for one window.
   *
   * @throws ConfigError if a limit is invalid
   */
  changeLimit(name: string, limits: Limit | readonly Limit[]): Promise<void>;
  /** Ends the connection. */
  close(): Promise<void>;
}

/**
 * Opens the runs of a Redis. Redis gives out work; what is done, and whose rows count, is in each run's target, so Redis
 * may lose everything that it has.
 *
 * @throws ConfigError if the URL is not one
 *
 * @example
 * const cluster = openCluster({ url: 'redis://10.0.0.5' });
 * await cluster.submit({
 *   name: 'holdings',
 *   source: 'aptos.walletNfts',
 *   open: (params) => client.aptos.walletNfts(params),
 *   params: [{ ownerAddresses }],
 *   to: segments('/mnt/out/holdings'),
 * });
 * // On each machine:
 * const { signal } = new AbortController();
 * await cluster.work({ sources: { 'aptos.walletNfts': (params) => client.aptos.walletNfts(params) }, signal });
 */
export function openCluster({ url }: ClusterOptions): Cluster {
  return new RedisCluster(checkedRedisUrl(url));
}

class RedisCluster implements Cluster {
  readonly #url: string;
  /** Commands fail soon if Redis is away, so that each caller can say so. */
  readonly #redis: Redis;
  readonly #registry: RunRegistry;
  #checked: Promise<void> | undefined;
  /** Why the connection failed: a command says only that it did. */
  #lastError: string | undefined;

  constructor(url: string) {
    this.#url = url;
    this.#redis = connection(url, 2);
    this.#redis.on('error', ({ message }: Error) => (this.#lastError = message));
    this.#registry = new RunRegistry(this.#redis);
  }

  async submit({ to, ...plan }: Submission): Promise<RegisteredRun> {
    checkedRunName(plan.name);
    await this.#ready();
    const before = await this.#registry.find(plan.name);
    const run = await to.submit(plan);
    const { header, partitions } = run;
    if (before && before.id !== header.id && before.state === 'active')
      throw new ConfigError(
        `Another run has the name ${plan.name}: it writes to ${before.target}. Give this one another name, or cancel that one.`,
        { option: 'name' },
      );
    const registered: RegisteredRun = {
      ...{ name: plan.name, id: header.id, source: plan.source, partitions, target: to.address },
      ...{ state: 'active', since: Date.now(), failed: 0 },
    };
    await this.#with(plan.name, async (queue) => {
      if (before && before.id !== header.id) await queue.remove();
      else if (before) await queue.retryFailed();
    });
    if ((await run.status()).isCancelled)
      throw new ConfigError(`${plan.name} was cancelled for good. Submit it to another target.`);
    await this.#registry.set(registered);
    return registered;
  }

  async work(options: WorkOptions): Promise<WorkReport> {
    await this.#ready();
    const waiting = connection(this.#url, null);
    try {
      const openTarget = (address: string, hints: ProgressHints): RunTarget => segments(address, { hints });
      return await new WorkLoop({ redis: this.#redis, waiting }, { openTarget, ...options }).run();
    } finally {
      waiting.disconnect();
    }
  }

  async runs(): Promise<readonly RegisteredRun[]> {
    await this.#ready();
    return this.#registry.list();
  }

  async find(name: string): Promise<RegisteredRun> {
    await this.#ready();
    return this.#registry.get(name);
  }

  async status(name: string, run: Run): Promise<ClusterStatus> {
    const { source, target, state } = await this.find(name);
    const status = await run.status();
    const workers = await this.#workersOn(name);
    const names = new Set(workers.flatMap(({ limit }) => limit ?? []));
    const limits = await Promise.all(Array.from(names, (limit) => namedLimit(this.#redis, limit)));
    return this.#with(name, async (queue) => {
      const counts = await queue.queue.getJobCounts('waiting', 'active', 'delayed');
      const { waiting = 0, active = 0, delayed = 0 } = counts;
      const failed = await queue.failedCount();
      const failures = failed === 0 ? [] : await queue.failed(10);
      return {
        ...{ name, source, target, state, ...status, jobs: { waiting, active, delayed }, failed, failures, workers },
        limits: limits.flatMap((limit) => limit ?? []),
      };
    });
  }

  async cancel(name: string, run: Run): Promise<void> {
    const registered = await this.find(name);
    // What counts: whatever Redis loses, nothing is committed any more.
    await run.cancel();
    await this.#registry.set({ ...registered, state: 'cancelled', since: Date.now() });
    await this.#with(name, (queue) => queue.remove());
  }

  async clean(name: string, run: Run): Promise<number> {
    const { state } = await this.find(name);
    const workers = await this.#workersOn(name);
    const first = workers[0];
    if (first)
      throw new ConfigError(
        `${workers.length === 1 ? 'A worker' : `${workers.length} workers`} may still write, e.g. process ${first.pid} of ${first.host}. End it, or wait until the run has ended.`,
      );
    const removed = await run.clean();
    if (state === 'active') return removed;
    await this.#with(name, (queue) => queue.remove());
    await this.#registry.remove(name);
    return removed;
  }

  async limit(name: string, expected: Limit | readonly Limit[] = []): Promise<NamedLimit | undefined> {
    await this.#ready();
    return namedLimit(this.#redis, name, [expected].flat());
  }

  async changeLimit(name: string, limits: Limit | readonly Limit[]): Promise<void> {
    await this.#ready();
    await changeNamedLimit(this.#redis, name, [limits].flat());
  }

  close(): Promise<void> {
    this.#redis.disconnect();
    return Promise.resolve();
  }

  async #workersOn(name: string): Promise<readonly WorkerPresence[]> {
    const workers = await workersPresent(this.#redis);
    return workers.filter(({ runs }) => runs.some(({ run }) => run === name));
  }

  async #with<R>(name: string, use: (queue: RunQueue) => Promise<R>): Promise<R> {
    const queue = new RunQueue(this.#redis, name);
    try {
      return await use(queue);
    } finally {
      await queue.close();
    }
  }

  /** @throws NetworkError if Redis can't be reached; ConfigError if it must not be used */
  async #ready(): Promise<void> {
    try {
      await (this.#checked ??= this.#redis.connect().then(() => checkEviction(this.#redis)));
    } catch (error) {
      this.#checked = undefined;
      if (error instanceof ConfigError) throw error;
      const { hostname, port } = new URL(this.#url);
      // Errors of the driver have the arguments of a command, e.g. the password, but not in their messages.
      const why = this.#lastError ?? (error instanceof Error ? error.message : String(error));
      throw new NetworkError(`Redis at ${hostname}:${port || '6379'} can't be used: ${why}`, { fault: 'machine' });
    }
  }
}

/** @param retries how often a command is tried on a new connection; `null`: until one answers */
function connection(url: string, retries: number | null): Redis {
  const redis = new Redis(url, {
    ...{ maxRetriesPerRequest: retries, lazyConnect: retries !== null, connectionName: 'sluice' },
    retryStrategy: (attempt) => Math.min(1_000, 50 * attempt),
  });
  // Calls fail with the same error.
  redis.on('error', () => undefined);
  return redis;
}
