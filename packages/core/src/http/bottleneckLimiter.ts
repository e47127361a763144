import Bottleneck from 'bottleneck';
import { refuseUnknown } from '../checks.js';
import type { Clock } from '../clock.js';
import { ConfigError } from '../errors.js';
import type { Limit, Limiter, Permit, AcquireOptions, RateUse } from './limiter.js';
import { PauseGate } from './pauseGate.js';
import { earliestStart, recentStarts, type Start, type StartWindow, withoutStart, withStart } from './startLog.js';

/**
 * Ms added to each window. A server counts arrivals, and requests take different times to arrive: without a margin a
 * strict server refuses a few. It costs 1.3 % of a rate per second.
 */
const arrivalMargin = 13;

/**
 * A limiter on Bottleneck, which limits the concurrency. A log of the actual starts decides when the next request may
 * start. Bottleneck's own work limits it to some 400 starts a second.
 *
 * @param longestPending ms for which a permit counts whose request is not written yet: the deadline for connecting
 *
 * @throws ConfigError if a limit is invalid; from `acquire`, at once, if a route's cost can never fit.
 */
export function bottleneckLimiter(limits: readonly Limit[], clock: Clock, longestPending = 10_000): Limiter {
  limits.forEach(checkLimit);
  return new BottleneckLimiter(limits, clock, longestPending);
}

interface Waiter {
  readonly costs: readonly number[];
  /** Removes it from the queue and resolves with a permit. */
  begin(permit: Permit): void;
}

class BottleneckLimiter implements Limiter {
  readonly #limits: readonly Limit[];
  readonly #clock: Clock;
  readonly #longestPending: number;
  readonly #windows: readonly StartWindow[];
  readonly #gate: PauseGate;
  /** In order of `acquire`. If one aborts and leaves, its job in Bottleneck's queue serves another waiter. */
  readonly #waiting = new Set<Waiter>();
  #bottleneck: Bottleneck | undefined;
  #starts: Start[] = [];
  #running = 0;
  /** Lets the first waiter see whether it may start now. */
  #wake = (): void => undefined;
  /** Settles when the previous job has found its waiter, so only one job at a time reads the log. */
  #queueTail: Promise<unknown> = Promise.resolve();

  constructor(limits: readonly Limit[], clock: Clock, longestPending: number) {
    this.#limits = limits;
    this.#clock = clock;
    this.#longestPending = longestPending;
    this.#gate = new PauseGate(clock);
    this.#windows = limits.flatMap(windowsOf);
  }

  get state(): Limiter['state'] {
    return { queued: this.#waiting.size, running: this.#running, pausedFor: this.#gate.remaining, rate: this.#rate() };
  }

  pause(ms: number): void {
    this.#gate.shut(ms);
  }

  acquire({ route, signal }: AcquireOptions): Promise<Permit> {
    return new Promise((resolve, reject) => {
      signal?.throwIfAborted();
      const leave = (): void => {
        this.#waiting.delete(waiter);
        signal?.removeEventListener('abort', onAbort);
      };
      const onAbort = (): void => {
        leave();
        reject(signal?.reason);
        this.#wake();
      };
      const waiter: Waiter = {
        costs: this.#costsOf(route),
        begin(permit) {
          leave();
          resolve(permit);
        },
      };
      this.#waiting.add(waiter);
      signal?.addEventListener('abort', onAbort, { once: true });
      this.#bottleneck ??= newBottleneck(this.#limits);
      void this.#bottleneck.schedule(() => this.#serve());
    });
  }

  /** The use of the limit of which the largest share is used. */
  #rate(): RateUse {
    const now = this.#clock.monotonic();
    const uses = this.#limits.map(({ requests: limit, per }): RateUse => {
      const w = this.#windows.findIndex(({ max, span }) => max === limit && span === per + arrivalMargin);
      const recent = this.#starts.filter(({ at }) => at + per + arrivalMargin > now);
      return { used: recent.reduce((sum, { costs }) => sum + (costs[w] ?? 1), 0), limit, per };
    });
    return uses.reduce((most, use) => (use.used / use.limit > most.used / most.limit ? use : most));
  }

  #costsOf(route: string): number[] {
    const costs = this.#limits.flatMap((limit) => windowsOf(limit).map(() => limit.costs?.[route] ?? 1));
    const tooLarge = this.#windows.find((window, w) => (costs[w] ?? 1) > window.max);
    if (tooLarge)
      throw new ConfigError(
        `A request of ${route} costs more than the limiter ever lets start at once (${String(tooLarge.max)}): raise the limit's requests or burst, or lower the route's cost.`,
        { route, max: tooLarge.max },
      );
    return costs;
  }

  /** One job of Bottleneck: starts the first waiter as soon as allowed, and lasts until its permit is released. */
  async #serve(): Promise<void> {
    const started = this.#queueTail.then(() => this.#beginFirst());
    this.#queueTail = started;
    const running = await started;
    await running?.released;
  }

  /** Resolves with `undefined` if nobody is waiting any more. */
  async #beginFirst(): Promise<{ readonly released: Promise<void> } | undefined> {
    for (;;) {
      const [first] = this.#waiting;
      if (!first) return undefined;
      const now = this.#clock.monotonic();
      this.#starts = recentStarts(this.#starts, this.#windows, now);
      const allowed = earliestStart(this.#starts, this.#windows, first.costs, now);
      const at = Math.max(allowed, now + this.#gate.remaining);
      if (at <= now) return { released: this.#begin(first, now) };
      // However the wait ends, check again: a pause may have grown, the first waiter may have left.
      await new Promise<void>((resolve) => {
        const cancel = this.#clock.after(at - now, resolve);
        this.#wake = () => {
          cancel();
          resolve();
        };
      });
    }
  }

  /** Gives a permit. Its start is pending until the request is written: connecting may take longer than a window. */
  #begin(waiter: Waiter, now: number): Promise<void> {
    const { costs } = waiter;
    const pending: Start = { at: now + this.#longestPending, costs };
    this.#starts = withStart(this.#starts, pending);
    this.#running += 1;
    return new Promise((resolve) => {
      let isPending = true;
      let isReleased = false;
      const end = (use?: 'unwritten'): void => {
        if (!isPending) return;
        isPending = false;
        const others = withoutStart(this.#starts, pending);
        const isWritten = use !== 'unwritten';
        this.#starts = isWritten ? withStart(others, { at: this.#clock.monotonic(), costs }) : others;
        this.#wake();
      };
      waiter.begin({
        started: () => {
          if (this.#gate.remaining > 0) return false;
          end();
          return true;
        },
        release: (use) => {
          if (isReleased) return;
          isReleased = true;
          this.#running -= 1;
          end(use);
          resolve();
        },
      });
    });
  }
}

/**
 * Bottleneck schedules by the wall clock, and would stall if that is set back: no job starts before the last start plus
 * `minTime`, nor before Bottleneck was created. A large negative `minTime` lifts the first limit, since the log does
 * the spacing; an empty first job the second.
 */
function newBottleneck(limits: readonly Limit[]): Bottleneck {
  const concurrency = Math.min(...limits.map((limit) => limit.concurrency ?? Infinity));
  const bottleneck = new Bottleneck({
    maxConcurrent: concurrency === Infinity ? null : concurrency,
    minTime: -Number.MAX_SAFE_INTEGER,
  });
  void bottleneck.schedule({ weight: 0 }, () => Promise.resolve());
  return bottleneck;
}

function windowsOf(limit: Limit): StartWindow[] {
  const windows = [{ max: limit.requests, span: limit.per + arrivalMargin }];
  const { burst } = limit;
  if (burst !== undefined && burst < limit.requests)
    windows.push({ max: burst, span: (burst * (limit.per + arrivalMargin)) / limit.requests });
  return windows;
}

function checkLimit(limit: Limit): void {
  refuseUnknown('rateLimit', limit, { requests: true, per: true, burst: true, concurrency: true, costs: true });
  const { requests, per, burst = 1, concurrency = 1, costs = {} } = limit;
  check('requests', requests, requests >= 1, 'a number of at least 1');
  check('per', per, per > 0 && Number.isFinite(per), 'a positive number of ms');
  check('burst', burst, burst >= 1, 'a number of at least 1');
  check('concurrency', concurrency, concurrency >= 1, 'a number of at least 1');
  for (const [route, cost] of Object.entries(costs))
    check(`costs["${route}"]`, cost, cost >= 0, 'a number of at least 0');
}

function check(name: string, value: number, isRight: boolean, wanted: string): void {
  if (typeof value === 'number' && isRight) return;
  throw new ConfigError(`rateLimit.${name} is ${String(value)}: it must be ${wanted}.`);
}
