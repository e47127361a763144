import type { ColumnType } from './columnTypes.js';

/** How sinks that have types read the values of a column. */
export interface ColumnValue {
  /**
   * Returns the value as decimal text, other text or a boolean, none of which JSON changes; `undefined` if it does not
   * fit. Nothing is rounded. The caller handles `null` and absent fields.
   *
   * @param isCanonical whether equal values get the same text. Default `false`
   */
  readonly read: (value: unknown, isCanonical?: boolean) => string | boolean | undefined;
  /** Why a value does not fit, as the end of a sentence about it. */
  readonly misfit: string;
}

/** The meaning of each column type in every sink that has types. */
export const columnValues: Readonly<Record<ColumnType, ColumnValue>> = {
  text: { read: plainText, misfit: 'is not text and has no JSON' },
  integer: { read: integerText, misfit: 'is not an exact integer (beyond 2^53 it must be text or a BigInt)' },
  number: {
    read: (value, isCanonical) => (isCanonical ? withoutEndingZeros(numberText(value)) : numberText(value)),
    misfit: 'is not a decimal number',
  },
  boolean: { read: toBoolean, misfit: 'is neither true nor false' },
  timestamp: {
    read: (value) => plainMicros(value) ?? timestampMicros(value)?.toString(),
    misfit: 'is not an ISO 8601 timestamp with a zone, to the microsecond',
  },
  json: { read: jsonText, misfit: 'has no JSON (a BigInt, a cycle)' },
};

/**
 * A format's declarations of column types. A type without one is stored as text.
 *
 * @template T how the format declares a type
 */
export type StoredTypes<T> = { readonly text: T } & Readonly<Partial<Record<ColumnType, T>>>;

/** Limits the digits of a number with an exponent: a short text may stand for more than fit into memory. */
const maxDigits = 131_072;

/** The form of most integers, which needs no change. */
const plainInteger = /^(?:0|-?[1-9]\d*)$/;

/** Sign, digits before and after the point, exponent. No digit can match in two ways, so matching takes linear time. */
const decimal = /^([+-]?)(?:(\d+)(?:\.(\d*))?|\.(\d+))(?:[eE]([+-]?\d+))?$/;

/**
 * An integer as decimal digits, with `-` if it is negative. A number beyond 2^53 does not fit, since it may have been
 * rounded before: such a value must be a bigint or text.
 *
 * @example integerText('9007199254740993') // '9007199254740993'
 * @example integerText('1.50e2') // '150'
 * @example integerText(2 ** 53) // undefined
 */
export function integerText(value: unknown): string | undefined {
  if (typeof value === 'number') return Number.isSafeInteger(value) ? String(value) : undefined;
  const text = numberText(value);
  if (text === undefined) return undefined;
  const point = text.indexOf('.');
  if (point === -1) return text;
  if (/[^0]/.test(text.slice(point + 1))) return undefined;
  const whole = text.slice(0, point);
  return whole === '-0' ? '0' : whole;
}

/**
 * A number as decimal digits without an exponent, e.g. `-0.50`. Zeros at the end stay, leading zeros do not. A value of
 * type number yields the shortest digits that stand for it, like `JSON.stringify`.
 *
 * @example numberText(1e21) // '1000000000000000000000'
 * @example numberText('0.1000000000000000055') // '0.1000000000000000055'
 * @example numberText(NaN) // undefined
 */
export function numberText(value: unknown): string | undefined {
  if (typeof value === 'bigint') return String(value);
  if (typeof value !== 'number' && typeof value !== 'string') return undefined;
  if (typeof value === 'string' && plainInteger.test(value)) return value;
  const [all, sign, whole = '', fraction = '', onlyFraction = '', exponent = '0'] = decimal.exec(String(value)) ?? [];
  if (all === undefined) return undefined;
  const digits = `${whole}${fraction}${onlyFraction}`;
  const point = whole.length + Number(exponent);
  const length = Math.max(point, digits.length) - Math.min(point, 0);
  if (length > Math.max(maxDigits, digits.length)) return undefined;
  const before =
    digits
      .slice(0, Math.max(point, 0))
      .padEnd(point, '0')
      .replace(/^0+(?=.)/, '') || '0';
  const after = point < 0 ? `${'0'.repeat(-point)}${digits}` : digits.slice(point);
  const text = after === '' ? before : `${before}.${after}`;
  return sign === '-' && /[1-9]/.test(digits) ? `-${text}` : text;
}

/** @example withoutEndingZeros('-1.50') // '-1.5' */
function withoutEndingZeros<T extends string | undefined>(text: T): T | string {
  const short = text?.includes('.') ? text.replace(/\.?0+$/, '') : text;
  return short === '-0' ? '0' : (short ?? text);
}

/** A boolean, or the text `true` or `false`. */
export function toBoolean(value: unknown): boolean | undefined {
  if (typeof value === 'boolean') return value;
  return value === 'true' ? true : value === 'false' ? false : undefined;
}

/**
 * The form of most timestamps, which all databases accept: UTC with all its parts. It does not match days beyond the
 * 28th, which not every month has: `instant` does.
 */
export const plainInstant =
  /^[1-9]\d{3}-(?:0[1-9]|1[0-2])-(?:0[1-9]|1\d|2[0-8])T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d{1,6})?Z$/;

/** The microseconds of a timestamp in the usual form, without bigint arithmetic; `undefined` for other forms. */
function plainMicros(value: unknown): string | undefined {
  if (typeof value !== 'string' || !plainInstant.test(value)) return undefined;
  const ms = Date.parse(value);
  // Appends the digits of the fraction that a `Date` can't hold.
  return ms > 0 ? String(ms) + value.slice('2000-01-01T00:00:00.000'.length, -1).padEnd(3, '0') : undefined;
}

const instant =
  /^([+-]\d{6}|\d{4})-(\d\d)-(\d\d)[Tt ](\d\d):(\d\d)(?::(\d\d)(?:[.,](\d+))?)?(?:[Zz]|([+-])(\d\d)(?::?(\d\d))?)$/;

/** The range of a `Date`. */
const maxSeconds = 8_640_000_000_000n;

/**
 * A point in time as microseconds since 1970 UTC: a `Date`, or ISO 8601 text with a zone. Text without a zone does not
 * fit, nor does a fraction of a microsecond, a leap second or a day that its month does not have.
 *
 * @example timestampMicros('1970-01-01T01:00:00.000001+01:00') // 1n
 */
export function timestampMicros(value: unknown): bigint | undefined {
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? undefined : BigInt(value.getTime()) * 1_000n;
  const [all, year, month, day, hour, minute, second = '0', fraction = '', sign, ofHours = '0', ofMinutes = '0'] =
    (typeof value === 'string' ? instant.exec(value) : null) ?? [];
  if (all === undefined || year === '-000000' || /[^0]/.test(fraction.slice(6))) return undefined;
  if (Number(hour) > 23 || Number(minute) > 59 || Number(second) > 59) return undefined;
  if (Number(ofHours) > 23 || Number(ofMinutes) > 59) return undefined;
  const date = new Date(0);
  date.setUTCFullYear(Number(year), Number(month) - 1, Number(day));
  if (date.getUTCMonth() !== Number(month) - 1 || date.getUTCDate() !== Number(day)) return undefined;
  const offset = (Number(ofHours) * 60 + Number(ofMinutes)) * (sign === '-' ? -1 : 1);
  const minutes = Number(hour) * 60 + Number(minute) - offset;
  const seconds = BigInt(date.getTime() / 1_000 + minutes * 60 + Number(second));
  if (seconds > maxSeconds || seconds < -maxSeconds) return undefined;
  return seconds * 1_000_000n + BigInt(fraction.slice(0, 6).padEnd(6, '0'));
}

/** ISO 8601 text in UTC, with milliseconds, or with microseconds if there are any. */
export function instantText(micros: bigint): string {
  const ofMs = ((micros % 1_000n) + 1_000n) % 1_000n;
  const text = new Date(Number((micros - ofMs) / 1_000n)).toISOString();
  return ofMs === 0n ? text : text.replace('Z', `${String(ofMs).padStart(3, '0')}Z`);
}

/**
 * Any value as JSON; text becomes a JSON string. `undefined` for a BigInt, a cycle or a function.
 *
 * @param isSorted whether field names are sorted alphabetically. Default: they keep the value's order
 */
export function jsonText(value: unknown, isSorted = false): string | undefined {
  try {
    return JSON.stringify(value, isSorted ? sortNames : undefined);
  } catch {
    return undefined;
  }
}

/** A replacer for `JSON.stringify` that sorts field names alphabetically. */
export function sortNames(_: string, value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)));
}

/** A value as text of a CSV: strings unchanged, a `Date` in ISO 8601, lists and objects as JSON. */
export function plainText(value: unknown, isSorted = false): string | undefined {
  switch (typeof value) {
    case 'string':
      return value;
    case 'number':
    case 'bigint':
    case 'boolean':
      return String(value);
    case 'object':
      if (value instanceof Date) return Number.isNaN(value.getTime()) ? undefined : value.toISOString();
      return jsonText(value, isSorted);
    default:
      return undefined;
  }
}
