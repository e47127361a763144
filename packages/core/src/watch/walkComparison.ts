import type { Difference } from './change.js';
import type { FieldsBetween } from './rowComparison.js';
import type { AcceptedRow, SnapshotRows, WalkPlace } from './snapshotRows.js';

/** How the rows of one complete walk differ from those that were accepted. */
export interface Findings<T> {
  readonly changed: readonly Difference<T>[];
  readonly added: readonly Difference<T>[];
  /** Accepted rows that the walk lacks, and their keys. */
  readonly gone: readonly (readonly [string, T])[];
  readonly accepted: number;
  /** Keys that the walk has listed more than once, with different rows: nobody can say which one is right. */
  readonly repeated: number;
}

/**
 * Compares the rows of one walk with the accepted ones as they come, so that only those that differ are kept: no walk is ever in
 * memory as a whole, and each row is compared while the processor still has it at hand.
 *
 * The accepted rows stay as they are. A walk that fails is dropped half-way and has left nothing but its number. One at a time: until
 * it ends or is dropped, no other may begin and no row be accepted.
 */
export class WalkComparison<T> {
  readonly #accepted: SnapshotRows<T>;
  readonly #fields: FieldsBetween<T>;
  readonly #walk: number;
  readonly #changed = new Map<string, Difference<T>>();
  readonly #added = new Map<string, Difference<T>>();
  readonly #repeated = new Set<string>();
  #place: WalkPlace<T>;
  #seen = 0;

  constructor(accepted: SnapshotRows<T>, fields: FieldsBetween<T>) {
    this.#accepted = accepted;
    this.#fields = fields;
    this.#walk = accepted.beginWalk();
    this.#place = accepted.start;
  }

  /** A row of the walk. Of two with one key the last one counts. */
  add(key: string, after: T): void {
    const accepted = this.#accepted.find(key, this.#place);
    if (accepted === undefined) {
      this.#checkRepeated(key, this.#added.get(key)?.after, after);
      this.#added.set(key, { type: 'added', key, before: null, after, fields: [] });
      return;
    }
    const isRepeated = accepted.walk === this.#walk;
    if (isRepeated) this.#checkRepeated(key, this.#changed.get(key)?.after ?? accepted.row, after);
    else {
      accepted.walk = this.#walk;
      this.#seen += 1;
      this.#goTo(accepted);
    }
    const before = accepted.row;
    const fields = this.#fields(before, after);
    if (fields.length > 0) this.#changed.set(key, { type: 'changed', key, before, after, fields });
    else if (isRepeated) this.#changed.delete(key);
  }

  end(): Findings<T> {
    this.#place.next = undefined;
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

  #goTo(row: AcceptedRow<T>): void {
    // Most writes would write what is there: a look is cheaper.
    if (this.#place.next !== row) this.#place.next = row;
    this.#place = row;
  }
}
