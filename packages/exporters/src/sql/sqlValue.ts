import type { ColumnType } from '@sluice/core';
import { columnValues, plainInstant, timestampMicros } from '../columnValue.js';
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

/** In UTC, with milliseconds, or with microseconds if it has some. */
export function instantText(micros: bigint): string {
  const ofMs = ((micros % 1_000n) + 1_000n) % 1_000n;
  const text = new Date(Number((micros - ofMs) / 1_000n)).toISOString();
  return ofMs === 0n ? text : text.replace('Z', `${String(ofMs).padStart(3, '0')}Z`);
}

/** Text without NUL characters and unpaired surrogates. */
export function storableText<T extends string | undefined>(text: T): T | string {
  const encodable = text?.toWellFormed();
  return encodable?.includes('\0') ? encodable.replaceAll('\0', '\uFFFD') : (encodable ?? text);
}
