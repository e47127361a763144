import type { Clock } from '@sluice/core';
import { calm } from './calm.js';

interface Timer {
  readonly at: number;
  readonly callback: () => void;
}

/**
 * A clock that only moves when it is told to. Wall time starts in 2030, so that it differs from real time.
 *
 * @example
 * const clock = new ManualClock();
 * const client = createClient({ apiKey, clock });
 * await clock.advance(60_000);
 */
export class ManualClock implements Clock {
  readonly #settle: () => Promise<unknown>;
  readonly #timers = new Set<Timer>();
  readonly #watchers = new Set<() => void>();
  #time = 0;
  #wall = Date.UTC(2030, 0, 1);

  /** @param settle waits for the effects of a callback. Default: a few turns of the event loop. */
  constructor(settle: () => Promise<unknown> = () => calm(3)) {
    this.#settle = settle;
  }

  /** Wall time in ms since 1970. */
  now(): number {
    return this.#wall + this.#time;
  }

  /** Ms since the clock was made. */
  monotonic(): number {
    return this.#time;
  }

  /** Calls back after `ms` of this clock; the returned function cancels it. */
  after(ms: number, callback: () => void): () => void {
    const timer = { at: this.#time + Math.max(0, ms), callback };
    this.#timers.add(timer);
    this.#notify();
    return () => {
      this.#timers.delete(timer);
      this.#notify();
    };
  }

  /** Ms until each pending callback, in ascending order. */
  get pending(): readonly number[] {
    return [...this.#timers].map((timer) => timer.at - this.#time).sort((a, b) => a - b);
  }

  /** Resolves when a callback is pending in exactly `ms`. */
  async asked(ms: number): Promise<void> {
    while (!this.pending.includes(ms)) await new Promise<void>((resolve) => this.#watchers.add(resolve));
  }

  /** Advances the clock and runs each due callback at its time. */
  async advance(ms: number): Promise<void> {
    const end = this.#time + ms;
    await this.#settle();
    for (let next = this.#next(end); next; next = this.#next(end)) {
      this.#moveTo(next.at);
      next.callback();
      await this.#settle();
    }
    this.#moveTo(end);
  }

  /** Advances the clock like a process that was suspended: due callbacks run at the end. */
  async stall(ms: number): Promise<void> {
    this.#time += ms;
    for (let next = this.#next(this.#time); next; next = this.#next(this.#time)) {
      next.callback();
      await this.#settle();
    }
  }

  /** Puts the wall clock forward, or back. */
  jump(ms: number): void {
    this.#wall += ms;
  }

  /** Never back: somebody else may have moved it on meanwhile. */
  #moveTo(time: number): void {
    this.#time = Math.max(this.#time, time);
  }

  #next(until: number): Timer | undefined {
    const [first] = [...this.#timers].filter((timer) => timer.at <= until).sort((a, b) => a.at - b.at);
    if (first) this.#timers.delete(first);
    return first;
  }

  #notify(): void {
    for (const notify of this.#watchers) notify();
    this.#watchers.clear();
  }
}
