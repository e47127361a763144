import { isCalendarDay } from '../../clock.js';

/**
 * How an API writes a time: `instant` (RFC 3339, 2026-01-31T08:30:00Z, or RFC 5322), `epoch-seconds`, `epoch-ms` (since
 * 1970), or local time: `datetime` (2026-01-31T08:30:00), `minute` (2026-01-31 08:30), `date` (2026-01-31).
 */
export type TimeFormat = 'instant' | 'datetime' | 'minute' | 'date' | 'epoch-seconds' | 'epoch-ms';

/** A time in ps since 1970, a local time as if it were UTC. An API may write 12 digits of a second's fraction. */
export type Instant = bigint;

/** A bound of a window: the value from which rows are wanted, or the value before which they are. */
export type SinceBound = 'from' | 'to';

interface TimeRule {
  /** Describes a valid value, for errors. */
  readonly wanted: string;
  /** The resolution of the format, in seconds. */
  readonly step: number;
  /** @param seconds a multiple of `step`, since 1970 */
  print(seconds: number): string;
  /** @returns `undefined` if the text is not in this format */
  parse(text: string): Instant | undefined;
}

const second = 1_000_000_000_000n;

/** RFC 3339 and common variants: a blank instead of the T, no seconds, a zone without a colon, or no zone. */
const timeForm = /^(\d{4}-\d\d-\d\d)[Tt ](\d\d:\d\d)(:\d\d)?(?:[.,](\d{1,12}))?([Zz]|[+-]\d\d(?::?\d\d)?)?$/;

/** RFC 5322, 3.3, as in the headers of mails and of HTTP. */
const mailForm = /^(?:[A-Z][a-z]{2}, )?(\d{1,2}) ([A-Z][a-z]{2}) (\d{4}) (\d\d:\d\d:\d\d) (GMT|UTC|[+-]\d{4})$/;
const months = 'JanFebMarAprMayJunJulAugSepOctNovDec';

/** The formats by name. */
export const timeFormats: Readonly<Record<TimeFormat, TimeRule>> = {
  instant: {
    wanted: 'a date with a time and a zone, e.g. 2026-01-31T08:30:00Z',
    step: 1,
    print: (seconds) => `${isoOf(seconds).slice(0, 19)}Z`,
    parse: (text) => parseDateTime(text, 'with a zone') ?? parseMailTime(text),
  },
  datetime: {
    wanted: 'a date with a time and without a zone, e.g. 2026-01-31T08:30:00',
    step: 1,
    print: (seconds) => isoOf(seconds).slice(0, 19),
    parse: (text) => parseDateTime(text, 'without a zone'),
  },
  minute: {
    wanted: 'a date with hour and minute, e.g. 2026-01-31 08:30',
    step: 60,
    print: (seconds) => isoOf(seconds).slice(0, 16).replace('T', ' '),
    parse: (text) => parseDateTime(text, 'without a zone'),
  },
  date: {
    wanted: 'a date, e.g. 2026-01-31',
    step: 86_400,
    print: (seconds) => isoOf(seconds).slice(0, 10),
    parse: (text) => (/^\d{4}-\d\d-\d\d$/.test(text) ? parseDateTime(`${text}T00:00Z`, 'with a zone') : undefined),
  },
  'epoch-seconds': {
    wanted: 'a number of seconds since 1970, e.g. 1769848200',
    step: 1,
    print: String,
    parse: (text) => parseEpoch(text, second),
  },
  'epoch-ms': {
    wanted: 'a number of milliseconds since 1970, e.g. 1769848200000',
    step: 1,
    print: (seconds) => String(seconds * 1_000),
    // Digits, or the form of .NET: /Date(1769848200000+0000)/.
    parse: (text) => parseEpoch(/^\/Date\((-?\d+)(?:[+-]\d{4})?\)\/$/.exec(text)?.[1] ?? text, second / 1_000n),
  },
};

/** Whether a format has the time of a local clock without its zone. */
export function isLocal(format: TimeFormat): boolean {
  return format === 'datetime' || format === 'minute' || format === 'date';
}

export function isTimeFormat(name: string): name is TimeFormat {
  return Object.hasOwn(timeFormats, name);
}

/** Reads a time from a row or a person; `undefined` if it is not in the format. Only epoch formats may be numbers. */
export function parseTime(format: TimeFormat, value: unknown): Instant | undefined {
  const isEpoch = format === 'epoch-seconds' || format === 'epoch-ms';
  if (typeof value === 'number' && isEpoch) return timeFormats[format].parse(String(value));
  return typeof value === 'string' ? timeFormats[format].parse(value) : undefined;
}

/** Writes a time, rounded to whole steps of its format: a `from` never up, a `to` never down. */
export function printTime(format: TimeFormat, instant: Instant, bound: SinceBound): string {
  const known = timeFormats[format];
  return known.print(Number(wholeSteps(instant, known.step, bound) / second));
}

/** Rounds a time to whole steps, in seconds: a `from` never up, a `to` never down. */
export function wholeSteps(instant: Instant, step: number, bound: SinceBound): Instant {
  const size = BigInt(step) * second;
  const rest = ((instant % size) + size) % size;
  return instant - rest + (bound === 'to' && rest > 0n ? size : 0n);
}

/** @param ms wall time since 1970, or a duration */
export function instantOf(ms: number): Instant {
  return BigInt(Math.floor(ms)) * (second / 1_000n);
}

function isoOf(seconds: number): string {
  return new Date(seconds * 1_000).toISOString();
}

function parseDateTime(text: string, zoned: 'with a zone' | 'without a zone'): Instant | undefined {
  const [, day, minute, seconds = ':00', fraction = '', zone] = timeForm.exec(text) ?? [];
  if ((zone === undefined) !== (zoned === 'without a zone')) return undefined;
  // ISO 8601 once had 24:00, RFC 3339 never.
  if (day === undefined || minute === undefined || !isCalendarDay(day) || minute > '23:59') return undefined;
  const ms = Date.parse(`${day}T${minute}${seconds}${offsetOf(zone ?? 'Z')}`);
  return Number.isNaN(ms) ? undefined : instantOf(ms) + BigInt(fraction.padEnd(12, '0'));
}

function parseMailTime(text: string): Instant | undefined {
  const [, day = '', month = '', year, time, zone = ''] = mailForm.exec(text) ?? [];
  const nth = months.indexOf(month);
  if (time === undefined || nth % 3 !== 0) return undefined;
  const date = `${String(year)}-${String(nth / 3 + 1).padStart(2, '0')}-${day.padStart(2, '0')}`;
  return parseDateTime(`${date}T${time}${/^[GU]/.test(zone) ? 'Z' : zone}`, 'with a zone');
}

/** The offset of a zone in the form that `Date.parse` accepts. */
function offsetOf(zone: string): string {
  return zone.length === 1 ? 'Z' : `${zone.slice(0, 3)}:${zone.slice(3).replace(':', '') || '00'}`;
}

/** Parses a decimal number without rounding. @param unit in ps */
function parseEpoch(text: string, unit: Instant): Instant | undefined {
  const [, sign, whole, fraction = ''] = /^(-?)(\d{1,15})(?:\.(\d{1,12}))?$/.exec(text) ?? [];
  if (whole === undefined) return undefined;
  const value = BigInt(whole) * unit + (BigInt(fraction.padEnd(12, '0')) * unit) / second;
  const instant = sign === '-' ? -value : value;
  // Limits times to the years 0 to 9999, so that any format can express them.
  return instant < -62_167_219_200n * second || instant >= 253_402_300_800n * second ? undefined : instant;
}
