/**
 * Ms of a `Retry-After` header (RFC 9110, section 10.2.3): seconds, or a date.
 *
 * A date is compared with the response's own `Date`, so that a wrong local clock does no harm; without one, with `now`.
 * A value that is invalid or in the past counts as absent.
 */
export function retryAfter(header: string | undefined, date: string | undefined, now: number): number | undefined {
  if (header === undefined) return undefined;
  const text = header.trim();
  if (/^\d+(\.\d+)?$/.test(text)) return Number(text) * 1000;
  const until = httpDate(text, now);
  if (until === undefined) return undefined;
  const wait = until - (httpDate(date?.trim() ?? '', now) ?? now);
  return wait < 0 ? undefined : wait;
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
