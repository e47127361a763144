import { DecodeError } from '../errors.js';

/**
 * The key of a row, as text. It also names the row in the state, and rows without one would all be taken for the same. A number that was
 * rounded may be the key of two rows.
 *
 * @throws DecodeError if it is none.
 */
export function rowKey<T>(key: (row: T) => unknown, row: T): string {
  const value = key(row);
  if (typeof value === 'string' && value !== '') return value;
  if (Number.isSafeInteger(value)) return String(value);
  const what = value === '' ? 'an empty text' : String(value);
  throw new DecodeError(
    `key gave ${what} for a row: it must be text or a whole number that tells the row from all others.`,
    {
      option: 'key',
    },
  );
}
