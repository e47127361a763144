import { arrivalMargin, type Limit } from './limit.js';

/** Shares of a window by which starts may count later than they were written: of one window at once, and on average. */
const mostAtOnce = 0.03;
const mostOnAverage = 0.005;

/**
 * How late requests arrive, as far as their responses tell: none arrived after its response.
 *
 * A connection that opens, a lost packet or a server that stalls may delay a request for longer than the margin of the
 * windows, and the one that takes its place a window later would come too early. But most responses that are late are so
 * for another reason, so only a small share of the rate is spent on them.
 */
export class Lateness {
  readonly #limits: readonly Limit[];
  /** Ms that starts may still be counted later, all together. */
  #spare: number;
  /** Ms that the fastest responses take. Nothing is known at first, and what is known is forgotten slowly. */
  #fastest = 0;
  #responses = 0;

  constructor(limits: readonly Limit[]) {
    this.#limits = limits;
    this.#spare = this.#mostSpare;
  }

  /** Ms by which a start counts later than it was written, or earlier, since its response took this long. */
  shiftOf(took: number): number {
    this.#responses += 1;
    this.#fastest += (took - this.#fastest) / (took < this.#fastest ? 1 : Math.min(100 + this.#responses, 1_000));
    const perStart = Math.min(...this.#limits.map(({ per }) => mostOnAverage * per));
    this.#spare = Math.min(this.#mostSpare, this.#spare + perStart);
    if (took < arrivalMargin) return took - arrivalMargin;
    const late = Math.min(Math.max(0, took - this.#fastest - arrivalMargin), this.#spare);
    this.#spare -= late;
    return late;
  }

  get #mostSpare(): number {
    return Math.min(...this.#limits.map(({ requests, per }) => mostAtOnce * requests * per));
  }
}
