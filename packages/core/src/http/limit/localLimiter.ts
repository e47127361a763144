import type { Clock } from '../../clock.js';
import { costsOf, rateWindows, rateUse, type Limit, type RateWindow } from './limit.js';
import type { AcquireOptions, Limiter, LimiterState, Permit } from './limiterTypes.js';
import { newPermit } from './permit.js';
import { StartLog } from './startLog.js';
import { WaitQueue, type Waiter } from './waitQueue.js';

interface LocalLimiterOptions {
  readonly clock: Clock;
  /** Requests in parallel. */
  readonly concurrency: number;
  /** Ms for which a permit counts whose request is not written yet. */
  readonly longestPending: number;
  /** Runs what serves the queue, at once or soon. Called when a queue forms. */
  readonly run: (serve: () => void) => void;
}

type Waiting = Waiter<Permit, CostlyRequest>;

interface CostlyRequest extends AcquireOptions {
  /** By window. */
  readonly costs: readonly number[];
}

/** The limiter of `rateLimit: false`: a request waits only for a pause that the API asked for. */
export function unlimited(clock: Clock, concurrency = Infinity): Limiter {
  return new LocalLimiter([], { clock, concurrency, longestPending: 0, run: (serve) => serve() });
}

/** A limiter of one process. The log of the actual starts decides when the next request may start. */
export class LocalLimiter implements Limiter {
  readonly #options: LocalLimiterOptions;
  readonly #windows: readonly RateWindow[];
  readonly #queue = new WaitQueue<Permit, CostlyRequest>(() => this.#serve());
  readonly #starts: StartLog;
  #running = 0;
  #pausedUntil = -Infinity;
  #cancelTimer = (): void => undefined;

  constructor(limits: readonly Limit[], options: LocalLimiterOptions) {
    this.#options = options;
    this.#windows = rateWindows(limits);
    this.#starts = new StartLog(this.#windows);
  }

  get state(): LimiterState {
    const now = this.#now;
    const rate = rateUse(this.#windows, this.#starts.used(now));
    return {
      queued: this.#queue.size,
      running: this.#running,
      pausedFor: Math.max(0, this.#pausedUntil - now),
      ...(rate && { rate }),
    };
  }

  pause(ms: number): void {
    this.#pausedUntil = Math.max(this.#pausedUntil, this.#now + ms);
  }

  async acquire(request: AcquireOptions): Promise<Permit> {
    const permit = this.#queue.wait({ ...request, costs: costsOf(this.#windows, request.route) });
    // Those before it are being served already, or wait for a timer, a write or a release.
    if (this.#queue.size === 1) this.#options.run(() => this.#serve());
    return permit;
  }

  get #now(): number {
    return this.#options.clock.monotonic();
  }

  /** Starts those that may start now, in order, and sets a timer for the next one. */
  #serve(): void {
    this.#cancelTimer();
    const now = this.#now;
    while (this.#running < this.#options.concurrency) {
      const { first } = this.#queue;
      if (!first) return;
      const allowed = this.#starts.earliest(first.request.costs, now);
      const at = Math.max(allowed, this.#pausedUntil);
      if (at > now) {
        this.#cancelTimer = this.#options.clock.after(at - now, () => this.#serve());
        return;
      }
      this.#begin(first, now);
    }
  }

  /** Gives a permit. Its start is pending until the request is written: connecting may take longer than a window. */
  #begin(waiter: Waiting, now: number): void {
    const pending = { at: now + this.#options.longestPending, costs: waiter.request.costs };
    this.#starts.add(pending);
    this.#running += 1;
    const permit = newPermit({
      mayStart: () => this.#now >= this.#pausedUntil,
      onStart: (isWritten) => {
        this.#starts.settle(pending, isWritten ? this.#now : undefined);
        this.#serve();
      },
      onRelease: () => {
        this.#running -= 1;
        this.#serve();
      },
    });
    waiter.admit(permit);
  }
}
