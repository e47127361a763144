import { checkCount } from '../count.js';
import { checkNumbers } from '../numbers.js';
import { defaultTimeouts, type Timeouts } from './exchange.js';
import { defaultRetry, type RetryOptions } from './retryPolicy.js';

/** How long a request is waited for, and how often it is repeated. */
export interface Patience {
  readonly timeouts: Timeouts;
  readonly retry: RetryOptions;
}

/** Fills in what was left open. @throws ConfigError if a number makes no sense. */
export function patienceOf(wanted: {
  readonly timeouts?: Partial<Timeouts> | undefined;
  readonly retry?: Partial<RetryOptions> | undefined;
}): Patience {
  const timeouts = { ...defaultTimeouts, ...wanted.timeouts };
  const retry = { ...defaultRetry, ...wanted.retry };
  checkNumbers('timeouts', timeouts, (ms) => ms > 0, 'above 0');
  checkNumbers('retry', retry, (value) => value >= 0, 'of at least 0');
  checkCount('retry.retries', retry.retries, { least: 0 });
  return { timeouts, retry };
}
