import type { Difference } from './change.js';
import type { FieldsBetween } from './comparisonOptions.js';
import { SnapshotRows, type AcceptedRow, type PreviousRow } from './snapshotRows.js';

/** The differences between a complete walk and the accepted rows. */
export interface Findings<T> {
  readonly changed: readonly Difference<T>[];
  readonly added: readonly Difference<T>[];
  /** Accepted rows that the walk lacks, with their keys. */
  readonly gone: readonly (readonly [string, T])[];
  readonly accepted: number;
  /** Keys that the walk listed several times with different rows. */
  readonly repeated: number;
}

/** The usual result, shared by all rows. */
const noFields: readonly [] = [];

/**
 * Compares the rows of a walk with the accepted rows as they arrive. It stores only differences, so a walk is never in
 * memory as a whole, and each row is compared while it is in the CPU cache.
 *
 * The accepted rows do not change, so a failed walk can be dropped. Until a comparison ends or is dropped, no other one
 * may start, and no row may be accepted.
 */
export class WalkComparison<T> {
  readonly #accepted: SnapshotRows<T>;
  readonly #fields: FieldsBetween<T>;
  readonly #walk: number;
  readonly #changed = new Map<string, Difference<T>>();
  readonly #added = new Map<string, Difference<T>>();
  readonly #repeated = new Set<string>();
  #position: PreviousRow<T>;
  #seen = 0;

  constructor(accepted: SnapshotRows<T>, fields: FieldsBetween<T>) {
    this.#accepted = accepted;
    this.#fields = fields;
    this.#walk = accepted.beginWalk();
    this.#position = accepted.start;
  }

  /** Adds a row of the walk. If its key repeats, the last row counts. Returns whether the key repeats. */
  add(key: string, after: T): boolean {
    const accepted = this.#accepted.find(key, this.#position);
    if (accepted === undefined) {
      const added = this.#added.get(key);
      this.#checkRepeated(key, added?.after, after);
      this.#added.set(key, { type: 'added', key, before: null, after, fields: noFields });
      return added !== undefined;
    }
    const isRepeated = accepted.walk === this.#walk;
    if (isRepeated) this.#checkRepeated(key, this.#changed.get(key)?.after ?? accepted.row, after);
    else {
      accepted.walk = this.#walk;
      this.#seen += 1;
      this.#moveTo(accepted);
    }
    const before = accepted.row;
    // A stored page that has not changed has the very same row objects.
    const fields = before === after ? noFields : this.#fields(before, after);
    if (fields.length > 0) this.#changed.set(key, { type: 'changed', key, before, after, fields });
    else if (isRepeated) this.#changed.delete(key);
    return isRepeated;
  }

  end(): Findings<T> {
    this.#position.next = undefined;
    return {
      changed: [...this.#changed.values()],
      added: [...this.#added.values()],
      gone: this.#seen === this.#accepted.size ? [] : this.#accepted.notSeenBy(this.#walk),
      accepted: this.#accepted.size,
      repeated: this.#repeated.size,
    };
  }

  #checkRepeated(key: string, before: T | null | undefined, after: T): void {
    if (before === undefined || before === null) return;
    if (this.#fields(before, after).length > 0) this.#repeated.add(key);
  }

  #moveTo(row: AcceptedRow<T>): void {
    // The hint is usually right already, and reading is cheaper than writing.
    if (this.#position.next !== row) this.#position.next = row;
    this.#position = row;
  }
}

/** Collects the rows of a watch's first walk directly: there is no accepted snapshot that a failed walk could spoil. */
export class FirstWalk<T> {
  readonly #rows = new SnapshotRows<T>();
  readonly #repeated = new Set<string>();
  readonly #fields: FieldsBetween<T>;

  constructor(fields: FieldsBetween<T>) {
    this.#fields = fields;
  }

  /** Adds a row. If its key repeats, the last row counts. Returns whether the key repeats. */
  add(key: string, row: T): boolean {
    const before = this.#rows.set(key, row);
    if (before === undefined) return false;
    if (this.#fields(before, row).length > 0) this.#repeated.add(key);
    return true;
  }

  end(): { readonly rows: SnapshotRows<T>; readonly repeated: number } {
    return { rows: this.#rows, repeated: this.#repeated.size };
  }
}
