import { isCalendarDay } from '../clock.js';
import { kindOf, shownText } from '../values.js';

/** What the values are by which rows are found again. They are compared by it: as texts, many would sort wrongly. */
export type SinceType = 'instant' | 'integer' | 'text';

/** How values of one type are read, compared and moved. Values are texts, as the API wrote them. */
export interface SinceRule {
  /** The value as text. @returns `undefined` if it is none of this type; `wanted` says which are. */
  read(value: unknown): string | undefined;
  readonly wanted: string;
  /** Negative if `a` is before `b`, 0 if they are equal. */
  compare(a: string, b: string): number;
  /**
   * The value from which the next walk starts: nothing before it may still appear.
   *
   * @param latest the last value of the walk
   * @param began wall time in ms at which the walk began
   */
  mark(latest: string, began: number, overlap: number): string;
}

export const sinceRules: Readonly<Record<SinceType, SinceRule>> = {
  instant: {
    wanted: 'a date with a time and a zone, e.g. 2026-01-31T08:30:00Z',
    read: (value) => (typeof value === 'string' && parseInstant(value) ? value : undefined),
    compare(a, b) {
      const first = parseInstant(a);
      const second = parseInstant(b);
      if (!first || !second) return compareTexts(a, b);
      return first.seconds - second.seconds || compareTexts(first.fraction, second.fraction);
    },
    mark(latest, began, overlap) {
      const last = (parseInstant(latest)?.seconds ?? 0) * 1_000;
      if (overlap === 0 && last < began) return latest;
      // Also before the latest row: a clock that is ahead would hide rows that appear late. Without a fraction, which
      // not every API accepts; earlier is safe.
      return `${new Date(Math.min(last, began) - overlap).toISOString().slice(0, 19)}Z`;
    },
  },
  integer: {
    wanted: 'an integer',
    read(value) {
      if (typeof value === 'number') return Number.isSafeInteger(value) ? String(value) : undefined;
      return typeof value === 'string' && /^-?\d{1,40}$/.test(value) ? value : undefined;
    },
    compare(a, b) {
      const difference = BigInt(a) - BigInt(b);
      return difference < 0n ? -1 : difference > 0n ? 1 : 0;
    },
    mark: (latest, _, overlap) => String(BigInt(latest) - BigInt(overlap)),
  },
  text: {
    wanted: 'text',
    read: (value) => (typeof value === 'string' && value !== '' ? value : undefined),
    compare: compareTexts,
    mark: (latest) => latest,
  },
};

/** What a value is instead, for errors. */
export function kindOfSince(value: unknown): string {
  return typeof value === 'string' ? shownText(value) : kindOf(value);
}

interface Instant {
  /** Since 1970. */
  readonly seconds: number;
  /** Digits of the fraction, without zeros at the end: an API may write any number of them. */
  readonly fraction: string;
}

/** RFC 3339, and what is common beside it: a blank instead of the T, no seconds, a zone without a colon. */
const instantForm = /^(\d{4}-\d\d-\d\d)[Tt ](\d\d:\d\d)(:\d\d)?(?:[.,](\d{1,12}))?([Zz]|[+-]\d\d(?::?\d\d)?)$/;

function parseInstant(text: string): Instant | undefined {
  const [, day, minute, second = ':00', fraction = '', zone = ''] = instantForm.exec(text) ?? [];
  // ISO 8601 once had 24:00, RFC 3339 never.
  if (day === undefined || minute === undefined || !isCalendarDay(day) || minute > '23:59') return undefined;
  const offset = zone.length === 1 ? 'Z' : `${zone.slice(0, 3)}:${zone.slice(3).replace(':', '') || '00'}`;
  const ms = Date.parse(`${day}T${minute}${second}${offset}`);
  return Number.isNaN(ms) ? undefined : { seconds: ms / 1_000, fraction: fraction.replace(/0+$/, '') };
}

function compareTexts(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
