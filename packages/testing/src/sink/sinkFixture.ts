import type { RowSchema, Sink } from '@sluice/core';
import type { Fixture } from '../suite.js';

/** A new, empty target and its sink. */
export interface SinkFixture<T> extends Fixture {
  /** Creates the sink on this target, like a new process. */
  sink(): Sink<T>;
  /** The rows, in the order of the target. Called after a writer was closed, or flushed rows of an endless source. */
  rows(): readonly unknown[] | Promise<readonly unknown[]>;
  /** Releases what a dead process would, e.g. connections, and discards what is not durable. Default: nothing. */
  crash?(): void | Promise<void>;
}

/** The rows to write, for a sink that accepts only some, or returns them in another form. */
export interface RowSamples<T> {
  /** The row with this number, from 0; all rows differ. */
  row(nth: number): T;
  /** The schema of the source. */
  readonly schema?: RowSchema<T>;
  /** A row with nested values; absent if the sink accepts none. */
  nested?(): T;
  /** What `rows()` returns for this row. Default: the row after a round trip through JSON. */
  readBack?(row: T): unknown;
}

/** A nested value. */
export interface SampleNote {
  readonly by: string | null;
  readonly tags: readonly (string | number)[];
}

/** The default row of the suite: text of all kinds, numbers, and sometimes `null`. */
export interface SampleRow {
  readonly id: string;
  readonly name: string;
  readonly amount: number;
  /** An object only in {@link RowSamples.nested}. */
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
 * The default rows of the suite.
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
    id: 'nested',
    name: 'nested values',
    amount: 1,
    note: { by: null, tags: ['a, "b"', 2] },
  }),
  schema: { columns: ['id', 'name', 'amount', 'note'], key: ({ id }) => id },
};
