/**
 * How failed attempts are retried. All times in ms.
 *
 * Only temporary failures are retried: a refused or broken connection, an unresolved name, a timeout, 408, 425, 429,
 * 5xx but 501 and 505, a body that is cut or not JSON. Permanent ones end the request at once: an untrusted certificate, a
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
   * A `Retry-After` beyond this is a `RateLimitError` instead of a wait; other requests still keep the pause. One below
   * `baseDelay` does not shorten a back-off. Default 60,000, or `for` if that is more, but at most a day.
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
