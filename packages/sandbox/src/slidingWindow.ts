/**
 * A strict rate limit: never more than `requests` arrivals in any `per` ms, however the window is laid.
 * It has no clock: the caller says what time it is.
 *
 * @example
 * const window = new SlidingWindow({ requests: 2, per: 1_000 });
 * window.arrive(0); // 0: admitted
 * window.arrive(10); // 0
 * window.arrive(400); // 600: refused, worth another try in 600 ms
 */
export class SlidingWindow {
  readonly #per: number;
  readonly #admitted: Float64Array;
  #next = 0;

  constructor({ requests, per }: { requests: number; per: number }) {
    this.#per = per;
    this.#admitted = new Float64Array(requests).fill(-Infinity);
  }

  /** 0 where the arrival is admitted; else the ms until one will be. Who is refused does not count. */
  arrive(now: number): number {
    // The ring holds the last `requests` admitted arrivals; the slot to be overwritten is the oldest one.
    const wait = (this.#admitted[this.#next] ?? -Infinity) + this.#per - now;
    if (wait > 0) return wait;
    this.#admitted[this.#next] = now;
    this.#next = (this.#next + 1) % this.#admitted.length;
    return 0;
  }
}
