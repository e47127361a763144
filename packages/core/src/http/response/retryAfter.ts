import { isCalendarDay } from '../../clock.js';

/**
 * Ms of a `Retry-After` header (RFC 9110, section 10.2.3), in any form that {@link msUntil} reads. Of several values, which
 * servers behind each other may have added, the longest counts. What is invalid or in the past counts as absent.
 */
export function retryAfter(header: string | undefined, date: string | undefined, now: number): number | undefined {
  const sent = httpDate(date?.trim() ?? '', now) ?? now;
  // The comma of a date does not separate values.
  const waits = header?.split(/,(?!\s*\d\d[ -][a-z]{3}\b)/i).map((text) => msUntil(text, sent) ?? NaN) ?? [];
  const longest = Math.max(...waits);
  return longest >= 0 ? longest : undefined;
}

/** The least seconds that count since 1970: those of January 2008. As a wait, they would be 38 years. */
const leastEpoch = 1.2e9;
/** Where seconds since 1970 end, and where ms, µs and ns begin. */
const epochUnits = [1e11, 1e14, 1e17];

/**
 * Ms from a response until what one of its headers says: in seconds, as a duration (`6m0s`, `250ms`, `2 seconds`,
 * `PT2S`), in seconds, ms, µs or ns since 1970, or as a date of HTTP or ISO 8601. It is negative in the past.
 *
 * @param sent the response's own `Date`, so that a wrong local clock does no harm; without one, the wall time
 */
export function msUntil(given: string, sent: number): number | undefined {
  const text = given.trim();
  if (!/^\d+(\.\d+)?$/.test(text)) return parseDuration(text) ?? minus(parseDate(text, sent), sent);
  const number = Number(text);
  if (number < leastEpoch) return number * 1000;
  return number * 1000 ** (1 - epochUnits.filter((least) => number >= least).length) - sent;
}

const minus = (at: number | undefined, sent: number): number | undefined => (at === undefined ? undefined : at - sent);

const durations =
  /^(?:\d{1,9}(?:\.\d{1,9})?(?:ms|[dhms]| ?(?:milliseconds?|days?|hours?|mins?|minutes?|secs?|seconds?)) ?){1,5}$/;
const unitMs: Readonly<Record<string, number>> = { d: 86_400_000, h: 3_600_000, m: 60_000, s: 1_000 };

/** A duration as Go writes it: `6m0s`, `1.5s`, `250ms`; in words; or as ISO 8601 has it, without months. */
function parseDuration(given: string): number | undefined {
  const text = given.toLowerCase().replace(/^p(\d+d)?t/, '$1');
  if (!durations.test(text)) return undefined;
  return Array.from(text.matchAll(/([\d.]+) ?([a-z]+)/g)).reduce(
    (ms, [, part, name = '']) => ms + Number(part) * (/^m(s|il)/.test(name) ? 1 : (unitMs[name.charAt(0)] ?? 0)),
    0,
  );
}

function parseDate(text: string, now: number): number | undefined {
  // Atlassian's have no seconds.
  const isIso = /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d{1,9})?)?(Z|[+-]\d\d:\d\d)$/.test(text);
  if (!isIso) return httpDate(text, now);
  return isCalendarDay(text.slice(0, 10)) ? Date.parse(text) : undefined;
}

/** The current form and the two obsolete ones that clients must accept (RFC 9110, section 5.6.7). */
const dateForms = [
  /^\w{3}, (?<day>\d\d) (?<month>[a-z]{3}) (?<year>\d{4}) (?<time>\d\d:\d\d:\d\d) GMT$/i,
  /^\w{6,9}, (?<day>\d\d)-(?<month>[a-z]{3})-(?<year>\d\d) (?<time>\d\d:\d\d:\d\d) GMT$/i,
  /^\w{3} (?<month>[a-z]{3}) (?<day>[ \d]\d) (?<time>\d\d:\d\d:\d\d) (?<year>\d{4})$/i,
];

/** Ms since 1970 of an HTTP date. Other forms are rejected, because engines disagree on them. */
export function httpDate(text: string, now: number): number | undefined {
  const found = dateForms.map((form) => form.exec(text)?.groups).find((groups) => groups !== undefined);
  if (!found) return undefined;
  const { day = '', month: monthName = '', year = '', time: clock = '' } = found;
  const ms = Date.parse(
    `${day.trim()} ${monthName} ${year.length === 2 ? fullYear(Number(year), now) : year} ${clock} GMT`,
  );
  // `Date.parse` takes 30 February for 1 March, and 24:00:00 for the next day.
  return new Date(ms).getUTCDate() === Number(day) ? ms : undefined;
}

/** A year of two digits is one of this century, unless that is more than 50 years ahead. */
function fullYear(year: number, now: number): string {
  const thisYear = new Date(now).getUTCFullYear();
  const inThisCentury = thisYear - (thisYear % 100) + year;
  return String(inThisCentury > thisYear + 50 ? inThisCentury - 100 : inThisCentury);
}

/** `now` plus `ms`; `undefined` beyond the range of `Date`. */
export function dateAfter(now: number, ms: number): Date | undefined {
  const date = new Date(now + ms);
  return Number.isNaN(date.getTime()) ? undefined : date;
}
