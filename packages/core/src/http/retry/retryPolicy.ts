import { isCertificateFault } from '../../isTransient.js';

/**
 * How failed attempts are retried. All times in ms.
 *
 * Only temporary failures are retried: a refused or broken connection, an unresolved name, a timeout, 408, 429, 5xx
 * but 501 and 505, a body that is cut or not JSON. Permanent ones end the request at once: an untrusted certificate, a
 * refused key, a host name that cannot exist.
 */
export interface RetryOptions {
  /**
   * How long a temporary failure is retried, from the first failed attempt on. Default 60,000. `Infinity` retries
   * forever; 0 turns retries off. If too short, a restart of the API ends an export. Waits for the limiter do not
   * count, and a `Retry-After` no more than the back-off that it replaces.
   */
  readonly for: number;
  /** Maximum number of attempts after the first. Default `Infinity`: as many as fit into `for`. 0 turns retries off. */
  readonly retries: number;
  /** Upper bound of the first back-off; it doubles each time. Default 250. */
  readonly baseDelay: number;
  /** Longest back-off. Default 20,000. */
  readonly maxDelay: number;
  /**
   * A `Retry-After` beyond this is a `RateLimitError` instead of a wait; other requests still keep the pause. Default
   * 60,000, or `for` if that is more, but at most a day.
   */
  readonly maxRetryAfter: number;
}

export const defaultRetry: RetryOptions = {
  for: 60_000,
  retries: Infinity,
  baseDelay: 250,
  maxDelay: 20_000,
  maxRetryAfter: 60_000,
};

/** TLS versions that do not match, and a proxy that refuses the request. Both are configuration, so they stay. */
const tlsMismatch =
  /^ERR_SSL_(WRONG_VERSION_NUMBER|UNSUPPORTED_PROTOCOL|\w*ALERT_(PROTOCOL_VERSION|HANDSHAKE_FAILURE))$/;
const refusingProxy = /^the proxy responded with 4(?!08|29)\d\d$/;

/** Whether another connection may succeed. */
export function mayConnectLater(code: string | undefined, host: string): boolean {
  if (code !== undefined && (isCertificateFault(code) || tlsMismatch.test(code) || refusingProxy.test(code)))
    return false;
  return isHostName(host);
}

/** Codes of connections that were never opened. On other platforms than Node.js, there are none. */
const unopened = /^(ECONNREFUSED|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|the proxy responded with \d+)$/;

/** Whether a failed request certainly was not sent, so that nothing was carried out. */
export function wasUnsent(code: string | undefined): boolean {
  return code !== undefined && unopened.test(code);
}

/** Whether a name could exist in DNS (RFC 1035, section 2.3.4; `.invalid` never does, RFC 6761). IP addresses pass. */
function isHostName(host: string): boolean {
  const name = host.replace(/\.$/, '');
  return (
    name.length <= 253 && name.split('.').every((label) => /^.{1,63}$/.test(label)) && !/(^|\.)invalid$/i.test(name)
  );
}

/**
 * Ms to wait before the attempt after `attempt` (1 = the first): full jitter between 0 and an exponentially growing
 * bound, so that clients that failed together do not retry together.
 *
 * @param random a number in [0, 1)
 */
export function backoff(
  attempt: number,
  options: Pick<RetryOptions, 'baseDelay' | 'maxDelay'>,
  random: number,
): number {
  // An unbounded exponent would give `Infinity`, and 0 times that is `NaN`.
  const bound = Math.min(options.maxDelay, options.baseDelay * 2 ** Math.min(attempt - 1, 64));
  return Math.floor(random * bound);
}

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

const month = '(?<month>Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)';
const time = '(?<time>\\d\\d:\\d\\d:\\d\\d)';

/** The current form and the two obsolete ones that clients must accept (RFC 9110, section 5.6.7). */
const dateForms = [
  new RegExp(`^\\w{3}, (?<day>\\d\\d) ${month} (?<year>\\d{4}) ${time} GMT$`, 'i'),
  new RegExp(`^\\w{6,9}, (?<day>\\d\\d)-${month}-(?<year>\\d\\d) ${time} GMT$`, 'i'),
  new RegExp(`^\\w{3} ${month} (?<day>[ \\d]\\d) ${time} (?<year>\\d{4})$`, 'i'),
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
