import { shownText, SinkError, type ColumnType, type RowFormat, type RowSchema } from '@sluice/core';
import { toBoolean, integerText, jsonText, numberText, plainText, timestampMicros } from '../columnValue.js';
import { chooseTypedColumns, type Column } from '../columns.js';
import { fieldReader, checkRow } from '../fields.js';

/** A value as JSON that loses nothing: integers, numbers and microseconds are decimal text, JSON is its text. */
type Cell = string | boolean | null;

/**
 * Rows as JSON Lines: a list of values for each row, which are checked by the types of their columns. So a value that
 * does not fit fails the export when it arrives, and not when the file is encoded.
 *
 * @throws SinkError if a value does not fit, when it is encoded.
 */
export function typedRowFormat<T>(wanted: readonly string[] | undefined): RowFormat<T> {
  return {
    name: 'typed rows',
    identity: { format: 'typed rows', columns: wanted ? [...wanted] : null },
    encoder(schema) {
      const readers = chooseTypedColumns(wanted, schema, 'Parquet file').map((column) => ({
        column,
        read: fieldReader(column.name),
      }));
      let rows = 0;
      const cellsOf = (row: T): Cell[] => {
        rows += 1;
        const fields = checkRow(row, 'a Parquet file');
        return readers.map(({ column, read }) => {
          const value = read(fields) ?? null;
          const cell = value === null ? null : cellFor[column.type](value);
          if (cell === undefined) throw misfit(rowName(row, rows, schema), column, value);
          return cell;
        });
      };
      return { header: '', encode: (items) => items.map((row) => `${JSON.stringify(cellsOf(row))}\n`).join('') };
    },
  };
}

const cellFor: Readonly<Record<ColumnType, (value: unknown) => Cell | undefined>> = {
  text: plainText,
  integer: integerText,
  number: numberText,
  boolean: toBoolean,
  timestamp: (value) => timestampMicros(value)?.toString(),
  json: (value) => replaceSurrogates(jsonText(value)),
};

const wantedValue: Readonly<Record<ColumnType, string>> = {
  text: 'is not text and has no JSON',
  integer: 'is not an exact integer (beyond 2^53 it must be text or a BigInt)',
  number: 'is not a decimal number',
  boolean: 'is neither true nor false',
  timestamp: 'is not an ISO 8601 timestamp with a zone, to the microsecond',
  json: 'has no JSON (a BigInt, a cycle)',
};

/** `JSON.stringify` escapes an unpaired surrogate, which DuckDB refuses in JSON. As in text, it becomes U+FFFD. */
function replaceSurrogates(json: string | undefined): string | undefined {
  if (!json?.includes('\\ud')) return json;
  return json.replace(/\\(?:u(d[89a-f][\da-f]{2})|.)/g, (escape, surrogate) => (surrogate ? '\ufffd' : escape));
}

function misfit(row: string, { name, type }: Column, value: unknown): SinkError {
  const text = shownText(plainText(value) ?? typeof value);
  return new SinkError(
    `${row} does not fit: ${name} is ${text}, which ${wantedValue[type]}. Correct it with pipePages(map(…), { schema }), or declare the column as text.`,
    { details: { column: name, type } },
  );
}

/** Without a key, a row is known by its number in this run. */
function rowName<T>(row: T, nth: number, schema: RowSchema<T> | undefined): string {
  const number = `Row ${nth.toLocaleString('en')} of this run`;
  const key = schema?.key?.(row);
  return key === undefined ? number : `${number}, ${String(key)},`;
}
