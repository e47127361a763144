import type { ColumnType } from '@sluice/core';
import { columnValues, instantText, plainInstant, timestampMicros } from '@sluice/core/kit';
import type { Database, SqlValue } from './database.js';

/**
 * How a column of a table reads its values: each one unchanged, or `undefined` if it does not fit. `null` and absent
 * fields are not given to it. Numbers are decimal text of any size, booleans 1 and 0, timestamps the text that came
 * unless the database wants another.
 *
 * A NUL character of a text becomes U+FFFD, since PostgreSQL can't store it and SQLite reads only what comes before it;
 * so does an unpaired surrogate, which UTF-8 can't encode.
 *
 * @param isCanonical whether values that are equal get the same text: JSON has its names sorted, an instant milliseconds
 * or microseconds, and a number no zeros at its end
 */
export function sqlReader(
  type: ColumnType,
  { timestamp }: Pick<Database, 'timestamp'> = {},
  isCanonical = false,
): (value: unknown) => SqlValue | undefined {
  if (type === 'timestamp')
    return (value) => {
      if (typeof value === 'string' && (isCanonical ? isExactInstant(value) : plainInstant.test(value))) return value;
      const micros = timestampMicros(value);
      if (micros === undefined) return undefined;
      if (timestamp) return timestamp(micros);
      if (isCanonical) return instantText(micros);
      return value instanceof Date ? value.toISOString() : String(value);
    };
  const { read } = columnValues[type];
  return (value) => {
    const given = read(value, isCanonical);
    if (typeof given === 'boolean') return BigInt(given);
    return type === 'text' ? storableText(given) : given;
  };
}

/** Most instants have the text already that all notations of them get: with milliseconds. */
function isExactInstant(text: string): boolean {
  return text.length === '2000-01-01T00:00:00.000Z'.length && plainInstant.test(text);
}

/** JSON in ASCII, since a database of another encoding than UTF8 lacks characters that a row or a cursor may have. */
export function asciiJson(value: unknown): string {
  return JSON.stringify(value).replace(
    /[\u0080-\uffff]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

/** Text without NUL characters and unpaired surrogates. */
export function storableText<T extends string | undefined>(text: T): T | string {
  const encodable = text?.toWellFormed();
  return encodable?.includes('\0') ? encodable.replaceAll('\0', '\uFFFD') : (encodable ?? text);
}
