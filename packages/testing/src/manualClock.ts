import type { Clock } from '@sluice/core';
import { calm } from './waiting.js';

interface Timer {
  readonly at: number;
  readonly callback: () => void;
}

/**
 * Time that moves only when it is told to. Wall time begins in 2030, a date that no real clock shows yet.
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

  /** @param settle lets whoever was called back do what it does next. Default: a few turns of the event loop. */
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

  /** Calls back once `ms` have passed by this clock; the answer cancels it. */
  after(ms: number, callback: () => void): () => void {
    const timer = { at: this.#time + Math.max(0, ms), callback };
    this.#timers.add(timer);
    this.#tell();
    return () => {
      this.#timers.delete(timer);
      this.#tell();
    };
  }

  /** Ms until each callback that is still to come, the next one first. */
  get pending(): readonly number[] {
    return [...this.#timers].map((timer) => timer.at - this.#time).sort((a, b) => a - b);
  }

  /** Resolves as soon as somebody has asked to be called back in exactly `ms`, or if somebody has already. */
  async asked(ms: number): Promise<void> {
    while (!this.pending.includes(ms)) await new Promise<void>((resolve) => this.#watchers.add(resolve));
  }

  /** Moves on, and calls back on the way whoever is due, each at its time. */
  async advance(ms: number): Promise<void> {
    const end = this.#time + ms;
    await this.#settle();
    for (let next = this.#next(end); next; next = this.#next(end)) {
      this.#time = next.at;
      next.callback();
      await this.#settle();
    }
    this.#time = end;
  }

  /** Stands still for a while, like a process that gets no turn: whoever is due meanwhile is called at the end. */
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

  #next(until: number): Timer | undefined {
    const [first] = [...this.#timers].filter((timer) => timer.at <= until).sort((a, b) => a.at - b.at);
    if (first) this.#timers.delete(first);
    return first;
  }

  #tell(): void {
    for (const tell of this.#watchers) tell();
    this.#watchers.clear();
  }
}
