/** Seeded random numbers of one subject: what one subject draws does not shift what another does. */
export class Random {
  #state = 0x811c9dc5;

  /** @example new Random('7 network') */
  constructor(subject: string) {
    // FNV-1a, then the steps of mulberry32: far from secret, and even enough.
    for (const character of subject) this.#state = Math.imul(this.#state ^ (character.codePointAt(0) ?? 0), 0x01000193);
  }

  /** A number in [0, 1). */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0;
    let word = Math.imul(this.#state ^ (this.#state >>> 15), this.#state | 1);
    word ^= word + Math.imul(word ^ (word >>> 7), word | 61);
    return ((word ^ (word >>> 14)) >>> 0) / 2 ** 32;
  }

  chance(share: number): boolean {
    return this.next() < share;
  }

  /** A whole number from `min` to `max`, both included. */
  int(min: number, max: number): number {
    return min + Math.floor(this.next() * (max - min + 1));
  }

  pick<T>(list: readonly [T, ...T[]]): T {
    return list[this.int(0, list.length - 1)] ?? list[0];
  }

  /** Mostly near `min`, seldom near `max`: as latencies are. */
  skewed(min: number, max: number): number {
    return min + this.next() ** 4 * (max - min);
  }
}
