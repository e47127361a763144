import type { Clock } from '../clock.js';
import type { AcquireOptions, Limiter, LimiterState, Permit } from './limiterTypes.js';
import { QuotaBook, type Flight } from './quotaBook.js';
import type { QuotaRules } from './rateLimitHeaders.js';
import { unlimited } from './localLimiter.js';

/**
 * A limiter that an API's responses steer, around the one that sets the rate. Without that one, only the quota and its
 * concurrency limit the requests. A limiter that is steered already stays as it is.
 *
 * A request first waits for its quota, then for the other limiter; if less is left by then, it waits again. So the
 * other limiter holds no permit for a request that waits for its quota, and may be shared.
 */
export function quotaLimiter(limiter: Limiter | undefined, rules: QuotaRules, clock: Clock): Limiter {
  if (limiter instanceof QuotaLimiter) return limiter;
  const book = new QuotaBook(rules, clock);
  return limiter
    ? new QuotaLimiter(limiter, book, { clock, concurrency: Infinity })
    : new QuotaLimiter(unlimited(clock), book, { clock, concurrency: rules.concurrency });
}

interface Waiter {
  /** In the order of `acquire`. */
  readonly place: number;
  readonly route: string;
  admit(flight: Flight): void;
  refuse(error: Error): void;
}

class QuotaLimiter implements Limiter {
  readonly #inner: Limiter;
  readonly #clock: Clock;
  readonly #book: QuotaBook;
  readonly #concurrency: number;
  /** By place. */
  #waiting: readonly Waiter[] = [];
  #places = 0;
  #cancelTimer = (): void => undefined;

  constructor(inner: Limiter, book: QuotaBook, { clock, concurrency }: { clock: Clock; concurrency: number }) {
    this.#inner = inner;
    this.#book = book;
    this.#clock = clock;
    this.#concurrency = concurrency;
  }

  get state(): LimiterState {
    const { queued, running, pausedFor, rate } = this.#inner.state;
    const routes = new Set(this.#waiting.map(({ route }) => route));
    const pauses = [...routes].map((route) => this.#book.pauseOf(route));
    return {
      queued: queued + this.#waiting.length,
      running,
      pausedFor: Math.max(pausedFor, ...pauses),
      ...(rate && { rate }),
    };
  }

  pause(ms: number): void {
    this.#inner.pause(ms);
  }

  async close(): Promise<void> {
    await this.#inner.close?.();
  }

  async acquire(request: AcquireOptions): Promise<Permit> {
    const place = (this.#places += 1);
    for (;;) {
      const flight = await this.#admission(request, place);
      let permit: Permit;
      try {
        permit = await this.#inner.acquire(request);
      } catch (error) {
        this.#end(flight, false);
        throw error;
      }
      if (this.#book.start(flight)) return this.#observed(permit, request.route, flight);
      permit.release('unwritten');
      this.#book.end(flight, false);
    }
  }

  #admission({ route, signal }: AcquireOptions, place: number): Promise<Flight> {
    return new Promise((resolve, reject) => {
      signal?.throwIfAborted();
      const leave = (): void => {
        this.#waiting = this.#waiting.filter((other) => other !== waiter);
        signal?.removeEventListener('abort', onAbort);
      };
      const onAbort = (): void => {
        leave();
        reject(signal?.reason);
        this.#serve();
      };
      const waiter: Waiter = {
        place,
        route,
        admit(flight) {
          leave();
          resolve(flight);
        },
        refuse(error) {
          leave();
          reject(error);
        },
      };
      signal?.addEventListener('abort', onAbort, { once: true });
      const later = this.#waiting.findIndex((other) => other.place > place);
      const at = later === -1 ? this.#waiting.length : later;
      this.#waiting = [...this.#waiting.slice(0, at), waiter, ...this.#waiting.slice(at)];
      this.#serve();
    });
  }

  /** Admits whoever may start now, in order, and looks again when the next one may. */
  #serve(): void {
    this.#cancelTimer();
    const now = this.#clock.monotonic();
    const blocked = new Set<object>();
    let next = Infinity;
    for (const waiter of this.#waiting) {
      const { route } = waiter;
      if (this.#book.inFlight >= this.#concurrency) break;
      const queues = this.#book.queuesOf(route);
      if (queues.some((queue) => blocked.has(queue))) continue;
      const at = this.#book.admission(route);
      if (at <= now + precision) {
        waiter.admit(this.#book.admit(route));
        continue;
      }
      const error = this.#book.refusal(route);
      if (error) {
        waiter.refuse(error);
        continue;
      }
      for (const queue of queues) blocked.add(queue);
      next = Math.min(next, at);
    }
    this.#cancelTimer = next === Infinity ? () => undefined : this.#clock.after(next - now, () => this.#serve());
  }

  #observed(permit: Permit, route: string, flight: Flight): Permit {
    let isAnswered = false;
    let isReleased = false;
    return {
      observe: (response) => {
        isAnswered = true;
        return this.#book.observe(route, flight, response);
      },
      started: () => permit.started?.() ?? true,
      release: (use) => {
        if (isReleased) return;
        isReleased = true;
        permit.release(use);
        this.#end(flight, isAnswered || use === 'unwritten');
      },
    };
  }

  #end(flight: Flight, isAnswered: boolean): void {
    this.#book.end(flight, isAnswered);
    this.#serve();
  }
}

/** Ms; timers are not more precise. */
const precision = 0.01;
