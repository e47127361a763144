import { DecodeError } from '../../errors.js';
import { inWords } from '../../values.js';

/** An accepted row, or the start, after which a walk finds the next row. */
export interface PreviousRow<T> {
  /** The row that followed in the last walk. Only a hint: it may have moved or be gone. */
  next: AcceptedRow<T> | undefined;
}

export interface AcceptedRow<T> extends PreviousRow<T> {
  readonly key: string;
  row: T;
  /** The last walk that saw it. */
  walk: number;
}

const notSeen = 0;
const removed = -1;

/**
 * The rows of a snapshot by key, in their original order.
 *
 * Nearly all rows of a walk come in the order of the previous walk. So each row points to its successor, which `find`
 * returns without hashing a key: for short rows, hashing costs more than the comparison.
 */
export class SnapshotRows<T> implements Iterable<readonly [string, T]> {
  readonly start: PreviousRow<T> = { next: undefined };
  readonly #rows = new Map<string, AcceptedRow<T>>();
  #newest: PreviousRow<T> = this.start;
  #walks = notSeen;

  get size(): number {
    return this.#rows.size;
  }

  get(key: string): T | undefined {
    return this.#rows.get(key)?.row;
  }

  /** Returns the row that the key had before. */
  set(key: string, row: T): T | undefined {
    const known = this.#rows.get(key);
    if (known) {
      const before = known.row;
      known.row = row;
      return before;
    }
    const added: AcceptedRow<T> = { next: undefined, key, row, walk: notSeen };
    this.#rows.set(key, added);
    this.#newest.next ??= added;
    this.#newest = added;
    return undefined;
  }

  delete(key: string): void {
    const removedRow = this.#rows.get(key);
    if (!removedRow) return;
    this.#rows.delete(key);
    // Its predecessor may still point to it, so it must neither match nor retain other rows.
    removedRow.walk = removed;
    removedRow.next = undefined;
    if (this.#newest === removedRow) this.#newest = this.start;
  }

  *[Symbol.iterator](): Generator<readonly [string, T], void, undefined> {
    for (const { key, row } of this.#rows.values()) yield [key, row];
  }

  /** Starts a walk, which has not seen any row yet. */
  beginWalk(): number {
    this.#walks += 1;
    return this.#walks;
  }

  /** Finds the row of a key, starting from the walk's position. */
  find(key: string, from: PreviousRow<T>): AcceptedRow<T> | undefined {
    const { next } = from;
    return next?.key === key && next.walk !== removed ? next : this.#rows.get(key);
  }

  notSeenBy(walk: number): (readonly [string, T])[] {
    const rows: (readonly [string, T])[] = [];
    for (const each of this.#rows.values()) if (each.walk !== walk) rows.push([each.key, each.row]);
    return rows;
  }
}

/**
 * The key of a row as text. It identifies the row in the state: without keys, all rows would be the same, and two rows
 * could share a rounded number.
 *
 * @throws DecodeError if the value is not a key.
 */
export function rowKey<T>(key: (row: T) => unknown, row: T): string {
  const value = key(row);
  if (typeof value === 'string' && value !== '') return value;
  if (Number.isSafeInteger(value)) return String(value);
  throw new DecodeError(
    `key returned ${inWords(value)} for a row: it must be text or a whole number that identifies the row.`,
    {
      option: 'key',
    },
  );
}
