/** At least this many ids are kept: a row that the API lists again is recognized within this many records. */
const minIds = 20_000;

/**
 * The ids of recently sent records. The API may list a row again, because rows moved or because a run resumed. Its
 * record must not be sent again: it would have the same id but another text.
 */
export class RecentIds implements Iterable<string> {
  /** Record numbers by id, oldest first. */
  readonly #numbers = new Map<string, number>();

  has(id: string): boolean {
    return this.#numbers.has(id);
  }

  add(id: string, number: number): void {
    this.#numbers.set(id, number);
  }

  /** Drops the oldest, but none from this number on: the next run may fetch those again. */
  forget(before: number): void {
    for (const [id, number] of this.#numbers) {
      if (this.#numbers.size <= minIds || number >= before) return;
      this.#numbers.delete(id);
    }
  }

  [Symbol.iterator](): Iterator<string> {
    return this.#numbers.keys();
  }
}
