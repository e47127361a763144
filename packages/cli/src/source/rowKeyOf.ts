import { UsageError } from '../faults/usageError.js';
import { fieldText } from '../terminal/fieldText.js';

/**
 * What tells one row from another: the values of fields. A row that lacks one has no key, which fails the poll.
 *
 * @throws UsageError if one of the fields is no column.
 */
export function rowKeyOf(fields: readonly string[], columns: readonly string[]): (row: unknown) => string {
  const unknown = fields.find((field) => !columns.includes(field));
  if (unknown !== undefined)
    throw new UsageError(
      `--key: there is no column ${JSON.stringify(unknown)}. The columns are: ${columns.join(', ')}.`,
    );
  return (row) => {
    const values = new Map(typeof row === 'object' && row !== null ? Object.entries(row) : []);
    const texts = fields.map((field) => fieldText(values.get(field)));
    if (texts.includes('')) return '';
    return texts.length === 1 ? (texts[0] ?? '') : JSON.stringify(texts);
  };
}
