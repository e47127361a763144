import { hintFor } from '../../checks.js';
import { ConfigError } from '../../errors.js';
import type { ColumnType } from './columnTypes.js';
import type { RowSchema } from '../source/definition.js';

/** A column, and the type of its values. */
export interface Column {
  readonly name: string;
  readonly type: ColumnType;
}

/**
 * Checks the columns that a user named.
 *
 * @throws ConfigError if the list is empty, or if a column is repeated or not in the schema.
 */
export function checkColumns<T>(columns: readonly string[], schema: RowSchema<T> | undefined): void {
  if (columns.length === 0) throw new ConfigError('The list of columns is empty: name one at least, or leave it out.');
  const unknown = columns.find((column) => schema && !schema.columns.includes(column));
  if (unknown !== undefined)
    throw new ConfigError(`There is no column ${JSON.stringify(unknown)}. ${hintFor(unknown, schema?.columns ?? [])}`);
  const repeated = columns.find((column, index) => columns.indexOf(column) !== index);
  if (repeated !== undefined) throw new ConfigError(`The column ${JSON.stringify(repeated)} is named twice.`);
}

/**
 * The columns that a user named, or else the source's columns, with their types: text if the source declares none.
 *
 * @param target the format that has the columns, for errors: `CSV`
 * @throws ConfigError if there are no columns, or a column is unknown or repeated.
 */
export function chooseColumns<T>(
  wanted: readonly string[] | undefined,
  schema: RowSchema<T> | undefined,
  target: string,
): readonly Column[] {
  const columns = wanted ?? schema?.columns;
  if (!columns)
    throw new ConfigError(`A ${target} needs columns, and the source has none of its own. Name them: columns: [...].`);
  checkColumns(columns, schema);
  // A map, since an object inherits names such as `constructor`.
  const types = new Map(Object.entries(schema?.types ?? {}));
  return columns.map((name) => ({ name, type: types.get(name) ?? 'text' }));
}
