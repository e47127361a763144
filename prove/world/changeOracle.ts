import type { Change } from '@sluice/core';
import { difference } from './difference.js';
import type { Apis } from './services.js';

/** The listing that changes come to, taken one by one: each must follow from those before it. */
export class ChangeOracle {
  readonly #rows = new Map<string, string>();
  readonly #ids = new Set<string>();
  readonly #wrong: string[] = [];
  readonly #removed = new Map<string, string>();

  add({ id, type, key, before, after }: Change<unknown>): void {
    const known = this.#rows.get(key);
    if (this.#ids.has(id)) this.#wrong.push(`The change ${id} came twice.`);
    this.#ids.add(id);
    if (known !== (before === null ? undefined : JSON.stringify(before)))
      this.#wrong.push(`The change ${id} (${type} ${key}) does not follow from those before.`);
    if (after === null) this.#removed.set(key, id);
    if (after === null) this.#rows.delete(key);
    else if (known === JSON.stringify(after)) this.#wrong.push(`The change ${id} changes nothing.`);
    else this.#rows.set(key, JSON.stringify(after));
  }

  /** What is wrong, now that the listing stands still. */
  judge({ streams, shifts }: Apis): readonly string[] {
    const rows = streams.read(0, streams.size).rows;
    const listed = rows.map((row) => JSON.stringify(row));
    // A row is taken for removed when two walks in a row missed it, and none does unless rows moved meanwhile.
    if (shifts < 2)
      for (const { id } of rows) {
        const change = this.#removed.get(id);
        if (change !== undefined) this.#wrong.push(`The change ${change} says that ${id} was removed, and it was not.`);
      }
    const [actual, expected] = [[...this.#rows.values()], listed].map((rows) => rows.toSorted().join('\n'));
    if (actual === expected || expected === undefined) return this.#wrong;
    const counts = `The changes come to ${this.#rows.size} rows, and the listing has ${listed.length}`;
    return [...this.#wrong, `${counts}: ${difference(actual, expected)}`];
  }
}
