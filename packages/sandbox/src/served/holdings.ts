import type { ShapeName } from './answerShape.js';
import { Collections } from './collections.js';
import { holdingRows, type HoldingRow } from './holdingRow.js';
import { Owners, type Run } from './owners.js';

/** Collection hashes (lower case, without 0x). Without `include`, all collections but `exclude`. */
export interface CollectionFilter {
  readonly include?: readonly string[];
  readonly exclude?: readonly string[];
}

/** Rows and the place of the next one; `null` at the end. */
export interface Slice<Row> {
  readonly rows: readonly Row[];
  readonly next: number | null;
}

/** All holdings: computed, never stored, in an order that can be rotated. */
export class Holdings {
  readonly owners: Owners;
  readonly #size: number;
  readonly #collections: Collections;
  readonly #row: (index: number) => HoldingRow;
  #moved = 0;

  constructor(options: { seed: number; holdings: number; owners: number; nasty: number; nested: ShapeName }) {
    const { seed, holdings, owners, nasty, nested } = options;
    this.#size = holdings;
    this.owners = new Owners(seed, owners, holdings);
    this.#collections = new Collections(seed, nasty);
    this.#row = holdingRows(seed, nasty, { owners: this.owners, collections: this.#collections, nested });
  }

  /** The row of an index, wherever it is in the order. Throws `RangeError` after the last one. */
  row(index: number): HoldingRow {
    if (!Number.isInteger(index) || index < 0 || index >= this.#size)
      throw new RangeError(`There is no holding ${index}: the sandbox has ${this.#size}, counted from 0.`);
    return this.#row(index);
  }

  /** Moves the rows of every owner back by `by` places; the last ones move to the front. */
  move(by: number): void {
    this.#moved += by;
  }

  /** The rows of some owners, in the given order of owners. */
  of(owners: readonly string[], filter: CollectionFilter = {}): HoldingsView {
    const runs = [...new Set(owners)].flatMap((owner) => rotate(this.owners.runOf(owner), this.#moved));
    return new HoldingsView(runs, this.#collections.keeper(filter.include ?? [], filter.exclude ?? []), this.#row);
  }
}

/** The rows of one query. A place counts all rows of its owners, kept or not. */
export class HoldingsView implements Iterable<HoldingRow> {
  readonly #runs: readonly Run[];
  readonly #keeps: (index: number) => boolean;
  readonly #row: (index: number) => HoldingRow;

  constructor(runs: readonly Run[], keeps: (index: number) => boolean, row: (index: number) => HoldingRow) {
    this.#runs = runs;
    this.#keeps = keeps;
    this.#row = row;
  }

  /** The place of the kept row after `offset` kept rows, or after the last row if there are fewer. */
  seek(offset: number): number {
    let place = 0;
    let left = offset;
    for (const { from, to } of this.#runs)
      for (let index = from; index < to; index++, place++) if (this.#keeps(index) && left-- === 0) return place;
    return place;
  }

  /** Up to `limit` kept rows from a place; fewer, even none, after it has scanned 20,480 rows. */
  read(place: number, limit: number): Slice<HoldingRow> {
    const rows: HoldingRow[] = [];
    let at = place;
    let budget = SCANNED_ROWS;
    for (const { from, to } of this.#rest(place))
      for (let index = from; index < to && rows.length < limit && budget > 0; index++, at++, budget--)
        if (this.#keeps(index)) rows.push(this.#row(index));
    return { rows, next: this.#hasMore(at) ? at : null };
  }

  /** All kept rows. */
  *[Symbol.iterator](): Generator<HoldingRow, void, undefined> {
    for (const { from, to } of this.#runs)
      for (let index = from; index < to; index++) if (this.#keeps(index)) yield this.#row(index);
  }

  #hasMore(place: number): boolean {
    for (const { from, to } of this.#rest(place))
      for (let index = from; index < to; index++) if (this.#keeps(index)) return true;
    return false;
  }

  /** The runs without their first `place` rows. */
  *#rest(place: number): Generator<Run, void, undefined> {
    let skipped = place;
    for (const { from, to } of this.#runs) {
      const start = Math.min(from + skipped, to);
      skipped -= start - from;
      if (start < to) yield { from: start, to };
    }
  }
}

const SCANNED_ROWS = 20_480;

function rotate({ from, to }: Run, by: number): Run[] {
  const first = to - rowsInFront(by, to - from);
  return [
    { from: first, to },
    { from, to: first },
  ].filter((run) => run.from < run.to);
}

/** How many of the last rows are at the front after all `size` rows have moved back by `by` places. */
export function rowsInFront(by: number, size: number): number {
  return size === 0 ? 0 : ((by % size) + size) % size;
}
