import Bottleneck from 'bottleneck';
import { sleep, type Clock } from '../clock.js';
import { ConfigError } from '../errors.js';
import type { Limit, Limiter, Turn, TurnRequest } from './limiter.js';
import { PauseGate } from './pauseGate.js';
import { earliestStart, recentStarts, type Start, type StartWindow } from './startLog.js';

/**
 * Ms by which a window is taken longer than asked for. A server counts arrivals, and two requests never take equally long to
 * arrive: without a margin a strict server refuses a few of them. It costs 1.5 % of a rate per second.
 */
const arrivalMargin = 15;

/**
 * A limiter on Bottleneck, which queues the requests and caps how many run at once; when the next one may start is decided
 * by a log of the actual starts.
 *
 * @throws ConfigError if a limit makes no sense; from `turn`, at once, if a route's cost can never fit.
 */
export function bottleneckLimiter(limits: readonly Limit[], clock: Clock): Limiter {
  limits.forEach(checkLimit);
  return new BottleneckLimiter(limits, clock);
}

class BottleneckLimiter implements Limiter {
  readonly #limits: readonly Limit[];
  readonly #clock: Clock;
  readonly #windows: readonly StartWindow[];
  readonly #queue: Bottleneck;
  readonly #gate: PauseGate;
  #starts: Start[] = [];
  #queued = 0;
  #running = 0;
  /** Settles when the request before has started: only the head of the line looks at the log. */
  #line: Promise<void> = Promise.resolve();

  constructor(limits: readonly Limit[], clock: Clock) {
    this.#limits = limits;
    this.#clock = clock;
    this.#gate = new PauseGate(clock);
    this.#windows = limits.flatMap(windowsOf);
    const concurrent = Math.min(...limits.map((limit) => limit.concurrent ?? Infinity));
    // Bottleneck plans starts by the wall clock, and stalls for as long as that clock is set back. A `minTime` in the
    // distant past makes it start at once, always; spacing is the log's business.
    this.#queue = new Bottleneck({
      maxConcurrent: concurrent === Infinity ? null : concurrent,
      minTime: -Number.MAX_SAFE_INTEGER,
    });
  }

  get state(): Limiter['state'] {
    return { queued: this.#queued, running: this.#running, pausedFor: this.#gate.remaining };
  }

  pause(ms: number): void {
    this.#gate.shut(ms);
  }

  turn({ route, signal }: TurnRequest): Promise<Turn> {
    return new Promise((resolve, reject) => {
      signal?.throwIfAborted();
      const costs = this.#costsOf(route);
      // An aborted job stays in Bottleneck's queue until its turn: it settles here at once, and passes through there later.
      let waiting = true;
      const leave = (): void => {
        waiting = false;
        this.#queued -= 1;
        signal?.removeEventListener('abort', onAbort);
      };
      const onAbort = (): void => {
        leave();
        reject(signal?.reason);
      };
      this.#queued += 1;
      signal?.addEventListener('abort', onAbort, { once: true });
      const job = async (): Promise<void> => {
        if (!waiting) return;
        try {
          await this.#awaitStart(costs, signal);
        } catch {
          return; // Only an abort ends the wait, and it has been answered above.
        }
        leave();
        await this.#hold(resolve);
      };
      void this.#queue.schedule(job);
    });
  }

  #costsOf(route: string): number[] {
    const costs = this.#limits.flatMap((limit) => windowsOf(limit).map(() => limit.costs?.[route] ?? 1));
    const tooDear = this.#windows.find((window, w) => (costs[w] ?? 1) > window.max);
    if (tooDear) {
      throw new ConfigError(
        `A request of ${route} costs more than the limiter ever lets start at once (${String(tooDear.max)}): raise the limit's requests or burst, or lower the route's cost.`,
        { route, max: tooDear.max },
      );
    }
    return costs;
  }

  /** Waits at the head of the line until the log and the pause let a request start, and writes the start down. */
  async #awaitStart(costs: readonly number[], signal: AbortSignal | undefined): Promise<void> {
    const before = this.#line;
    let next = (): void => undefined;
    this.#line = new Promise((resolve) => (next = resolve));
    try {
      await before;
      for (;;) {
        await this.#gate.pass(signal);
        signal?.throwIfAborted();
        const now = this.#clock.monotonic();
        this.#starts = recentStarts(this.#starts, this.#windows, now);
        const at = earliestStart(this.#starts, this.#windows, costs, now);
        if (at <= now) {
          this.#starts.push({ at: now, costs });
          return;
        }
        await sleep(this.#clock, at - now, signal);
      }
    } finally {
      next();
    }
  }

  /** Gives the turn out and keeps the place until it is released. */
  #hold(give: (turn: Turn) => void): Promise<void> {
    this.#running += 1;
    return new Promise((resolve) => {
      let released = false;
      give({
        release: () => {
          if (released) return;
          released = true;
          this.#running -= 1;
          resolve();
        },
      });
    });
  }
}

function windowsOf(limit: Limit): StartWindow[] {
  const windows = [{ max: limit.requests, span: limit.per + arrivalMargin }];
  const { burst } = limit;
  if (burst !== undefined && burst < limit.requests) {
    windows.push({ max: burst, span: (burst * (limit.per + arrivalMargin)) / limit.requests });
  }
  return windows;
}

function checkLimit(limit: Limit): void {
  const wrong = (['requests', 'per', 'burst', 'concurrent'] as const).find((name) => {
    const value = limit[name];
    return value !== undefined && !(value > 0 && (name === 'per' ? Number.isFinite(value) : value >= 1));
  });
  if (wrong) {
    throw new ConfigError(
      `rateLimit.${wrong} is ${String(limit[wrong])}: it must be a ${wrong === 'per' ? 'positive number of ms' : 'number of at least 1'}.`,
    );
  }
}
