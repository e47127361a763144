import { arrivalMargin, type Limit } from './limit.js';

/**
 * Shares of a window by which starts may count later than they were written: of one window at once, and on average,
 * besides the margin that fast responses save.
 */
const mostAtOnce = 0.5;
const mostOnAverage = 0.01;

/**
 * How late requests arrive, as far as their responses tell: none arrived after its response.
 *
 * A connection that opens, a lost packet or a server that stalls may delay a request for longer than the margin of the
 * windows, and the one that takes its place a window later would come too early. But a response may be late for another
 * reason, so only a small share of the rate is spent on that.
 */
export class Lateness {
  /** As many responses as a window may have requests. */
  readonly #window: number;
  readonly #mostSpare: number;
  readonly #sparePerStart: number;
  /** Ms by which starts may still count later, all together. */
  #spare: number;
  /** Ms that the fastest response took, of the window before and of this one. Of the first window, nothing is known. */
  #fastestBefore = 0;
  #fastest = Infinity;
  #counted = 0;

  constructor(limits: readonly Limit[]) {
    this.#window = Math.min(...limits.map(({ requests }) => requests));
    this.#mostSpare = Math.min(...limits.map(({ requests, per }) => mostAtOnce * requests * per));
    this.#sparePerStart = Math.min(...limits.map(({ per }) => mostOnAverage * per));
    this.#spare = this.#mostSpare;
  }

  /** Ms by which a start counts later than it was written, or earlier, since its response took this long. */
  shiftOf(took: number): number {
    this.#fastest = Math.min(this.#fastest, took);
    const usual = Math.min(this.#fastest, this.#fastestBefore);
    this.#counted += 1;
    if (this.#counted >= this.#window) {
      this.#fastestBefore = this.#fastest;
      this.#fastest = Infinity;
      this.#counted = 0;
    }
    const spare = Math.min(this.#mostSpare, this.#spare + this.#sparePerStart);
    const shift =
      took < arrivalMargin ? took - arrivalMargin : Math.min(spare, Math.max(0, took - usual - arrivalMargin));
    this.#spare = spare - shift;
    return shift;
  }
}
