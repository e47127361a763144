import { ConfigError, NetworkError, type Limit } from '@sluice/core';
import { checkOptions } from '@sluice/core/kit';
import { changeNamedLimit, namedLimit, type NamedLimit } from '../limiter/namedLimit.js';
import { failsSoon, RedisConnection, waits } from '../redis.js';
import type { Run, RunPlan, RunStatus, RunTarget } from '../run/run.js';
import { listWorkers, type WorkerPresence } from './presence.js';
import { checkRunName, RunRegistry, type RegisteredRun } from './registry.js';
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

/** How far a run is, which its target says, and who works on it, which Redis says. */
export interface ClusterStatus extends RunStatus, Pick<RegisteredRun, 'name' | 'source' | 'failed'> {
  /** `unknown`: partitions are missing, and Redis does not know the run, or can't be asked. */
  readonly state: RegisteredRun['state'] | 'unknown';
  /** Why Redis can't be asked. */
  readonly redisError?: string;
  /** Jobs in BullMQ: `delayed` ones have failed and are tried again. */
  readonly jobs: { readonly waiting: number; readonly active: number; readonly delayed: number };
  /** The first ten partitions that were given up. */
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
   * Says how far a run is, and who works on it. Without Redis, what its target knows.
   *
   * @param run the same run, as its target has it
   */
  status(name: string, run: Run): Promise<ClusterStatus>;
  /**
   * Lets no worker commit any more, for good, and removes the run's jobs.
   *
   * @throws NetworkError if Redis can't be reached; the run is cancelled nevertheless
   */
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
 *   source: 'aptos.nfts',
 *   open: (params) => client.aptos.nfts(params),
 *   params: [{ ownerAddresses }],
 *   to: segments('/mnt/out/holdings'),
 * });
 * // On each machine:
 * const { signal } = new AbortController();
 * await cluster.work({ sources: { 'aptos.nfts': (params) => client.aptos.nfts(params) }, signal });
 */
export function openCluster(options: ClusterOptions): Cluster {
  checkOptions('openCluster()', options, { url: true });
  return new RedisCluster(options.url);
}

class RedisCluster implements Cluster {
  readonly #url: string;
  readonly #connection: RedisConnection;
  readonly #registry: RunRegistry;

  constructor(url: string) {
    this.#url = url;
    this.#connection = new RedisConnection(url, failsSoon);
    this.#registry = new RunRegistry(this.#connection.redis);
  }

  async submit({ to, ...plan }: Submission): Promise<RegisteredRun> {
    checkOptions('submit()', plan, { name: true, source: true, open: true, params: true });
    return this.#connection.use(async () => {
      const { name } = plan;
      checkRunName(name);
      await this.#checkName(name, to);
      const run = await to.submit(plan);
      const { id } = run.header;
      if ((await run.status()).isCancelled)
        throw new ConfigError(`${name} was cancelled for good. Submit it to another target.`);
      for (;;) {
        const { run: before, text } = await this.#registry.read(name);
        // In the same target, another run of this name follows one that is finished there.
        if (before?.state === 'active' && before.id !== id && before.target !== to.address) throw nameIsTaken(before);
        await this.#with(name, async (queue) => {
          if (before && before.id !== id) await queue.remove();
          else if (before) await queue.retryFailed();
        });
        const registered: RegisteredRun = {
          name,
          id,
          source: plan.source,
          partitions: run.partitions,
          target: to.address,
          state: 'active',
          since: Date.now(),
          failed: 0,
        };
        // Somebody else may have submitted another run by this name, or a worker may have ended this one.
        if (await this.#registry.replace(text, registered)) return registered;
      }
    });
  }

  async work(options: WorkOptions): Promise<WorkReport> {
    checkOptions('work()', options, {
      sources: true,
      openTarget: true,
      concurrency: true,
      signal: true,
      untilDone: true,
      limiter: true,
      onEvent: true,
      lostAfter: true,
      retryAfter: true,
    });
    return this.#connection.use(async () => {
      const waiting = new RedisConnection(this.#url, waits);
      try {
        return await new WorkLoop(this.#connection, waiting, options).run();
      } finally {
        waiting.close();
      }
    });
  }

  runs(): Promise<readonly RegisteredRun[]> {
    return this.#connection.use(() => this.#registry.list());
  }

  find(name: string): Promise<RegisteredRun> {
    return this.#connection.use(() => this.#registry.get(name));
  }

  async status(name: string, run: Run): Promise<ClusterStatus> {
    const { header } = run;
    const status = await run.status();
    const isDone = status.done === status.partitions;
    const known: ClusterStatus = {
      ...status,
      name,
      source: header.source,
      state: status.isCancelled ? 'cancelled' : isDone ? 'finished' : 'unknown',
      jobs: { waiting: 0, active: 0, delayed: 0 },
      failed: 0,
      failures: [],
      workers: [],
      limits: [],
    };
    try {
      return await this.#connection.use(async () => {
        const { run: registered } = await this.#registry.read(name);
        if (registered?.id !== header.id) return known;
        return { ...known, ...(await this.#dispatched(registered)) };
      });
    } catch (error) {
      if (!(error instanceof NetworkError)) throw error;
      return { ...known, redisError: error.message };
    }
  }

  async cancel(name: string, run: Run): Promise<void> {
    // What counts: whatever Redis loses, nothing is committed any more.
    await run.cancel();
    try {
      await this.#connection.use(async () => {
        const { run: registered, text } = await this.#registry.read(name);
        if (registered?.id !== run.header.id) return;
        await this.#registry.replace(text, { ...registered, state: 'cancelled', since: Date.now() });
        await this.#with(name, (queue) => queue.remove());
      });
    } catch (error) {
      if (!(error instanceof NetworkError)) throw error;
      const summary = `${name} is cancelled for good, but its jobs are still in Redis. ${error.message}`;
      throw new NetworkError(summary, { fault: 'machine', cause: error });
    }
  }

  clean(name: string, run: Run): Promise<number> {
    return this.#connection.use(async () => {
      const { id, state, target } = await this.#registry.get(name);
      if (id !== run.header.id)
        throw new ConfigError(
          `Redis knows another run by the name ${name}, which writes to ${target}. Clean that one.`,
        );
      const writing = (await listWorkers(this.#connection.redis)).filter(({ runs }) =>
        runs.some((on) => on.run === name && on.unable === undefined),
      );
      const [first] = writing;
      if (first)
        throw new ConfigError(
          `${writing.length === 1 ? 'A worker' : `${writing.length} workers`} may still write, e.g. process ${first.pid} of ${first.host}. End it, or wait until the run has ended.`,
        );
      return this.#with(name, async (queue) => {
        if (state === 'active') return run.clean(queue);
        const removed = await run.clean();
        await queue.remove();
        await this.#registry.remove(name);
        return removed;
      });
    });
  }

  limit(name: string, expected: Limit | readonly Limit[] = []): Promise<NamedLimit | undefined> {
    return this.#connection.use(() => namedLimit(this.#connection.redis, name, [expected].flat()));
  }

  changeLimit(name: string, limits: Limit | readonly Limit[]): Promise<void> {
    return this.#connection.use(() => changeNamedLimit(this.#connection.redis, name, [limits].flat()));
  }

  close(): Promise<void> {
    this.#connection.close();
    return Promise.resolve();
  }

  /** A target keeps the name of its run, so nothing is stored there by a name that another one has. */
  async #checkName(name: string, to: RunTarget): Promise<void> {
    const { run: before } = await this.#registry.read(name);
    if (before?.state !== 'active' || before.target === to.address) return;
    const found = await to.open().catch(() => undefined);
    await found?.close?.();
    if (found?.header.id !== before.id) throw nameIsTaken(before);
  }

  /** What Redis knows of a run. */
  async #dispatched({ name, state }: RegisteredRun) {
    const { redis } = this.#connection;
    const present = await listWorkers(redis);
    const workers = present.filter(({ runs }) => runs.some(({ run }) => run === name));
    const names = new Set(workers.flatMap(({ limit }) => limit ?? []));
    // A limit that can't be read is a fault of its own command.
    const limits = await Promise.all(Array.from(names, (limit) => namedLimit(redis, limit).catch(() => undefined)));
    return this.#with(name, async (queue) => {
      const { failed, ...jobs } = await queue.counts();
      const failures = failed === 0 ? [] : await queue.failed(10);
      return {
        state,
        jobs,
        failed,
        failures,
        workers,
        limits: limits.flatMap((limit) => limit ?? []),
      };
    });
  }

  async #with<R>(name: string, use: (queue: RunQueue) => Promise<R>): Promise<R> {
    const queue = new RunQueue(this.#connection.redis, name);
    try {
      return await use(queue);
    } finally {
      await queue.close();
    }
  }
}

function nameIsTaken({ name, target }: RegisteredRun): ConfigError {
  return new ConfigError(
    `Another run has the name ${name}: it writes to ${target}. Give this one another name, or cancel that one.`,
    { option: 'name' },
  );
}
