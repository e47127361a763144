import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { ConfigError } from '@sluice/core';
import { pickGap } from '@sluice/core/kit';
import type { RedisLimiter } from '../limiter/redisLimiter.js';
import { isRedisError, type RedisConnection } from '../redis.js';
import type { OpenSource, ProgressHints, Run, RunGaps, RunTarget } from '../run/run.js';
import { segments } from '../run/runFolder.js';
import { Feeder } from './feeder.js';
import { backoffAfter, maxFailures, describeError } from './failures.js';
import { removePresence, storePresence, type WorkerOnRun } from './presence.js';
import { RunRegistry, type RegisteredRun } from './registry.js';
import { RunQueue } from './runQueue.js';
import { JobWorker, type JobEnd } from './jobWorker.js';

/** An event of a worker. */
export type WorkEvent =
  /** It works on a run now. */
  | { readonly type: 'joined'; readonly run: string; readonly partitions: number; readonly target: string }
  /** It can't work on a run, and tries again later. */
  | { readonly type: 'unable'; readonly run: string; readonly error: unknown }
  | ({ readonly run: string } & Exclude<JobEnd, { readonly type: 'unable' }>)
  /** Nothing of a run is left to do. */
  | ({
      readonly type: 'ended';
      readonly run: string;
      readonly state: 'finished' | 'cancelled';
      readonly failed: number;
    } & RunGaps)
  /** Redis can't be reached, which is reported once until it can, or it refuses a command. */
  | { readonly type: 'redis'; readonly error: unknown }
  | { readonly type: 'reconnected' };

/** Options of a worker. */
export interface WorkOptions {
  /** Makes sources by their names. */
  readonly sources: Readonly<Record<string, OpenSource>>;
  /** Opens the target of a run by its address. Default: a folder. */
  readonly openTarget?: ((address: string, hints: ProgressHints) => RunTarget | Promise<RunTarget>) | undefined;
  /** Partitions of a run at the same time. Default 4. */
  readonly concurrency?: number | undefined;
  /** Drains the worker: what was fetched is saved, and the rest goes to others. */
  readonly signal?: AbortSignal | undefined;
  /** Ends once no run is left to work on, instead of waiting for one. Default `false`. */
  readonly untilDone?: boolean | undefined;
  /** The limiter of the sources' client, if workers share one: who asks for a run's status sees how much of it is used. */
  readonly limiter?: Pick<RedisLimiter, 'name'> | undefined;
  /** Called with what happens, e.g. for a log. */
  readonly onEvent?: ((event: WorkEvent) => void) | undefined;
  /** Ms after which partitions of a worker that is silent go to others. Default 30,000. */
  readonly lostAfter?: number | undefined;
  /** Ms before a failed partition is tried again; each further attempt waits four times longer. Default 2,000. */
  readonly retryAfter?: number | undefined;
}

/** The counts of a worker that has ended. */
export interface WorkReport {
  /** Partitions that it finished. */
  readonly partitions: number;
  /** Rows that it fetched, also of partitions that others finished. */
  readonly rows: number;
  /** Commits that were refused, since another worker was first. */
  readonly refused: number;
  /** Partitions that were given up, in all runs that it saw end. */
  readonly failed: number;
}

/** Ms between looks at what there is to do, unless a run has no work for this worker. */
const lookEvery = 1_000;
const leastBetweenLooks = 100;
/** Ms until a run is tried again that this machine could not work on. */
const unableFor = 30_000;
/** Ms that a worker waits for Redis when it ends. Jobs that it could not give back go to others after `lostAfter`. */
const closeWithin = 10_000;

/** A run that the worker knows. */
interface KnownRun {
  readonly registered: RegisteredRun;
  /** Absent if it could not be opened yet. */
  readonly run?: Run;
  /** While the worker works on it. */
  work?: RunWork | undefined;
  /** Why this machine can't work on it, and when it tries again, by a clock that nobody sets. */
  unable?: { until: number; readonly reason: string };
}

interface RunWork {
  readonly queue: RunQueue;
  readonly feeder: Feeder;
  readonly worker: JobWorker;
  rows: number;
  /** Its target says so. */
  isCancelled: boolean;
  /** Settles once the worker has left the run. */
  leaving?: Promise<void>;
}

/** Works on all runs of a Redis, until it is told to end. */
export class WorkLoop {
  /** Fails soon if Redis is away. */
  readonly #connection: RedisConnection;
  /** Waits for Redis. */
  readonly #waiting: RedisConnection;
  readonly #options: WorkOptions;
  readonly #registry: RunRegistry;
  readonly #id = randomUUID();
  readonly #startedAt = Date.now();
  readonly #runs = new Map<string, KnownRun>();
  /** What was reported of Redis since it was back. */
  readonly #redisErrors = new Set<string>();
  #isAway = false;
  /** Looks again at once. */
  #wake = (): void => undefined;
  readonly #report = { partitions: 0, rows: 0, refused: 0, failed: 0 };

  constructor(connection: RedisConnection, waiting: RedisConnection, options: WorkOptions) {
    this.#connection = connection;
    this.#waiting = waiting;
    this.#options = options;
    this.#registry = new RunRegistry(connection.redis);
  }

  async run(): Promise<WorkReport> {
    const { signal = new AbortController().signal, untilDone = false } = this.#options;
    const stop = (): void => this.#wake();
    const isStopped = (): boolean => signal.aborted;
    signal.addEventListener('abort', stop, { once: true });
    try {
      while (!isStopped()) {
        if ((await this.#look()) && untilDone) break;
        await delay(leastBetweenLooks);
        const rest = new AbortController();
        this.#wake = () => rest.abort();
        if (!isStopped()) await delay(lookEvery, undefined, { signal: rest.signal }).catch(() => undefined);
      }
    } finally {
      signal.removeEventListener('abort', stop);
      const left = Promise.all(Array.from(this.#runs.values(), (known) => this.#leave(known)));
      await within(
        closeWithin,
        left.then(() => removePresence(this.#connection.redis, this.#id)),
      );
    }
    return this.#report;
  }

  /** Returns whether nothing is left to work on. */
  async #look(): Promise<boolean> {
    let isOver = false;
    try {
      const registered = await this.#registry.list();
      const active = registered.filter(({ state }) => state === 'active');
      for (const known of this.#runs.values())
        await this.#forRun(known.registered, () => this.#keep(known, registered));
      for (const run of active) await this.#forRun(run, () => this.#join(run));
      for (const known of this.#runs.values()) await this.#forRun(known.registered, () => this.#feed(known));
      isOver = active.length === 0 && this.#runs.size === 0;
      await this.#storePresence();
      if (this.#isAway) this.#onRedisBack();
    } catch (error) {
      if (!this.#isAway) this.#reportRedis(error);
      this.#isAway = true;
    }
    return isOver;
  }

  /** An error of one run keeps the worker from no other one. */
  async #forRun(registered: RegisteredRun, work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      if (isRedisError(error) && !error.message.startsWith('WRONGTYPE')) throw error;
      await this.#giveUp(registered, this.#connection.explain(error));
    }
  }

  /** Leaves and forgets a run that ended. One that Redis lost is registered again: no other worker may know it. */
  async #keep(known: KnownRun, registered: readonly RegisteredRun[]): Promise<void> {
    const { name, id } = known.registered;
    const found = registered.find((run) => run.name === name);
    if (found?.id === id && found.state === 'active') return;
    const wasWorking = known.work !== undefined;
    if (!found && known.run) {
      const { isCancelled } = await known.run.status();
      if (!wasWorking) await known.run.close?.();
      if (!isCancelled) {
        await this.#registry.replace('', known.registered);
        return;
      }
    }
    await this.#leave(known);
    this.#runs.delete(name);
    if (!wasWorking || found?.id !== id || found.state === 'active') return;
    const { state, failed } = found;
    this.#report.failed += failed;
    this.#emit({ type: 'ended', run: name, state, failed, ...pickGaps(found) });
  }

  async #join(registered: RegisteredRun): Promise<void> {
    const { name, id, target, source } = registered;
    const known = this.#runs.get(name);
    if (known?.work || (known?.unable?.until ?? 0) > performance.now()) return;
    const queue = new RunQueue(this.#connection.redis, name);
    let run: Run | undefined;
    try {
      const {
        sources,
        openTarget = (address: string, hints: ProgressHints) => segments(address, { hints }),
        concurrency = 4,
        lostAfter = 30_000,
        retryAfter = 2_000,
      } = this.#options;
      if (!Object.hasOwn(sources, source)) throw new ConfigError(missingSource(registered, Object.keys(sources)));
      run = await (await openTarget(target, queue)).open(sources);
      if (run.header.id !== id)
        throw new ConfigError(`${target} has another run here than the one that was submitted. Is it mounted?`);
      // A wrong key or another version is reported before any job is taken.
      await run.sourceOf(0);
      await queue.checkHints();
      const worker = new JobWorker({
        run,
        name,
        concurrency,
        lostAfter,
        retryAfter,
        connection: this.#waiting.redis,
        onEnd: (end) => this.#onEnd(name, end),
        onError: (error) => this.#onWorkerError(error),
      });
      const longestDelay = backoffAfter(maxFailures - 1, retryAfter);
      const feeder = new Feeder({ run, queue, worker: this.#id, longestDelay });
      this.#runs.set(name, { registered, run, work: { queue, feeder, worker, rows: 0, isCancelled: false } });
      this.#emit({ type: 'joined', run: name, partitions: run.partitions, target });
    } catch (error) {
      await queue.close();
      await run?.close?.();
      throw error;
    }
  }

  async #feed({ registered, run: opened, work }: KnownRun): Promise<void> {
    if (!opened || !work || work.leaving) return;
    const { run, text } = await this.#registry.read(registered.name);
    if (run?.id !== registered.id || run.state !== 'active') return;
    // Redis was away when it was cancelled.
    const failed = work.isCancelled ? 0 : await work.feeder.step();
    if (failed === undefined) return;
    if (failed === 0) await work.queue.remove();
    const state = work.isCancelled ? 'cancelled' : 'finished';
    await this.#registry.replace(text, {
      ...run,
      ...pickGaps(await opened.status()),
      state,
      since: Date.now(),
      failed,
    });
  }

  #onEnd(name: string, end: JobEnd): void {
    const known = this.#runs.get(name);
    if (end.type === 'unable') {
      if (known) void this.#giveUp(known.registered, end.error);
      return;
    }
    if (end.type === 'partition') {
      const { outcome, rows } = end;
      this.#report.rows += rows;
      if (outcome === 'committed') this.#report.partitions += 1;
      if (outcome === 'refused') this.#report.refused += 1;
      if (known?.work) known.work.rows += rows;
      if (known?.work && outcome === 'cancelled') known.work.isCancelled = true;
    }
    this.#emit({ run: name, ...end });
    // The job that has ended is still among them.
    if (known?.work && known.work.worker.working.length <= 1) this.#wake();
  }

  /** Leaves a run that this machine can't work on, and tries again later. */
  async #giveUp(registered: RegisteredRun, error: unknown): Promise<void> {
    const known: KnownRun = this.#runs.get(registered.name) ?? { registered };
    const reason = describeError(error);
    const isNews = known.unable?.reason !== reason;
    known.unable = { until: performance.now() + unableFor, reason };
    this.#runs.set(registered.name, known);
    if (isNews) this.#emit({ type: 'unable', run: registered.name, error });
    await this.#leave(known);
  }

  async #leave(known: KnownRun): Promise<void> {
    if (!known.work) return;
    await (known.work.leaving ??= this.#endWork(known.work, known.run));
    known.work = undefined;
  }

  /** Without Redis, some of it fails or takes forever. The run must be left nevertheless, to be joined again. */
  async #endWork({ worker, feeder, queue }: RunWork, run: Run | undefined): Promise<void> {
    for (const end of [() => worker.close(), () => feeder.close(), () => queue.close(), async () => run?.close?.()])
      await within(closeWithin, end());
  }

  async #storePresence(): Promise<void> {
    const { limiter } = this.#options;
    const runs = Array.from(this.#runs, ([run, { work, unable }]): WorkerOnRun => {
      // Until it has left a run, it may write.
      if (!work) return { run, working: [], rows: 0, unable: unable?.reason ?? '' };
      return { run, working: work.worker.working, rows: work.rows };
    });
    await storePresence(this.#connection.redis, {
      id: this.#id,
      startedAt: this.#startedAt,
      runs,
      ...(limiter && { limit: limiter.name }),
    });
  }

  /**
   * Reports what the server refuses, e.g. since the user has too few rights. BullMQ's other errors are no news: that a
   * connection was cut is noticed here, too, and that a job went to another worker is nothing to act on.
   */
  #onWorkerError(error: unknown): void {
    if (error instanceof Error && error.name === 'ReplyError') this.#reportRedis(error);
  }

  #reportRedis(thrown: unknown): void {
    const error = this.#connection.explain(thrown);
    const reason = describeError(error);
    if (this.#redisErrors.has(reason)) return;
    this.#redisErrors.add(reason);
    this.#emit({ type: 'redis', error });
  }

  #onRedisBack(): void {
    this.#isAway = false;
    this.#redisErrors.clear();
    // Most runs that it can't work on lacked Redis.
    for (const { unable } of this.#runs.values()) if (unable) unable.until = 0;
    this.#emit({ type: 'reconnected' });
  }

  #emit(event: WorkEvent): void {
    this.#options.onEvent?.(event);
  }
}

/** Resolves when the work is settled, or after `ms`. */
async function within(ms: number, work: Promise<unknown>): Promise<void> {
  const late = new AbortController();
  await Promise.race([work, delay(ms, undefined, { signal: late.signal })]).catch(() => undefined);
  late.abort();
}

function pickGaps({ isIncomplete, rowsNotRemoved, ...totals }: RunGaps): RunGaps {
  return {
    ...(isIncomplete && { isIncomplete }),
    ...(rowsNotRemoved !== undefined && { rowsNotRemoved }),
    ...pickGap(totals),
  };
}

function missingSource({ name, source }: RegisteredRun, known: readonly string[]): string {
  return `${name} needs the source ${source}, which this machine does not have. It has: ${known.slice(0, 20).join(', ') || 'none'}.`;
}
