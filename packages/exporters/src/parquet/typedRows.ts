import { shownText, SinkError, type RowFormat, type RowSchema } from '@sluice/core';
import { columnValues, plainText } from '../columnValue.js';
import { chooseTypedColumns, type Column } from '../columns.js';
import { fieldReader, checkRow } from '../fields.js';

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
      const cellsOf = (row: T): (string | boolean | null)[] => {
        rows += 1;
        const fields = checkRow(row, 'a Parquet file');
        return readers.map(({ column, read }) => {
          const value = read(fields) ?? null;
          const cell = value === null ? null : columnValues[column.type].read(value);
          if (cell === undefined) throw misfit(rowName(row, rows, schema), column, value);
          return cell;
        });
      };
      return { header: '', encode: (items) => items.map((row) => `${JSON.stringify(cellsOf(row))}\n`).join('') };
    },
  };
}

function misfit(row: string, { name, type }: Column, value: unknown): SinkError {
  const text = shownText(plainText(value) ?? typeof value);
  return new SinkError(
    `${row} does not fit: ${name} is ${text}, which ${columnValues[type].misfit}. Correct it with pipePages(map(…), { schema }), or declare the column as text.`,
    { details: { column: name, type } },
  );
}

/** Without a key, a row is known by its number in this run. */
function rowName<T>(row: T, nth: number, schema: RowSchema<T> | undefined): string {
  const number = `Row ${nth.toLocaleString('en')} of this run`;
  const key = schema?.key?.(row);
  return key === undefined ? number : `${number}, ${String(key)},`;
}
