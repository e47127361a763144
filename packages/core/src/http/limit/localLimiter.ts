import Bottleneck from 'bottleneck/light.js';
import type { Clock } from '../../clock.js';
import type { Budget, OpenBudget } from './budget.js';
import { Lateness } from './lateness.js';
import { checkLimit, costsOf, rateWindows, rateUse, type Limit, type RateWindow } from './limit.js';
import type { AcquireOptions, Limiter, LimiterState, Permit } from './limiterTypes.js';
import { newPermit } from './permit.js';
import { type Start, RequestWindows } from './requestWindows.js';
import { WaitQueue } from './waitQueue.js';

interface CostlyRequest extends AcquireOptions {
  /** By window. */
  readonly costs: readonly number[];
}

/** A permit whose request may have to wait for another limiter before it is written. */
export interface LocalPermit extends Permit {
  started(): boolean;
  /** Whether the request may be written now. Unlike `started`, it counts nothing. */
  mayStart(): boolean;
  /** Holds nothing of the budget for a while, since slices end while the request waits. It keeps its place otherwise. */
  suspend(): void;
  /**
   * Holds its part of the budget again, of a new slice if need be.
   *
   * @returns `false` if the budget has nothing left, or a pause has begun: the request needs another permit.
   *
   * @throws signal.reason of the request
   */
  resume(): Promise<boolean>;
}

/** The limiter of `rateLimit: false`: a request waits only for a pause that the API asked for. */
export function unlimited(clock: Clock, concurrency = Infinity): Limiter {
  return new LocalLimiter([], clock, { concurrency });
}

interface LocalLimiterOptions {
  /** Requests in parallel. Default: the fewest of the limits. */
  readonly concurrency?: number | undefined;
  /** Ms for which a permit counts whose request is not written yet: the deadline for connecting. Default 10,000. */
  readonly longestPending?: number;
  /** Lets long windows outlive the process. Default: they end with it. */
  readonly budget?: OpenBudget | undefined;
}

/**
 * A limiter of one process. The actual starts decide when the next request may start.
 *
 * A request that may start at once does. When a queue forms, a job of Bottleneck begins to serve it, since Bottleneck runs
 * at most some 400 jobs a second. Without limits there is none.
 */
export class LocalLimiter implements Limiter {
  readonly #clock: Clock;
  readonly #windows: readonly RateWindow[];
  readonly #concurrency: number;
  readonly #longestPending: number;
  readonly #queue = new WaitQueue<LocalPermit, CostlyRequest>(() => this.#serve());
  /** Suspended permits that wait for a new slice of the budget. */
  readonly #resuming = new WaitQueue<boolean, CostlyRequest>(() => this.#resume());
  readonly #starts: RequestWindows;
  readonly #lateness: Lateness;
  readonly #budget: Budget | undefined;
  #bottleneck: Bottleneck | undefined;
  #running = 0;
  #pausedUntil = -Infinity;
  #cancelTimer = (): void => undefined;

  /** @throws ConfigError if a limit is invalid; from `acquire`, at once, if a route's cost can never fit. */
  constructor(limits: readonly Limit[], clock: Clock, options: LocalLimiterOptions = {}) {
    for (const limit of limits) checkLimit(limit);
    const fewest = Math.min(...limits.map(({ concurrency = Infinity }) => concurrency));
    const { concurrency = fewest, longestPending = 10_000 } = options;
    this.#clock = clock;
    this.#windows = rateWindows(limits);
    this.#concurrency = concurrency;
    this.#longestPending = longestPending;
    this.#starts = new RequestWindows(this.#windows);
    this.#lateness = new Lateness(limits);
    this.#budget = options.budget?.(this.#windows, {
      onChange: () => {
        // They have waited for longer.
        this.#resume();
        this.#serve();
      },
      onPause: (ms) => this.#pauseHere(ms),
    });
  }

  get state(): LimiterState {
    const now = this.#now;
    const used = this.#starts.used(now);
    const rate = rateUse(this.#windows, this.#budget?.used(used) ?? used);
    const budget = this.#budget?.use;
    const isHeldUp = this.#queue.size > 0 && budget !== undefined && budget.returnsIn >= shortestPause;
    return {
      queued: this.#queue.size,
      running: this.#running,
      pausedFor: Math.max(0, this.#pausedUntil - now, isHeldUp ? budget.returnsIn : 0),
      ...(rate && { rate }),
      ...(budget && { budget }),
    };
  }

  pause(ms: number): void {
    this.#pauseHere(ms);
    this.#budget?.pause(ms);
  }

  async returnedFor(): Promise<number | undefined> {
    return this.#budget?.returnedFor();
  }

  async close(): Promise<void> {
    await this.#budget?.close();
  }

  // Not `async`: the promise of a queue would resolve later than that of a request that need not wait.
  acquire(request: AcquireOptions): Promise<LocalPermit> {
    let costs: readonly number[];
    try {
      costs = costsOf(this.#windows, request.route);
      request.signal?.throwIfAborted();
    } catch (error) {
      return Promise.reject(error);
    }
    // Those before it wait for a timer, a write or a release, which serves this one, too.
    const isBehind = this.#queue.size > 0 || this.#running >= this.#concurrency;
    const costly = { ...request, costs };
    if (!isBehind && this.#waitFor(costs) <= 0) return Promise.resolve(this.#begin(costly));
    const permit = this.#queue.wait(costly);
    if (!isBehind) this.#takeTurn();
    return permit;
  }

  get #now(): number {
    return this.#clock.monotonic();
  }

  #pauseHere(ms: number): void {
    this.#pausedUntil = Math.max(this.#pausedUntil, this.#now + ms);
  }

  /** Ms until a request of these costs may start; `Infinity` until the budget calls back. */
  #waitFor(costs: readonly number[]): number {
    const now = this.#now;
    const wait = Math.max(this.#starts.earliest(costs, now), this.#pausedUntil) - now;
    return wait > 0 ? wait : (this.#budget?.waitFor(costs) ?? 0);
  }

  /** Resumes suspended permits, in order, or refuses those that would have to wait for more than a slice. */
  #resume(): void {
    for (let { first } = this.#resuming; first; { first } = this.#resuming) {
      const { costs } = first.request;
      const wait = Math.max(this.#pausedUntil - this.#now, this.#budget?.waitFor(costs) ?? 0);
      if (wait === Infinity) return;
      if (wait <= 0) this.#budget?.hold(costs);
      first.admit(wait <= 0);
    }
  }

  /** Starts those that may start now, in order, and sets a timer for the next one. */
  #serve(): void {
    this.#cancelTimer();
    for (let { first } = this.#queue; first && this.#running < this.#concurrency; { first } = this.#queue) {
      const { costs } = first.request;
      const wait = this.#waitFor(costs);
      if (wait > 0) {
        if (wait < Infinity) this.#cancelTimer = this.#clock.after(wait, () => this.#serve());
        return;
      }
      first.admit(this.#begin(first.request));
    }
  }

  /** Begins to serve a queue. */
  #takeTurn(): void {
    if (this.#windows.length === 0) {
      this.#serve();
      return;
    }
    this.#bottleneck ??= newBottleneck();
    void this.#bottleneck.schedule(() => {
      this.#serve();
      return Promise.resolve();
    });
  }

  /** Gives a permit. Its start is pending until the request is written: connecting may take longer than a window. */
  #begin(request: CostlyRequest): LocalPermit {
    const { costs } = request;
    const now = this.#now;
    const pending = { at: now + this.#longestPending, costs };
    let start: Start | undefined;
    let isHeld = true;
    this.#starts.add(pending);
    this.#budget?.hold(costs);
    this.#running += 1;
    const mayStart = (): boolean => this.#now >= this.#pausedUntil && (this.#budget?.mayStart(costs) ?? true);
    const settle = (isWritten: boolean): void => {
      if (isHeld) this.#budget?.settle(costs, isWritten);
      isHeld = false;
    };
    const permit = newPermit({
      mayStart,
      onStart: (isWritten) => {
        settle(isWritten);
        start = this.#starts.settle(pending, isWritten ? this.#now : undefined);
        this.#serve();
      },
      onResponse: () => {
        if (start) this.#starts.shift(start, this.#lateness.shiftOf(this.#now - start.at));
      },
      onRelease: () => {
        this.#running -= 1;
        this.#serve();
      },
    });
    return {
      ...permit,
      mayStart,
      suspend: () => settle(false),
      resume: async () => {
        const resumed = this.#resuming.wait(request);
        this.#resume();
        return (isHeld = await resumed);
      },
    };
  }
}

/** Ms of a wait for the budget that is a pause. A shorter one is that of any rate. */
const shortestPause = 1_000;

/**
 * Bottleneck schedules by the wall clock, and would stall if that is set back: no job starts before the last start plus
 * `minTime`, nor before Bottleneck was created. A large negative `minTime` lifts the first limit, since the windows do
 * the spacing; an empty first job the second.
 */
function newBottleneck(): Bottleneck {
  const bottleneck = new Bottleneck({ minTime: -Number.MAX_SAFE_INTEGER });
  void bottleneck.schedule({ weight: 0 }, () => Promise.resolve());
  return bottleneck;
}
