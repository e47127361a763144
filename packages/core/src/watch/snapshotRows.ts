import { DecodeError } from '../errors.js';

/** Where a walk stands among the accepted rows: at one of them, or before the first. */
export interface WalkPlace<T> {
  /** What followed it in the last walk that came by. Only a hint: it may have moved, or gone. */
  next: AcceptedRow<T> | undefined;
}

export interface AcceptedRow<T> extends WalkPlace<T> {
  readonly key: string;
  row: T;
  /** The number of the walk that saw it last. */
  walk: number;
}

const notSeen = 0;
const removed = -1;

/**
 * The rows of a snapshot by their keys, in the order in which they came.
 *
 * Nearly all rows of a walk follow one another as they did in the walk before. So each knows what followed it, and is found without
 * hashing its key: for short rows that would cost more than comparing them.
 */
export class SnapshotRows<T> implements Iterable<readonly [string, T]> {
  readonly start: WalkPlace<T> = { next: undefined };
  readonly #rows = new Map<string, AcceptedRow<T>>();
  #newest: WalkPlace<T> = this.start;
  #walks = notSeen;

  get size(): number {
    return this.#rows.size;
  }

  get(key: string): T | undefined {
    return this.#rows.get(key)?.row;
  }

  set(key: string, row: T): void {
    const known = this.#rows.get(key);
    if (known) {
      known.row = row;
      return;
    }
    const added: AcceptedRow<T> = { next: undefined, key, row, walk: notSeen };
    this.#rows.set(key, added);
    this.#newest.next ??= added;
    this.#newest = added;
  }

  delete(key: string): void {
    const gone = this.#rows.get(key);
    if (!gone) return;
    this.#rows.delete(key);
    // Its neighbour may still point to it: it must neither be found there nor hold on to others.
    gone.walk = removed;
    gone.next = undefined;
    if (this.#newest === gone) this.#newest = this.start;
  }

  *[Symbol.iterator](): Generator<readonly [string, T], void, undefined> {
    for (const { key, row } of this.#rows.values()) yield [key, row];
  }

  /** The number of a walk that begins: whatever another one saw, this one has not. */
  beginWalk(): number {
    this.#walks += 1;
    return this.#walks;
  }

  /** The row of a key, which a walk came to from another place. */
  find(key: string, from: WalkPlace<T>): AcceptedRow<T> | undefined {
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
 * The key of a row, as text. It also names the row in the state, and rows without one would all be taken for the same. A number that was
 * rounded may be the key of two rows.
 *
 * @throws DecodeError if it is none.
 */
export function rowKey<T>(key: (row: T) => unknown, row: T): string {
  const value = key(row);
  if (typeof value === 'string' && value !== '') return value;
  if (Number.isSafeInteger(value)) return String(value);
  const what = value === '' ? 'an empty text' : String(value);
  throw new DecodeError(
    `key gave ${what} for a row: it must be text or a whole number that tells the row from all others.`,
    {
      option: 'key',
    },
  );
}
