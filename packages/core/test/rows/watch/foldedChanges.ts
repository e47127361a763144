import assert from 'node:assert/strict';
import type { Change } from '../../../src/index.js';

/** What changes add up to. Each must begin where the one before it of the same key ended, and no id may name two of them. */
export class FoldedChanges<T> {
  readonly rows = new Map<string, T>();
  readonly #ids = new Set<string>();

  take(changes: Iterable<Change<T>>): this {
    for (const change of changes) {
      const { id, key, before, after } = change;
      assert(!this.#ids.has(id), `${id} came twice`);
      this.#ids.add(id);
      assert.deepEqual(before, this.rows.get(key) ?? null, `${id} does not begin where the one before it ended`);
      if (after === null) this.rows.delete(key);
      else this.rows.set(key, after);
    }
    return this;
  }
}

/** A change in short, e.g. `changed b: active -> error`. */
export function inShort({ type, key, before, after }: Change<{ readonly status: string }>): string {
  return type === 'changed' ? `changed ${key}: ${before.status} -> ${after.status}` : `${type} ${key}`;
}
