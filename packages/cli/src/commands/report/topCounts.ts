/** How often a value occurs. */
export interface Share {
  readonly name: string;
  /** A lower bound, if the counts are not exact. */
  readonly count: number;
}

/**
 * Counts keys in bounded memory: exactly up to `capacity` different keys, then the frequent ones up to `error`.
 *
 * When there are twice as many keys, the count of the last one that is kept is subtracted from all (Misra and Gries, in
 * batches). A key that is more frequent than `error` is never lost.
 */
export class TopCounts {
  /** No count is lower than the true one by more than this. 0 means that all are exact. */
  error = 0;
  readonly #capacity: number;
  #counts = new Map<string, number>();

  constructor(capacity: number) {
    this.#capacity = capacity;
  }

  add(key: string): void {
    this.#counts.set(key, (this.#counts.get(key) ?? 0) + 1);
    if (this.#counts.size > 2 * this.#capacity) this.#prune();
  }

  /** Different keys; `undefined` if there were too many to count. */
  get size(): number | undefined {
    return this.error === 0 ? this.#counts.size : undefined;
  }

  /** The most frequent ones first; equal ones by name. */
  top(max: number): readonly Share[] {
    const all = Array.from(this.#counts, ([name, count]): Share => ({ name, count }));
    return all.toSorted((one, other) => other.count - one.count || (one.name < other.name ? -1 : 1)).slice(0, max);
  }

  #prune(): void {
    const [last = 0] = [...this.#counts.values()].toSorted((one, other) => other - one).slice(this.#capacity);
    this.error += last;
    this.#counts = new Map([...this.#counts].flatMap(([key, count]) => (count > last ? [[key, count - last]] : [])));
  }
}
