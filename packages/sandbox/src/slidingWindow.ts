/**
 * A strict rate limit: at most `requests` arrivals in any window of `per` ms. The caller passes the time.
 *
 * @example
 * const window = new SlidingWindow({ requests: 2, per: 1_000 });
 * window.arrive(0); // 0: admitted
 * window.arrive(10); // 0
 * window.arrive(400); // 600: refused, retry in 600 ms
 */
export class SlidingWindow {
  readonly #per: number;
  readonly #admitted: Float64Array;
  #next = 0;

  constructor({ requests, per }: { requests: number; per: number }) {
    this.#per = per;
    this.#admitted = new Float64Array(requests).fill(-Infinity);
  }

  /** 0 if the arrival is admitted; otherwise the ms until one will be. Refused arrivals don't count. */
  arrive(now: number): number {
    // A ring of the last `requests` admitted arrivals; the next slot is the oldest.
    const wait = (this.#admitted[this.#next] ?? -Infinity) + this.#per - now;
    if (wait > 0) return wait;
    this.#admitted[this.#next] = now;
    this.#next = (this.#next + 1) % this.#admitted.length;
    return 0;
  }
}
