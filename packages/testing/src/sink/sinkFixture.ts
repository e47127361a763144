import type { RowSchema, Sink } from '@sluice/core';
import type { Fixture } from '../suite.js';

/** A target of its own, with nothing in it yet, and the sink on it. */
export interface SinkFixture<T> extends Fixture {
  /** The sink on this target, made anew, as by a process that starts. */
  sink(): Sink<T>;
  /**
   * What is in the target, in its order. Asked only where the target is there: when a writer was closed, or has flushed what a source
   * without an end gave.
   */
  rows(): readonly unknown[] | Promise<readonly unknown[]>;
  /**
   * Ends what a dead process would no longer hold (a connection, say), and drops what is not durable. Default: nothing; the writer is
   * left as it stands, and nobody speaks to it again.
   */
  crash?(): void | Promise<void>;
}

/** The rows that are written, for a sink that does not take any, or gives them back in another way. */
export interface RowSamples<T> {
  /** The row of a number from 0: another one for each number. */
  row(nth: number): T;
  /** What the source says of its rows. */
  readonly schema?: RowSchema<T>;
  /** A row that has values in a value, as APIs give them; absent where the sink takes none. */
  nested?(): T;
  /** What `rows()` gives where this row was written. Default: the same, as JSON has it. */
  readBack?(row: T): unknown;
}

/** Values in a value. */
export interface SampleNote {
  readonly by: string | null;
  readonly tags: readonly (string | number)[];
}

/** A row that the suite writes unless told otherwise: text of all kinds, numbers, and `null` here and there. */
export interface SampleRow {
  readonly id: string;
  readonly name: string;
  readonly amount: number;
  /** Values in a value only in {@link RowSamples.nested}. */
  readonly note: string | null | SampleNote;
}

const names = [
  'plain',
  '',
  'Ünïcödé, 日本語 and 🚰',
  'commas, "quotes"; tabs\t',
  "O'Hara'); DROP TABLE rows; --",
  'one line\nanother\r\nand a third',
  '\u2028 and \u2029',
  '  spaces  ',
];
const amounts = [0, -1, 2.5, Number.MAX_SAFE_INTEGER, 1e-7];

/**
 * What the suite writes unless told otherwise.
 *
 * @example
 * const asText: RowSamples<SampleRow> = {
 *   ...sampleRows,
 *   readBack: (row) => ({ ...row, amount: String(row.amount), note: noteText(row.note) }),
 * };
 * const noteText = (note: SampleRow['note']) => (typeof note === 'object' ? (note ? JSON.stringify(note) : '') : note);
 */
export const sampleRows: RowSamples<SampleRow> = {
  row: (nth) => ({
    id: `row ${nth}`,
    name: names[nth % names.length] ?? '',
    amount: amounts[nth % amounts.length] ?? 0,
    note: nth % 3 === 1 ? null : `note ${nth}`,
  }),
  nested: () => ({
    ...{ id: 'nested', name: 'values in a value', amount: 1 },
    note: { by: null, tags: ['a, "b"', 2] },
  }),
  schema: { columns: ['id', 'name', 'amount', 'note'], key: ({ id }) => id },
};
