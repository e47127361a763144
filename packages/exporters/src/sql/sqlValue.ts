import type { ColumnType } from '@sluice/core';
import { columnValues, isPlainInstant, plainText, timestampMicros } from '../columnValue.js';
import type { Database, SqlValue } from './database.js';

/**
 * A value as a column of a table has it, unchanged; `undefined` if it does not fit. `null` and absent fields are not
 * given to it. Numbers are decimal text of any size, booleans 1 and 0, timestamps the text that came unless the
 * database wants another.
 *
 * A NUL character of a text becomes U+FFFD, since PostgreSQL can't store it and SQLite reads only what comes before it;
 * so does an unpaired surrogate, which UTF-8 can't encode.
 */
export function sqlValue(
  type: ColumnType,
  value: unknown,
  { timestamp }: Pick<Database, 'timestamp'> = {},
): SqlValue | undefined {
  switch (type) {
    case 'text':
      return storableText(plainText(value));
    case 'timestamp': {
      if (typeof value === 'string' && isPlainInstant(value)) return value;
      const micros = timestampMicros(value);
      if (micros === undefined) return undefined;
      if (timestamp) return timestamp(micros);
      return value instanceof Date ? value.toISOString() : String(value);
    }
    default: {
      const read = columnValues[type].read(value);
      return typeof read === 'boolean' ? BigInt(read) : read;
    }
  }
}

/** Text without NUL characters and unpaired surrogates. */
export function storableText<T extends string | undefined>(text: T): T | string {
  const encodable = text?.toWellFormed();
  return encodable?.includes('\0') ? encodable.replaceAll('\0', '\uFFFD') : (encodable ?? text);
}
