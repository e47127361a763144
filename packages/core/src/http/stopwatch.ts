import type { Clock } from '../clock.js';

/**
 * A time budget that can stand still: a request's total deadline runs during attempts and back-offs, not while the request
 * waits for its turn at the limiter.
 */
export class Stopwatch {
  readonly #clock: Clock;
  readonly #onSpent: () => void;
  #left: number;
  #since = 0;
  #cancel: (() => void) | undefined;

  constructor(clock: Clock, budget: number, onSpent: () => void) {
    this.#clock = clock;
    this.#left = budget;
    this.#onSpent = onSpent;
  }

  run(): void {
    if (this.#cancel || this.#left === Infinity) return;
    this.#since = this.#clock.monotonic();
    this.#cancel = this.#clock.after(this.#left, this.#onSpent);
  }

  pause(): void {
    if (!this.#cancel) return;
    this.#cancel();
    this.#cancel = undefined;
    this.#left = Math.max(0, this.#left - (this.#clock.monotonic() - this.#since));
  }
}
