/** How failed attempts are repeated. All times in ms. */
export interface RetryOptions {
  /** Attempts after the first one. Default 5; 0 turns retries off. */
  readonly retries: number;
  /** Upper bound of the first back-off. Default 250. Each further bound is twice as long. */
  readonly baseDelay: number;
  /** No back-off is longer. Default 20,000. */
  readonly maxDelay: number;
  /** A `Retry-After` beyond this is a `RateLimitError` instead of a wait. Default 60,000. */
  readonly maxRetryAfter: number;
}

export const defaultRetry: RetryOptions = { retries: 5, baseDelay: 250, maxDelay: 20_000, maxRetryAfter: 60_000 };

const retriedStatuses = new Set([408, 429, 500, 502, 503, 504, 520, 521, 522, 523, 524]);

/** Whether an answer with this status may be another one the next time. */
export function isRetriedStatus(status: number): boolean {
  return retriedStatuses.has(status);
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
  return Math.floor(random * Math.min(options.maxDelay, options.baseDelay * 2 ** (attempt - 1)));
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
  const until = httpDate(text);
  if (until === undefined) return undefined;
  const wait = until - (httpDate(date?.trim() ?? '') ?? now);
  return wait < 0 ? undefined : wait;
}

/** `Sun, 06 Nov 1994 08:49:37 GMT`, and the two obsolete forms, all of which begin with a day's name. */
function httpDate(text: string): number | undefined {
  if (!/^(mon|tue|wed|thu|fri|sat|sun)/i.test(text)) return undefined;
  const time = Date.parse(/gmt$/i.test(text) ? text : `${text} GMT`);
  return Number.isNaN(time) ? undefined : time;
}

/** `now` plus `ms`, or nothing where that is so far ahead that the calendar has no date for it. */
export function dateAfter(now: number, ms: number): Date | undefined {
  const date = new Date(now + ms);
  return Number.isNaN(date.getTime()) ? undefined : date;
}
