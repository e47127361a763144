import { kindOf, shownText } from '../../values.js';
import { instantOf, isTimeFormat, parseTime, printTime, type TimeFormat, timeFormats } from './timeFormat.js';
import type { TimeZone } from './timeZone.js';

/** The type of the values of `bySince`. It determines their order: as texts, many would sort wrongly. */
export type SinceType = Exclude<TimeFormat, 'minute'> | 'integer' | 'text';

/** How values of one type are read, compared and moved. Values are texts, as the API wrote them. */
export interface SinceRule {
  /** The value as text; `undefined` if it is not of this type. `wanted` describes valid values. */
  read(value: unknown): string | undefined;
  /** Reads a value that a person gives, e.g. a date for any time; `undefined` if it is invalid. */
  given(text: string): string | undefined;
  readonly wanted: string;
  readonly isTime: boolean;
  /** Negative if `a` is before `b`, 0 if they are equal. */
  compare(a: string, b: string): number;
  /**
   * The value at which the next walk starts: no row before it may still appear.
   *
   * @param latest the last value of the walk
   * @param began wall time in ms at which the walk began
   */
  mark(latest: string, began: number, overlap: number): string;
  /** Corrects a local time that was taken for UTC to the time of the zone, if that is earlier. */
  mend?(value: string): string;
}

const integer: SinceRule = {
  wanted: 'an integer',
  isTime: false,
  read: readInteger,
  given: readInteger,
  compare(a, b) {
    const difference = BigInt(a) - BigInt(b);
    return difference < 0n ? -1 : difference > 0n ? 1 : 0;
  },
  mark: (latest, _, overlap) => String(BigInt(latest) - BigInt(overlap)),
};

const text: SinceRule = {
  wanted: 'text',
  isTime: false,
  read: readText,
  given: readText,
  compare: compareTexts,
  mark: (latest) => latest,
};

export const sinceTypes: readonly SinceType[] = [
  'instant',
  'datetime',
  'date',
  'epoch-seconds',
  'epoch-ms',
  'integer',
  'text',
];

/** @param zone the zone of values without one */
export function sinceRule(type: SinceType, zone: TimeZone): SinceRule {
  if (type === 'integer') return integer;
  return type === 'text' ? text : timeRule(type, zone);
}

function readInteger(value: unknown): string | undefined {
  if (typeof value === 'number') return Number.isSafeInteger(value) ? String(value) : undefined;
  return typeof value === 'string' && /^-?\d{1,40}$/.test(value) ? value : undefined;
}

function readText(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}

/** Describes an invalid value, for errors. */
export function kindOfSince(value: unknown): string {
  return typeof value === 'string' ? shownText(value) : kindOf(value);
}

function timeRule(format: TimeFormat, zone: TimeZone): SinceRule {
  /** An instant by the clock of the values; in an unknown zone, the earliest time that it may be. */
  const localOf = (instant: bigint): bigint => zone.convert(instant, { from: 'instant', to: format }, 'from');
  // A mark may have been saved while the values had another type.
  const parse = (value: string): bigint | undefined => {
    const own = parseTime(format, value);
    if (own !== undefined) return own;
    const instant = parseTime('instant', value);
    return instant === undefined ? parseTime('date', value) : localOf(instant);
  };
  const read = (value: unknown): string | undefined =>
    parseTime(format, value) === undefined ? undefined : String(value);
  return {
    wanted: timeFormats[format].wanted,
    isTime: true,
    read,
    given(value) {
      const own = read(value);
      if (own !== undefined) return own;
      const instant = parse(value);
      return instant === undefined ? undefined : printTime(format, instant, 'from');
    },
    compare(a, b) {
      const first = parse(a);
      const second = parse(b);
      if (first === undefined || second === undefined) return compareTexts(a, b);
      return first < second ? -1 : first > second ? 1 : 0;
    },
    mark(latest, began, overlap) {
      const last = parse(latest) ?? 0n;
      const now = localOf(instantOf(began));
      if (overlap === 0 && last < now) return latest;
      // Not after the walk's beginning: a row's clock that is ahead would hide rows that appear late. Without a
      // fraction, which not every API accepts; earlier is safe.
      return printTime(format, (last < now ? last : now) - instantOf(overlap), 'from');
    },
    mend(value) {
      const taken = parse(value) ?? 0n;
      const local = localOf(taken);
      return local < taken ? printTime(format, local, 'from') : value;
    },
  };
}

/** The instant of a value of this type; `undefined` if the type has no times. */
export function instantOfSince(type: SinceType, value: string): bigint | undefined {
  return isTimeFormat(type) ? parseTime(type, value) : undefined;
}

function compareTexts(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
