import { checkCount, checkNumbers } from '../checks.js';
import { defaultTimeouts, type Timeouts, totalBeyondRetries } from './exchange.js';
import { defaultRetry, type RetryOptions } from './retryPolicy.js';

/** How long a request is waited for, and how often it is repeated. */
interface RequestTimes {
  readonly timeouts: Timeouts;
  readonly retry: RetryOptions;
}

/** Fills in what was left open. @throws ConfigError if a number makes no sense. */
export function requestTimesOf(wanted: {
  readonly timeouts?: Partial<Timeouts> | undefined;
  readonly retry?: Partial<RetryOptions> | undefined;
}): RequestTimes {
  const retry = { ...defaultRetry, ...wanted.retry };
  // Whoever asks for a longer time for faults does not want it cut short by a deadline that nobody asked for.
  const total = Math.max(defaultTimeouts.total, retry.for + totalBeyondRetries);
  const timeouts = { ...defaultTimeouts, total, ...wanted.timeouts };
  checkNumbers('retry', retry, (value) => value >= 0, 'of at least 0');
  checkNumbers('timeouts', timeouts, (ms) => ms > 0, 'above 0');
  if (retry.retries !== Infinity) checkCount('retry.retries', retry.retries, { min: 0 });
  return { timeouts, retry };
}
