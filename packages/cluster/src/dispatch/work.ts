import { randomUUID } from 'node:crypto';
import { ConfigError } from '@sluice/core';
import type { RedisLimiter } from '../limiter/redisLimiter.js';
import { isOfRedis, type RedisConnection } from '../redis.js';
import type { OpenSource, ProgressHints, Run, RunGaps, RunTarget } from '../run/run.js';
import { Feeder } from './feeder.js';
import { backoffAfter, maxFailures, reasonOf } from './failures.js';
import { endPresence, tellPresence, type WorkerOnRun } from './presence.js';
import { RunRegistry, type RegisteredRun } from './registry.js';
import { RunQueue } from './runQueue.js';
import { RunWorker, type JobEnd } from './runWorker.js';

/** What a worker tells. */
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
  /** Redis can't be reached, which is told once until it can, or it refuses a command. */
  | { readonly type: 'redis'; readonly error: unknown }
  | { readonly type: 'reconnected' };

/** Options of a worker. */
export interface WorkOptions {
  /** Makes sources by their names. */
  readonly sources: Readonly<Record<string, OpenSource>>;
  /** Opens the target of a run by its address. Default: a folder. */
  readonly openTarget?: (address: string, hints: ProgressHints) => RunTarget | Promise<RunTarget>;
  /** Partitions of a run at the same time. Default 4. */
  readonly concurrency?: number;
  /** Drains the worker: what was fetched is saved, and the rest goes to others. */
  readonly signal?: AbortSignal;
  /** Ends once no run is left to work on, instead of waiting for one. Default `false`. */
  readonly untilDone?: boolean;
  /** The limiter of the sources' client, if workers share one: who asks for a run's status sees how much of it is used. */
  readonly limiter?: Pick<RedisLimiter, 'name'>;
  /** Told what happens, e.g. for a log. */
  readonly onEvent?: (event: WorkEvent) => void;
  /** Ms after which partitions of a worker that says nothing go to others. Default 30,000. */
  readonly lostAfter?: number;
  /** Ms before a failed partition is tried again; each further attempt waits four times longer. Default 2,000. */
  readonly retryAfter?: number;
}

/** What a worker has done. */
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

/** The connections of a worker. */
export interface WorkConnections {
  /** Fails soon if Redis is away. */
  readonly own: RedisConnection;
  /** Waits for Redis. */
  readonly waiting: RedisConnection;
}

/** Ms between looks at what there is to do, unless a run has no work for this worker. */
const lookEvery = 1_000;
const leastBetweenLooks = 100;
/** Ms until a run is tried again that this machine could not work on. */
const unableFor = 30_000;
/** Ms that a worker waits for Redis when it ends. Jobs that it could not give back go to others after `lostAfter`. */
const closeWithin = 10_000;

/** A run that the worker works on, or can't. */
interface JoinedRun {
  readonly registered: RegisteredRun;
  readonly run: Run;
  readonly queue: RunQueue;
  readonly feeder: Feeder;
  readonly worker: RunWorker;
  rows: number;
  /** Its target says so. */
  isCancelled: boolean;
  /** Settles once the worker has left it. */
  leaving?: Promise<void>;
}

interface UnableRun {
  /** When it tries again, by a clock that nobody sets. */
  until: number;
  readonly reason: string;
  /** The run, if it worked on it before. */
  readonly left: Pick<JoinedRun, 'registered' | 'run'> | undefined;
}

/** Works on all runs of a Redis, until it is told to end. */
export class WorkLoop {
  readonly #connections: WorkConnections;
  readonly #options: WorkOptions;
  readonly #registry: RunRegistry;
  readonly #id = randomUUID();
  readonly #startedAt = Date.now();
  readonly #joined = new Map<string, JoinedRun>();
  /** Runs that this machine can't work on. */
  readonly #unable = new Map<string, UnableRun>();
  /** What was told of Redis. */
  readonly #told = new Set<string>();
  #isAway = false;
  /** Looks again at once. */
  #wake = (): void => undefined;
  #report: WorkReport = { partitions: 0, rows: 0, refused: 0, failed: 0 };

  constructor(connections: WorkConnections, options: WorkOptions) {
    this.#connections = connections;
    this.#options = options;
    this.#registry = new RunRegistry(connections.own.redis);
  }

  async run(): Promise<WorkReport> {
    const { signal } = this.#options;
    try {
      while (!(signal?.aborted ?? false)) {
        if ((await this.#look()) && this.#options.untilDone === true) break;
        await until(leastBetweenLooks, signal);
        await until(lookEvery, signal, (wake) => (this.#wake = wake));
      }
    } finally {
      await this.#close();
    }
    return this.#report;
  }

  /** Returns whether nothing is left to work on. */
  async #look(): Promise<boolean> {
    let isOver = false;
    try {
      const registered = await this.#registry.list();
      const active = registered.filter(({ state }) => state === 'active');
      for (const name of this.#unable.keys())
        if (!active.some((run) => run.name === name)) await this.#keepLeft(name, registered);
      for (const joined of this.#joined.values())
        await this.#forRun(joined.registered, () => this.#keep(joined, registered));
      for (const run of active) await this.#forRun(run, () => this.#join(run));
      for (const joined of this.#joined.values()) await this.#forRun(joined.registered, () => this.#feed(joined));
      isOver = active.length === 0 && this.#joined.size === 0 && this.#unable.size === 0;
      await this.#tellPresence();
      if (this.#isAway) this.#tellBack();
    } catch (error) {
      this.#tellAway(error);
    }
    return isOver;
  }

  /** What is wrong with one run keeps the worker from no other one. */
  async #forRun({ name }: RegisteredRun, work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      if (isOfRedis(error) && !error.message.startsWith('WRONGTYPE')) throw error;
      this.#tellUnable(name, this.#connections.own.explained(error));
      const joined = this.#joined.get(name);
      if (joined) await this.#leave(joined);
    }
  }

  /** Leaves a run that ended, and registers it again if Redis lost it. */
  async #keep(joined: JoinedRun, registered: readonly RegisteredRun[]): Promise<void> {
    const { name, id } = joined.registered;
    const found = registered.find((run) => run.name === name);
    if (!found) await this.#registerAgain(joined);
    else if (found.id !== id || found.state !== 'active') {
      await this.#leave(joined);
      if (found.id === id && found.state !== 'active') this.#tellEnded(found);
    }
  }

  /** Forgets a run that it has left and that ended. One that Redis lost may be known to no other worker. */
  async #keepLeft(name: string, registered: readonly RegisteredRun[]): Promise<void> {
    const left = this.#unable.get(name)?.left;
    const isLost = left && !registered.some((run) => run.name === name);
    if (!isLost) this.#unable.delete(name);
    else if (!this.#joined.has(name))
      await this.#forRun(left.registered, async () => {
        if (!(await this.#registerAgain(left))) this.#unable.delete(name);
        await left.run.close?.();
      });
  }

  /** Returns whether workers may go on with it. */
  async #registerAgain({ registered, run }: Pick<JoinedRun, 'registered' | 'run'>): Promise<boolean> {
    const { isCancelled } = await run.status();
    if (!isCancelled) await this.#registry.add(registered);
    return !isCancelled;
  }

  async #join(registered: RegisteredRun): Promise<void> {
    const { name, id, target, source } = registered;
    if (this.#joined.has(name) || (this.#unable.get(name)?.until ?? 0) > performance.now()) return;
    const queue = new RunQueue(this.#connections.own.redis, name);
    let run: Run | undefined;
    try {
      const { sources, openTarget, concurrency = 4, lostAfter = 30_000, retryAfter = 2_000 } = this.#options;
      if (!Object.hasOwn(sources, source)) throw new ConfigError(missingSource(registered, Object.keys(sources)));
      run = await (await (openTarget ?? noTarget)(target, queue)).open(sources);
      if (run.header.id !== id)
        throw new ConfigError(`${target} has another run here than the one that was submitted. Is it mounted?`);
      // A wrong key or another version is told before any job is taken.
      await run.sourceOf(0);
      await queue.checkHints();
      const worker = new RunWorker({
        run,
        name,
        concurrency,
        lostAfter,
        retryAfter,
        connection: this.#connections.waiting.redis,
        onEnd: (end) => this.#onEnd(name, end),
        onError: (error) => this.#tellRefusal(error),
      });
      const longestDelay = backoffAfter(maxFailures - 1, retryAfter);
      const feeder = new Feeder({ run, queue, worker: this.#id, longestDelay });
      this.#joined.set(name, { registered, run, queue, feeder, worker, rows: 0, isCancelled: false });
      this.#unable.delete(name);
      this.#tell({ type: 'joined', run: name, partitions: run.partitions, target });
    } catch (error) {
      await queue.close();
      await run?.close?.();
      throw error;
    }
  }

  async #feed({ registered, run: joined, feeder, queue, leaving, isCancelled }: JoinedRun): Promise<void> {
    if (leaving) return;
    const { run, text } = await this.#registry.read(registered.name);
    if (run?.id !== registered.id || run.state !== 'active') return;
    // Redis was away when it was cancelled.
    const failed = isCancelled ? 0 : await feeder.step();
    if (failed === undefined) return;
    if (failed === 0) await queue.remove();
    const state = isCancelled ? 'cancelled' : 'finished';
    await this.#registry.replace(text, { ...run, ...(await gapsOf(joined)), state, since: Date.now(), failed });
  }

  #onEnd(name: string, end: JobEnd): void {
    const joined = this.#joined.get(name);
    if (end.type === 'unable') {
      this.#tellUnable(name, end.error);
      if (joined) void this.#leave(joined);
      return;
    }
    if (end.type === 'partition') {
      const { partitions, rows, refused, failed } = this.#report;
      this.#report = {
        partitions: partitions + (end.outcome === 'committed' ? 1 : 0),
        rows: rows + end.rows,
        refused: refused + (end.outcome === 'refused' ? 1 : 0),
        failed,
      };
      if (joined) joined.rows += end.rows;
      if (joined && end.outcome === 'cancelled') joined.isCancelled = true;
    }
    this.#tell({ run: name, ...end });
    // The job that has ended is still among them.
    if (joined && joined.worker.working.length <= 1) this.#wake();
  }

  #leave(joined: JoinedRun): Promise<void> {
    return (joined.leaving ??= this.#left(joined));
  }

  /** Without Redis, some of it fails or takes forever. The run must be forgotten nevertheless, to be joined again. */
  async #left({ registered, worker, feeder, queue, run }: JoinedRun): Promise<void> {
    for (const end of [() => worker.close(), () => feeder.close(), () => queue.close(), async () => run.close?.()])
      await within(closeWithin, end());
    this.#joined.delete(registered.name);
  }

  async #tellPresence(): Promise<void> {
    const { limiter } = this.#options;
    const runs: WorkerOnRun[] = [
      ...Array.from(this.#joined.values(), ({ registered, worker, rows }) => {
        return { run: registered.name, working: worker.working, rows };
      }),
      ...Array.from(this.#unable, ([run, { reason }]) => ({ run, working: [], rows: 0, unable: reason })),
    ];
    await tellPresence(this.#connections.own.redis, {
      id: this.#id,
      startedAt: this.#startedAt,
      runs,
      ...(limiter && { limit: limiter.name }),
    });
  }

  #tellUnable(run: string, error: unknown): void {
    const reason = reasonOf(error);
    const known = this.#unable.get(run);
    const left = this.#joined.get(run) ?? known?.left;
    this.#unable.set(run, { until: performance.now() + unableFor, reason, left });
    if (known?.reason !== reason) this.#tell({ type: 'unable', run, error });
  }

  #tellEnded(registered: RegisteredRun): void {
    const { name, state, failed } = registered;
    if (state === 'active') return;
    this.#report = { ...this.#report, failed: this.#report.failed + failed };
    this.#tell({ type: 'ended', run: name, state, failed, ...gapsIn(registered) });
  }

  /**
   * Tells what the server refuses, e.g. since the user has too few rights. BullMQ's other errors are no news: that a
   * connection was cut is noticed here, too, and that a job went to another worker is nothing to act on.
   */
  #tellRefusal(error: unknown): void {
    if (!(error instanceof Error) || error.name !== 'ReplyError') return;
    this.#tellOnce(this.#connections.own.explained(error));
  }

  #tellAway(error: unknown): void {
    if (this.#isAway) return;
    this.#isAway = true;
    this.#tellOnce(this.#connections.own.explained(error));
  }

  #tellOnce(error: unknown): void {
    const reason = reasonOf(error);
    if (this.#told.has(reason)) return;
    this.#told.add(reason);
    this.#tell({ type: 'redis', error });
  }

  #tellBack(): void {
    this.#isAway = false;
    this.#told.clear();
    // Most runs that it can't work on lacked Redis.
    for (const unable of this.#unable.values()) unable.until = 0;
    this.#tell({ type: 'reconnected' });
  }

  #tell(event: WorkEvent): void {
    this.#options.onEvent?.(event);
  }

  async #close(): Promise<void> {
    const left = Promise.all(Array.from(this.#joined.values(), (joined) => this.#leave(joined)));
    await within(
      closeWithin,
      left.then(() => endPresence(this.#connections.own.redis, this.#id)),
    );
  }
}

/** Resolves when the work is settled, or after `ms`. */
async function within(ms: number, work: Promise<unknown>): Promise<void> {
  const late = new AbortController();
  await Promise.race([work.catch(() => undefined), until(ms, late.signal)]);
  late.abort();
}

async function gapsOf(run: Run): Promise<RunGaps> {
  return gapsIn(await run.status());
}

function gapsIn({ isIncomplete, rowsNotRemoved, shortOfTotal }: RunGaps): RunGaps {
  return {
    ...(isIncomplete && { isIncomplete }),
    ...(rowsNotRemoved !== undefined && { rowsNotRemoved }),
    ...(shortOfTotal && { shortOfTotal }),
  };
}

function noTarget(address: string): never {
  throw new ConfigError(`This worker can't open the target ${address}.`);
}

function missingSource({ name, source }: RegisteredRun, known: readonly string[]): string {
  return `${name} needs the source ${source}, which this machine does not have. It has: ${known.slice(0, 20).join(', ') || 'none'}.`;
}

/** Resolves after `ms`, when the signal aborts, or when whoever `wakes` it does. */
function until(ms: number, signal: AbortSignal | undefined, wakes?: (wake: () => void) => void): Promise<void> {
  return new Promise((resolve) => {
    const end = (): void => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', end);
      resolve();
    };
    const timer = setTimeout(end, ms);
    if (signal?.aborted === true) end();
    else signal?.addEventListener('abort', end, { once: true });
    wakes?.(end);
  });
}
