import { ConfigError, type RowSchema } from '@sluice/core';

/**
 * Checks the columns that a user named.
 *
 * @throws ConfigError if the list is empty, or if a column is repeated or not in the schema.
 */
export function checkColumns<T>(columns: readonly string[], schema: RowSchema<T> | undefined): void {
  if (columns.length === 0) throw new ConfigError('The list of columns is empty: name one at least, or leave it out.');
  const unknown = columns.find((column) => schema && !schema.columns.includes(column));
  if (unknown !== undefined)
    throw new ConfigError(
      `There is no column ${JSON.stringify(unknown)}. Available: ${schema?.columns.join(', ') ?? ''}.`,
    );
  const repeated = columns.find((column, index) => columns.indexOf(column) !== index);
  if (repeated !== undefined) throw new ConfigError(`The column ${JSON.stringify(repeated)} is named twice.`);
}
