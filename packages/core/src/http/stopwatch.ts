import type { Clock } from '../clock.js';

/**
 * A time budget that can stand still: a request's total deadline runs during attempts and back-offs, not while the request
 * waits for its turn at the limiter.
 */
export class Stopwatch {
  readonly #clock: Clock;
  readonly #onSpent: () => void;
  #budget: number;
  #since = 0;
  #cancel: (() => void) | undefined;

  constructor(clock: Clock, budget: number, onSpent: () => void) {
    this.#clock = clock;
    this.#budget = budget;
    this.#onSpent = onSpent;
  }

  /** Ms of the budget that are not spent yet. */
  get left(): number {
    return this.#cancel ? Math.max(0, this.#budget - (this.#clock.monotonic() - this.#since)) : this.#budget;
  }

  run(): void {
    if (this.#cancel || this.#budget === Infinity) return;
    this.#since = this.#clock.monotonic();
    this.#cancel = this.#clock.after(this.#budget, this.#onSpent);
  }

  pause(): void {
    this.#budget = this.left;
    this.#cancel?.();
    this.#cancel = undefined;
  }
}
