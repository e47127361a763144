import { ConfigError, type RowSchema } from '@sluice/core';

/**
 * Checks the columns that a user named.
 *
 * @throws ConfigError if there are none, one is named twice, or one is not among the source's own, where it has some.
 */
export function checkColumns<T>(columns: readonly string[], schema: RowSchema<T> | undefined): void {
  if (columns.length === 0) throw new ConfigError('The list of columns is empty: name one at least, or leave it out.');
  const unknown = columns.find((column) => schema && !schema.columns.includes(column));
  if (unknown !== undefined)
    throw new ConfigError(
      `There is no column ${JSON.stringify(unknown)}. The columns are: ${schema?.columns.join(', ') ?? ''}.`,
    );
  const repeated = columns.find((column, index) => columns.indexOf(column) !== index);
  if (repeated !== undefined) throw new ConfigError(`The column ${JSON.stringify(repeated)} is named twice.`);
}
