/** So many are remembered at least: at most so far back a row that moved in its listing is known again. */
const minKept = 20_000;

/**
 * The ids of records that were on their way lately. A row that the API lists again, since rows moved or since an interrupted run asks
 * again, is a record that was sent already: sent anew, it would have the same id and another text.
 */
export class RecentIds implements Iterable<string> {
  /** With their numbers, the oldest first. */
  readonly #numbers = new Map<string, number>();

  has(id: string): boolean {
    return this.#numbers.has(id);
  }

  add(id: string, number: number): void {
    this.#numbers.set(id, number);
  }

  /** Lets go of the oldest, but of none from this number on: those may be asked for again by the next run. */
  forget(before: number): void {
    for (const [id, number] of this.#numbers) {
      if (this.#numbers.size <= minKept || number >= before) return;
      this.#numbers.delete(id);
    }
  }

  [Symbol.iterator](): Iterator<string> {
    return this.#numbers.keys();
  }
}
