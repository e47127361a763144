import type { Clock } from '../clock.js';

/** A time budget that can be paused: the total deadline excludes waits for the limiter. */
export class Stopwatch {
  readonly #clock: Clock;
  readonly #onSpent: () => void;
  #budget: number;
  /** When it was started; `undefined` while paused. */
  #since: number | undefined;
  #cancel: (() => void) | undefined;

  constructor(clock: Clock, budget: number, onSpent: () => void) {
    this.#clock = clock;
    this.#budget = budget;
    this.#onSpent = onSpent;
  }

  get left(): number {
    const spent = this.#since === undefined ? 0 : this.#clock.monotonic() - this.#since;
    return Math.max(0, this.#budget - spent);
  }

  run(): void {
    if (this.#since !== undefined || this.#budget === Infinity) return;
    this.#since = this.#clock.monotonic();
    // A timer from before a pause is kept, and set again when it fires: most pauses are too short for a new one.
    this.#cancel ??= this.#clock.after(this.#budget, this.#onTime);
  }

  pause(): void {
    this.#budget = this.left;
    this.#since = undefined;
  }

  /** Cancels the timer. */
  stop(): void {
    this.pause();
    this.#cancel?.();
    this.#cancel = undefined;
  }

  readonly #onTime = (): void => {
    this.#cancel = undefined;
    if (this.#since === undefined) return;
    const { left } = this;
    // Less than 1 ms is rounding, and on some clocks no time at all.
    if (left < 1) this.#onSpent();
    else this.#cancel = this.#clock.after(left, this.#onTime);
  };
}
