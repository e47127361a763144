import { createHash } from 'node:crypto';
import { jsonOf } from '../json.js';

/**
 * A name for a row with just this content: the same on every run, and another one as soon as a value differs. The order in which the
 * API names its fields does not matter.
 */
export function rowId(source: string, key: string, row: object): string {
  const hash = createHash('sha256');
  // Each part is ended by a character that none of them holds, so that no two rows read the same.
  for (const part of [JSON.stringify(source), JSON.stringify(key), jsonOf(row, inOrder)])
    hash.update(part).update('\0');
  return hash.digest('hex').slice(0, 32);
}

/** For JSON: the fields of a record by their names. */
function inOrder(_name: string, value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)));
}
