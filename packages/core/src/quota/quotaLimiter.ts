import type { Clock } from '../clock.js';
import type { AcquireOptions, Limiter, LimiterState, Permit } from '../http/limit/limiterTypes.js';
import { QuotaBook, type Flight } from './quotaBook.js';
import type { QuotaRules } from './rateLimitHeaders.js';
import { WaitQueue } from '../http/limit/waitQueue.js';

/**
 * A limiter that an API's responses steer, around the one that sets the rate.
 *
 * A request first waits for its quota, then for the other limiter; if less is left by then, it waits again. So the
 * other limiter holds no permit for a request that waits for its quota, and may be shared.
 */
export class QuotaLimiter implements Limiter {
  readonly #inner: Limiter;
  readonly #clock: Clock;
  readonly #book: QuotaBook;
  readonly #queue = new WaitQueue<Flight>(() => this.#serve());
  #cancelTimer = (): void => undefined;

  constructor(inner: Limiter, rules: QuotaRules, clock: Clock) {
    this.#inner = inner;
    this.#book = new QuotaBook(rules, clock);
    this.#clock = clock;
  }

  get state(): LimiterState {
    const inner = this.#inner.state;
    const routes = new Set(this.#queue.all.map(({ request }) => request.route));
    const pauses = [...routes].map((route) => this.#book.pauseOf(route));
    return {
      ...inner,
      queued: inner.queued + this.#queue.size,
      pausedFor: Math.max(inner.pausedFor, ...pauses),
    };
  }

  pause(ms: number): void {
    this.#inner.pause(ms);
  }

  async close(): Promise<void> {
    await this.#inner.close?.();
  }

  async acquire(request: AcquireOptions): Promise<Permit> {
    const place = this.#queue.newPlace();
    for (;;) {
      const admitted = this.#queue.wait(request, place);
      this.#serve();
      const flight = await admitted;
      let permit: Permit;
      try {
        permit = await this.#inner.acquire(request);
      } catch (error) {
        this.#end(flight, false);
        throw error;
      }
      if (this.#book.start(flight)) return this.#observed(permit, flight);
      permit.release('unwritten');
      this.#book.end(flight, false);
    }
  }

  /** Admits whoever may start now, in order, and looks again when the next one may. */
  #serve(): void {
    this.#cancelTimer();
    const now = this.#clock.monotonic();
    const blocked = new Set<unknown>();
    let next = Infinity;
    for (const waiter of this.#queue.all) {
      const { route } = waiter.request;
      const queues = this.#book.queuesOf(route);
      if (queues.some((queue) => blocked.has(queue))) continue;
      const at = this.#book.admission(route, now);
      if (at <= now) {
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
    if (next < Infinity) this.#cancelTimer = this.#clock.after(next - now, () => this.#serve());
  }

  #observed(permit: Permit, flight: Flight): Permit {
    return {
      observe: (response) => {
        permit.observe?.(response);
        return this.#book.observe(flight, response);
      },
      started: () => permit.started?.() ?? true,
      release: (use) => {
        permit.release(use);
        this.#end(flight, use !== 'unwritten');
      },
    };
  }

  #end(flight: Flight, mayBeWritten: boolean): void {
    this.#book.end(flight, mayBeWritten);
    this.#serve();
  }
}
