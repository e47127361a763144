import type { Clock } from '../clock.js';

/**
 * A time budget that can stand still: a request's total deadline runs during attempts and back-offs, not while the request
 * waits for its turn at the limiter.
 */
export class Stopwatch {
  readonly #clock: Clock;
  readonly #onSpent: () => void;
  #budget: number;
  /** Since when it runs. */
  #since: number | undefined;
  #cancel: (() => void) | undefined;

  constructor(clock: Clock, budget: number, onSpent: () => void) {
    this.#clock = clock;
    this.#budget = budget;
    this.#onSpent = onSpent;
  }

  /** Ms of the budget that are not spent yet. */
  get left(): number {
    const spent = this.#since === undefined ? 0 : this.#clock.monotonic() - this.#since;
    return Math.max(0, this.#budget - spent);
  }

  run(): void {
    if (this.#since !== undefined || this.#budget === Infinity) return;
    this.#since = this.#clock.monotonic();
    // A timer from before a pause goes off too early and is set anew then: most pauses are too short to be worth another one.
    this.#cancel ??= this.#clock.after(this.#budget, this.#onTime);
  }

  pause(): void {
    this.#budget = this.left;
    this.#since = undefined;
  }

  /** Lets go of its timer. */
  stop(): void {
    this.pause();
    this.#cancel?.();
    this.#cancel = undefined;
  }

  readonly #onTime = (): void => {
    this.#cancel = undefined;
    if (this.#since === undefined) return;
    const { left } = this;
    // Less than that is what adding up has rounded, and on some clocks no time at all.
    if (left < 1) this.#onSpent();
    else this.#cancel = this.#clock.after(left, this.#onTime);
  };
}
