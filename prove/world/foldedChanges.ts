import type { Change } from '@sluice/core';
import { difference } from './difference.js';
import type { Apis } from './services.js';

/** The listing that changes come to, taken one by one: each must follow from those before it. */
export class FoldedChanges {
  readonly #rows = new Map<string, string>();
  readonly #ids = new Set<string>();
  readonly #wrong: string[] = [];

  add({ id, type, key, before, after }: Change<unknown>): void {
    const known = this.#rows.get(key);
    if (this.#ids.has(id)) this.#wrong.push(`The change ${id} came twice.`);
    this.#ids.add(id);
    if (known !== (before === null ? undefined : JSON.stringify(before)))
      this.#wrong.push(`The change ${id} (${type} ${key}) does not follow from those before.`);
    if (after === null) this.#rows.delete(key);
    else if (known === JSON.stringify(after)) this.#wrong.push(`The change ${id} changes nothing.`);
    else this.#rows.set(key, JSON.stringify(after));
  }

  /** What is wrong, now that the listing stands still. */
  judge({ streams }: Apis): readonly string[] {
    const listed = streams.read(0, streams.size).rows.map((row) => JSON.stringify(row));
    const [actual, expected] = [[...this.#rows.values()], listed].map((rows) => rows.toSorted().join('\n'));
    if (actual === expected || expected === undefined) return this.#wrong;
    const counts = `The changes come to ${this.#rows.size} rows, and the listing has ${listed.length}`;
    return [...this.#wrong, `${counts}: ${difference(actual, expected)}`];
  }
}
