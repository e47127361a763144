import { DecodeError } from '../errors.js';

/**
 * The key of a row. It also names the row in the state, so it has to be text, and rows without one would all be taken for the same.
 *
 * @throws DecodeError if it is none.
 */
export function rowKey<T>(key: (row: T) => unknown, row: T): string {
  const value = key(row);
  if (typeof value === 'string' && value !== '') return value;
  const what = value === '' ? 'an empty text' : String(value);
  throw new DecodeError(`key gave ${what} for a row: it must be text that tells the row from all others.`, {
    option: 'key',
  });
}
