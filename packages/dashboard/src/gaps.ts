import type { Gap } from './series.js';

const maxGaps = 20;

/** Times in which nothing was known of the rows: nothing succeeded, or nobody looked. */
export class Gaps {
  /** Those before the start. */
  #past: readonly Gap[] = [];
  /** The last one may have no end. */
  #own: readonly Gap[] = [];

  /** Those since the start. */
  get own(): readonly Gap[] {
    return this.#own;
  }

  get all(): readonly Gap[] {
    return [...this.#past, ...this.#own];
  }

  addPast(gaps: readonly Gap[]): void {
    this.#past = gaps.slice(-maxGaps);
  }

  /** @param from when it began that nothing is known; `undefined` if something is. */
  note(from: number | undefined, now: number): void {
    const last = this.#own.at(-1);
    const isOpen = last && last.to === undefined;
    if (from === undefined) {
      if (isOpen) this.#own = [...this.#own.slice(0, -1), { from: last.from, to: now }];
    } else if (!isOpen) this.#own = [...this.#own, { from }].slice(-maxGaps);
  }
}
