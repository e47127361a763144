import type { ColumnType } from '@sluice/core';
import {
  integerText,
  isPlainInstant,
  jsonText,
  numberText,
  plainText,
  timestampMicros,
  toBoolean,
} from '../columnValue.js';
import type { Database, SqlValue } from './database.js';

/**
 * How a column of a table reads its values: each one unchanged, or `undefined` if it does not fit. `null` and absent
 * fields are not given to it. Numbers are decimal text of any size, booleans 1 and 0, timestamps the text that came
 * unless the database wants another.
 *
 * A NUL character of a text becomes U+FFFD, since PostgreSQL can't store it and SQLite reads only what comes before it;
 * so does an unpaired surrogate, which UTF-8 can't encode.
 */
export function sqlReader(
  type: ColumnType,
  { timestamp }: Pick<Database, 'timestamp'> = {},
): (value: unknown) => SqlValue | undefined {
  switch (type) {
    case 'text':
      return (value) => storableText(plainText(value));
    case 'boolean':
      return (value) => {
        const read = toBoolean(value);
        return read === undefined ? undefined : BigInt(read);
      };
    case 'timestamp':
      return (value) => {
        if (typeof value === 'string' && isPlainInstant(value)) return value;
        const micros = timestampMicros(value);
        if (micros === undefined) return undefined;
        if (timestamp) return timestamp(micros);
        return value instanceof Date ? value.toISOString() : String(value);
      };
    case 'integer':
      return integerText;
    case 'number':
      return numberText;
    case 'json':
      return jsonText;
  }
}

/** Text without NUL characters and unpaired surrogates. */
export function storableText<T extends string | undefined>(text: T): T | string {
  const encodable = text?.toWellFormed();
  return encodable?.includes('\0') ? encodable.replaceAll('\0', '\uFFFD') : (encodable ?? text);
}
