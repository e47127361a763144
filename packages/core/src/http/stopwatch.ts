import { type Clock, isLate } from '../clock.js';

/**
 * A time budget that can be paused: the total deadline excludes waits for the limiter. If its end comes while the process stands
 * still, it begins again.
 */
export class Stopwatch {
  readonly #clock: Clock;
  readonly #onSpent: () => void;
  readonly #total: number;
  #budget: number;
  /** When it was started; `undefined` while paused. */
  #since: number | undefined;
  #cancel: (() => void) | undefined;
  /** When the timer is due. */
  #due = 0;

  constructor(clock: Clock, budget: number, onSpent: () => void) {
    this.#clock = clock;
    this.#total = budget;
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
    if (!this.#cancel) this.#setTimer(this.#budget);
  }

  pause(): void {
    this.#budget = this.left;
    this.#since = undefined;
  }

  /** Begins again, since the process stood still. */
  restart(): void {
    this.#budget = this.#total;
    if (this.#since !== undefined) this.#since = this.#clock.monotonic();
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
    if (isLate(this.#clock, this.#due)) this.restart();
    const { left } = this;
    // Less than 1 ms is rounding, and on some clocks no time at all.
    if (left < 1) this.#onSpent();
    else this.#setTimer(left);
  };

  #setTimer(ms: number): void {
    this.#due = this.#clock.monotonic() + ms;
    this.#cancel = this.#clock.after(ms, this.#onTime);
  }
}
