import type { SqlValue } from './database.js';
import { StagingTable } from './stagingTable.js';
import { ownKeyColumn, type TableShape } from './tableShape.js';

/** Characters of text, about, after which rows are committed. */
const maxCharacters = 16_000_000;

/** Rows that wait for a commit, with their places in the plan. */
export class RowBuffer<T> {
  readonly #shape: TableShape<T>;
  readonly #maxRows: number;
  #rows: (readonly SqlValue[])[] = [];
  #characters = 0;

  constructor(shape: TableShape<T>, maxRows = 5_000) {
    this.#shape = shape;
    this.#maxRows = maxRows;
  }

  get rows(): readonly (readonly SqlValue[])[] {
    return this.#rows;
  }

  get isFull(): boolean {
    return this.#rows.length >= this.#maxRows || this.#characters >= maxCharacters;
  }

  /**
   * @param nth the number of the row, from 1
   * @param more values of columns that follow those of the row
   * @throws SinkError if a value does not fit, which names row and column
   */
  add(row: T, partition: number, nth: number, more: readonly SqlValue[] = []): void {
    const values = this.#shape.readValues(row, nth);
    for (const value of values) if (typeof value === 'string') this.#characters += value.length;
    values.push(...more);
    if (this.#shape.ownKey === ownKeyColumn) values.push(this.#shape.readOwnKey(row));
    values.push(StagingTable.placeOf(partition, nth));
    this.#rows.push(values);
  }

  clear(): void {
    this.#rows = [];
    this.#characters = 0;
  }
}
