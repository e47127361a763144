/** Seeded random numbers (mulberry32): the same sequence for the same seed. Uniform enough for tests, not cryptographic. */
export class Random {
  #state = 0x811c9dc5;

  /**
   * @param seed a number, or the name of a subject, which is hashed (FNV-1a). Subjects have independent sequences.
   * @example new Random('7 network')
   */
  constructor(seed: number | string) {
    if (typeof seed === 'number') this.#state = seed;
    else for (const each of seed) this.#state = Math.imul(this.#state ^ (each.codePointAt(0) ?? 0), 0x01000193);
  }

  /** A number in [0, 1). */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0;
    let word = Math.imul(this.#state ^ (this.#state >>> 15), this.#state | 1);
    word ^= word + Math.imul(word ^ (word >>> 7), word | 61);
    return ((word ^ (word >>> 14)) >>> 0) / 2 ** 32;
  }

  chance(probability: number): boolean {
    return this.next() < probability;
  }

  /** An integer from `min` to `max`, both included. */
  int(min: number, max: number): number {
    return min + Math.floor(this.next() * (max - min + 1));
  }

  pick<T>(list: readonly [T, ...T[]]): T {
    return list[this.int(0, list.length - 1)] ?? list[0];
  }

  /** The items in random order. */
  shuffle<T>(items: readonly T[]): T[] {
    const keyed = items.map((item) => ({ item, key: this.int(0, 2 ** 32 - 1) }));
    return keyed.sort((a, b) => a.key - b.key).map(({ item }) => item);
  }

  /** Usually near `min`, rarely near `max`, like latencies. */
  skewed(min: number, max: number): number {
    // Multiplied, since the last bits of a power differ between versions of V8.
    const share = this.next();
    return min + share * share * share * share * (max - min);
  }
}
