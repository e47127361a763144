import { SinkError, type RowSchema } from '@sluice/core';
import {
  checkRow,
  chooseColumns,
  type Column,
  columnValues,
  fieldReader,
  plainText,
  type RowFormat,
  shownText,
} from '@sluice/core/kit';

/**
 * Rows as JSON Lines: for each few rows a line with a list of values for each column. They are checked by the types of
 * their columns, so a value that does not fit fails the export when it arrives, and not when the file is encoded.
 *
 * @throws SinkError if a value does not fit, when it is encoded.
 */
export function typedRowFormat<T>(wanted: readonly string[] | undefined): RowFormat<T> {
  return {
    name: 'typed rows',
    identity: { format: 'typed rows', columns: wanted ? [...wanted] : null },
    encoder(schema) {
      const readers = chooseColumns(wanted, schema, 'Parquet file').map((column) => ({
        column,
        field: fieldReader(column.name),
        read: columnValues[column.type].read,
      }));
      let rows = 0;
      const encode = (items: readonly T[]): string => {
        const given = items.map((row) => checkRow(row, 'a Parquet file'));
        const cells = readers.map(({ column, field, read }) =>
          given.map((fields, nth) => {
            const value = field(fields) ?? null;
            const cell = value === null ? null : read(value);
            if (cell === undefined) throw misfit(rowName(items[nth], rows + nth + 1, schema), column, value);
            return cell;
          }),
        );
        rows += items.length;
        return `${JSON.stringify(cells)}\n`;
      };
      return { header: '', encode };
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
function rowName<T>(row: T | undefined, nth: number, schema: RowSchema<T> | undefined): string {
  const number = `Row ${nth.toLocaleString('en')} of this run`;
  const key = row === undefined ? undefined : schema?.key?.(row);
  return key === undefined ? number : `${number}, ${String(key)},`;
}
