import Bottleneck from 'bottleneck';
import { sleep, type Clock } from '../clock.js';
import { ConfigError } from '../errors.js';
import type { Limit, Limiter, Permit, AcquireOptions } from './limiter.js';
import { PauseGate } from './pauseGate.js';
import { earliestStart, recentStarts, type Start, type StartWindow } from './startLog.js';

/**
 * Ms by which a window is taken longer than asked for. A server counts arrivals, and two requests never take equally long to
 * arrive: without a margin a strict server refuses a few of them. It costs 1.3 % of a rate per second.
 */
const arrivalMargin = 13;

/**
 * A limiter on Bottleneck, which caps how many requests run at once; when the next one may start is decided by a log of the
 * actual starts. Bottleneck's own work bounds it to some 400 starts a second.
 *
 * @throws ConfigError if a limit makes no sense; from `turn`, at once, if a route's cost can never fit.
 */
export function bottleneckLimiter(limits: readonly Limit[], clock: Clock): Limiter {
  limits.forEach(checkLimit);
  return new BottleneckLimiter(limits, clock);
}

interface Waiter {
  readonly costs: readonly number[];
  readonly signal: AbortSignal | undefined;
  /** Takes it out of the line and gives it its turn. */
  begin(permit: Permit): void;
}

class BottleneckLimiter implements Limiter {
  readonly #limits: readonly Limit[];
  readonly #clock: Clock;
  readonly #windows: readonly StartWindow[];
  readonly #gate: PauseGate;
  /** In the order of asking. An aborted one leaves at once, while its job stays in Bottleneck's queue and serves another. */
  readonly #waiting = new Set<Waiter>();
  #bottleneck: Bottleneck | undefined;
  #starts: Start[] = [];
  #running = 0;
  /** No request has come back yet. */
  #isCold = true;
  /** Settles when the job before has found its waiter: only one at a time looks at the log. */
  #line: Promise<unknown> = Promise.resolve();

  constructor(limits: readonly Limit[], clock: Clock) {
    this.#limits = limits;
    this.#clock = clock;
    this.#gate = new PauseGate(clock);
    this.#windows = limits.flatMap(windowsOf);
  }

  get state(): Limiter['state'] {
    return { queued: this.#waiting.size, running: this.#running, pausedFor: this.#gate.remaining };
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
      };
      const waiter: Waiter = {
        costs: this.#costsOf(route),
        signal,
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

  #costsOf(route: string): number[] {
    const costs = this.#limits.flatMap((limit) => windowsOf(limit).map(() => limit.costs?.[route] ?? 1));
    const tooDear = this.#windows.find((window, w) => (costs[w] ?? 1) > window.max);
    if (tooDear)
      throw new ConfigError(
        `A request of ${route} costs more than the limiter ever lets start at once (${String(tooDear.max)}): raise the limit's requests or burst, or lower the route's cost.`,
        { route, max: tooDear.max },
      );
    return costs;
  }

  /** One job: lets the first in line begin, as soon as it may, and lasts until its turn is released. */
  async #serve(): Promise<void> {
    const begun = this.#line.then(() => this.#beginFirst());
    this.#line = begun;
    await (
      await begun
    )?.released;
  }

  /** Answers nothing if nobody waits any more. */
  async #beginFirst(): Promise<{ readonly released: Promise<void> } | undefined> {
    for (;;) {
      const [first] = this.#waiting;
      if (!first) return undefined;
      const now = this.#clock.monotonic();
      this.#starts = recentStarts(this.#starts, this.#windows, now);
      const allowed = earliestStart(this.#starts, this.#windows, first.costs, now);
      const at = Math.max(allowed, now + this.#gate.remaining);
      if (at <= now) {
        const start = { at: now, costs: first.costs };
        this.#starts.push(start);
        return { released: this.#begin(first, start) };
      }
      // Whatever ends the sleep, the log and the line are looked at again: a pause may have grown, the first may have left.
      await sleep(this.#clock, at - now, first.signal).catch(() => undefined);
    }
  }

  #begin(waiter: Waiter, start: Start): Promise<void> {
    this.#running += 1;
    const isCold = this.#isCold;
    return new Promise((resolve) => {
      let isReleased = false;
      waiter.begin({
        release: () => {
          if (isReleased) return;
          isReleased = true;
          this.#running -= 1;
          this.#isCold = false;
          if (isCold) this.#countFromNow(start);
          resolve();
        },
      });
    });
  }

  /**
   * The first requests open their connections and find both sides unprepared: they arrive later after their start than any margin
   * allows for, too close to those of the next window. That they are back is the first thing known of their arrival.
   */
  #countFromNow(start: Start): void {
    this.#starts = [
      ...this.#starts.filter((other) => other !== start),
      { at: this.#clock.monotonic(), costs: start.costs },
    ];
  }
}

/**
 * Bottleneck plans starts by the wall clock, and would stall for as long as that clock is set back: no job starts before the
 * last start plus `minTime`, and the first one not before the time at which Bottleneck was made. A `minTime` in the distant past
 * makes jobs start at once, always, since spacing is the log's business; and the first job is an empty one that takes no place.
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
