import { isCertificateFault } from '../isTransient.js';

/**
 * How failed attempts are repeated. All times in ms.
 *
 * Only a fault that may pass is tried again: a connection that is refused or breaks, a name that is not found, a late answer, 408, 429, 5xx,
 * a body that is cut or not JSON. What can't pass ends the request at once: a certificate that is not trusted, a refused key, a host name
 * that no name server can know.
 */
export interface RetryOptions {
  /**
   * How long a fault that may pass is tried, from the first failed attempt of a request on: its further attempts and the back-offs between
   * them. Default 60,000. `Infinity` tries for ever; 0 turns retries off. Too short, and a restart of the API ends an export. Waits for the
   * limiter don't count, and of a `Retry-After` no more than the back-off in its place.
   */
  readonly for: number;
  /** Attempts after the first one, at most. Default `Infinity`: as many as `for` has room for. 0 turns retries off. */
  readonly retries: number;
  /** Upper bound of the first back-off. Default 250. Each further bound is twice as long. */
  readonly baseDelay: number;
  /** No back-off is longer. Default 20,000. */
  readonly maxDelay: number;
  /** A `Retry-After` beyond this is a `RateLimitError` instead of a wait. Default 60,000. */
  readonly maxRetryAfter: number;
}

export const defaultRetry: RetryOptions = {
  ...{ for: 60_000, retries: Infinity },
  ...{ baseDelay: 250, maxDelay: 20_000, maxRetryAfter: 60_000 },
};

/** Two ends that don't speak TLS alike, and a proxy that wants another request. They are set up that way. */
const otherProtocol =
  /^ERR_SSL_(WRONG_VERSION_NUMBER|UNSUPPORTED_PROTOCOL|\w*ALERT_(PROTOCOL_VERSION|HANDSHAKE_FAILURE))$/;
const refusingProxy = /^the proxy answered 4(?!08|29)\d\d$/;

/**
 * Whether a connection that failed may do the next time.
 *
 * @param code the platform's, if it gave one
 */
export function connectionMayDo(code: string | undefined, host: string): boolean {
  if (code !== undefined && (isCertificateFault(code) || otherProtocol.test(code) || refusingProxy.test(code)))
    return false;
  return isHostName(host);
}

/**
 * Whether a name server could ever know a name (RFC 1035, section 2.3.4); `.invalid` never will be one (RFC 6761). Addresses can be reached,
 * too.
 */
function isHostName(host: string): boolean {
  const name = host.replace(/\.$/, '');
  return (
    name.length <= 253 && name.split('.').every((label) => /^.{1,63}$/.test(label)) && !/(^|\.)invalid$/i.test(name)
  );
}

/**
 * Ms to wait before the attempt after `attempt` (1 = the first): full jitter between 0 and an exponentially growing bound,
 * so that clients that failed together don't come back together.
 *
 * @param random a number in [0, 1)
 */
export function backoff(
  attempt: number,
  options: Pick<RetryOptions, 'baseDelay' | 'maxDelay'>,
  random: number,
): number {
  // An endless exponent would make infinity of the bound, and no number at all of 0 times infinity.
  const bound = Math.min(options.maxDelay, options.baseDelay * 2 ** Math.min(attempt - 1, 64));
  return Math.floor(random * bound);
}

/**
 * Ms that a `Retry-After` header asks to wait (RFC 9110, section 10.2.3): seconds, or a date.
 *
 * A date is measured against the answer's own `Date`, so that a wrong clock on our side does no harm; without one,
 * against `now`. What can't be read, or lies in the past, counts as absent.
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

const month = '(?<month>Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)';
const time = '(?<time>\\d\\d:\\d\\d:\\d\\d)';

/** The form that servers write today, and the two obsolete ones that clients still have to read (RFC 9110, section 5.6.7). */
const dateForms = [
  new RegExp(`^\\w{3}, (?<day>\\d\\d) ${month} (?<year>\\d{4}) ${time} GMT$`, 'i'),
  new RegExp(`^\\w{6,9}, (?<day>\\d\\d)-${month}-(?<year>\\d\\d) ${time} GMT$`, 'i'),
  new RegExp(`^\\w{3} ${month} (?<day>[ \\d]\\d) ${time} (?<year>\\d{4})$`, 'i'),
];

/** Ms since 1970 of an HTTP date. Other dates are not read: engines disagree on them, and some make a date of any text. */
function httpDate(text: string, now: number): number | undefined {
  const found = dateForms.map((form) => form.exec(text)?.groups).find((groups) => groups !== undefined);
  if (!found) return undefined;
  const { day = '', month: monthName = '', year = '', time: clock = '' } = found;
  const ms = Date.parse(
    `${day.trim()} ${monthName} ${year.length === 2 ? fullYear(Number(year), now) : year} ${clock} GMT`,
  );
  return Number.isNaN(ms) ? undefined : ms;
}

/** A year of two digits is one of this century, unless that is more than 50 years ahead. */
function fullYear(year: number, now: number): string {
  const thisYear = new Date(now).getUTCFullYear();
  const inThisCentury = thisYear - (thisYear % 100) + year;
  return String(inThisCentury > thisYear + 50 ? inThisCentury - 100 : inThisCentury);
}

/** `now` plus `ms`, or nothing where that is so far ahead that the calendar has no date for it. */
export function dateAfter(now: number, ms: number): Date | undefined {
  const date = new Date(now + ms);
  return Number.isNaN(date.getTime()) ? undefined : date;
}
