import type { Clock } from '../../clock.js';
import type { Emit } from '../events.js';
import type { Limiter, LimiterState, RateUse } from './limiterTypes.js';

/**
 * Why a limiter is paused. `retry-after`: the API said how long to wait. `back-off`: it refused a request and did not
 * say. `quota`: a quota of the API is used up. `budget`: a limit that outlives the process is. `unknown`: the client did
 * not cause it, e.g. another process did.
 */
export type PauseCause = 'retry-after' | 'back-off' | 'quota' | 'budget' | 'unknown';

/** The state of a limiter. It is emitted when a request queues, starts or ends, and each second while one is queued and there is no pause, at most four times a second. */
export interface LimiterEvent extends RateUse {
  readonly type: 'limiter';
  /** The APIs that use it, by their names on the client. */
  readonly apis: readonly string[];
  /** Starts, or cost units, within the last `per` ms; 0 without a limit. */
  readonly used: number;
  /** How many may start within `per` ms. `Infinity` means no limit, or that the limiter does not know it. */
  readonly limit: number;
  /** Requests that wait for a permit. */
  readonly queued: number;
  /** Requests in progress. */
  readonly running: number;
  /** Ms until its pause ends; 0 without one. */
  readonly paused: number;
  /** Absent without a pause. */
  readonly cause?: PauseCause;
  /** Absent unless the limiter is shared, and its server can't be reached. */
  readonly outage?: LimiterState['outage'];
}

/** Ms between two events of a limiter. */
const interval = 250;
/** Ms until a limiter whose requests are queued is reported again: another process may have paused it, or its server be away. */
const whileQueued = 1_000;

interface Reported {
  /** When it was last reported, by the monotonic clock. */
  at: number;
  cause: PauseCause;
  isPaused: boolean;
  /** When another report is due; `Infinity` if none is. */
  due: number;
  cancel: (() => void) | undefined;
}

interface LimiterReportsOptions {
  readonly clock: Clock;
  readonly emit: Emit<LimiterEvent>;
  /** Whether anybody receives the events. */
  readonly isObserved: () => boolean;
  readonly apisOf: (limiter: Limiter) => readonly string[];
}

/** Reports limiters to the observers of a client. Without an observer, it reads no state and sets no timer. */
export class LimiterReports {
  readonly #options: LimiterReportsOptions;
  readonly #reported = new Map<Limiter, Reported>();
  #isClosed = false;

  constructor(options: LimiterReportsOptions) {
    this.#options = options;
  }

  /** Says that the state of a limiter has changed, and why it is paused, if that is new. */
  readonly changed = (limiter: Limiter, cause?: PauseCause): void => {
    const { clock, isObserved } = this.#options;
    if (this.#isClosed || !isObserved()) return;
    const last = this.#reported.get(limiter) ?? newlyReported();
    this.#reported.set(limiter, last);
    if (cause) last.cause = cause;
    const wait = last.at + interval - clock.monotonic();
    if (wait > 0) this.#reportIn(wait, limiter, last);
    else this.#report(limiter, last);
  };

  /** Leaves no timer behind. */
  close(): void {
    this.#isClosed = true;
    for (const { cancel } of this.#reported.values()) cancel?.();
  }

  #reportIn(ms: number, limiter: Limiter, last: Reported): void {
    const { clock } = this.#options;
    const at = clock.monotonic() + ms;
    if (last.due <= at) return;
    last.cancel?.();
    last.due = at;
    last.cancel = clock.after(ms, () => {
      last.due = Infinity;
      // A timer may fire early.
      this.changed(limiter);
    });
  }

  #report(limiter: Limiter, last: Reported): void {
    const { clock, emit, apisOf } = this.#options;
    const { queued, running, pausedFor, rate, outage, budget } = limiter.state;
    const { used, limit, per } = rate ?? { used: 0, limit: Infinity, per: 1_000 };
    const isBudget = pausedFor > 0 && budget?.returnsIn === pausedFor;
    const cause = isBudget ? 'budget' : last.cause;
    last.at = clock.monotonic();
    // A quota that is used up pauses nothing until the next request queues.
    if (last.isPaused && pausedFor === 0) last.cause = 'unknown';
    last.isPaused = pausedFor > 0;
    emit('limiter', () => ({
      type: 'limiter',
      apis: apisOf(limiter),
      used,
      limit,
      per,
      queued,
      running,
      paused: pausedFor,
      ...(pausedFor > 0 && { cause }),
      ...(outage && { outage }),
    }));
    if (queued > 0) this.#reportIn(Math.max(whileQueued, pausedFor), limiter, last);
  }
}

function newlyReported(): Reported {
  return { at: -Infinity, cause: 'unknown', isPaused: false, due: Infinity, cancel: undefined };
}
