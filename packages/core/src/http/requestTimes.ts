import { checkCount, checkNumbers } from '../checks.js';
import type { Clock } from '../clock.js';
import type { Adapter, AdapterOptions } from './adapter/adapter.js';
import { defaultRetry, type RetryOptions } from './retryPolicy.js';

/** Deadlines in ms; `Infinity` sets none. */
export interface Timeouts {
  /** To connect, for each attempt. Default 10,000. */
  readonly connect: number;
  /** From an attempt's start to the last byte of its answer. Default 30,000. */
  readonly response: number;
  /**
   * For the whole request: links, attempts and back-offs together; waiting for the limiter does not count. Default 180,000, and at least
   * `retry.for` and 120,000 more, so that a longer `retry.for` needs no second option.
   */
  readonly total: number;
}

const defaultTimeouts: Timeouts = { connect: 10_000, response: 30_000, total: 180_000 };

/** Ms by which a request may take longer than its fault is tried, unless told otherwise. */
const totalBeyondRetries = 120_000;

/** Options of whatever makes requests. */
export interface RequestOptions {
  /**
   * Deadlines in ms. Default: 10,000 to connect, 30,000 for an answer, 180,000 for a request with its links and retries, or more where
   * `retry.for` wants more. Pauses that the API requests do not count.
   */
  readonly timeouts?: Partial<Timeouts>;
  /**
   * Default: a temporary failure is retried for a minute (`for: 60_000`) with full-jitter back-off from 250 ms to 20 s; a `Retry-After` above
   * 60 s is an error. A permanent failure is an error at once.
   */
  readonly retry?: Partial<RetryOptions>;
  /** Default: the machine's clock. */
  readonly clock?: Clock;
  /** A number in [0, 1). Default: `Math.random`. */
  readonly random?: () => number;
  /** Makes what carries each attempt, e.g. one without a network for a simulation. Default: undici in Node.js, `fetch` elsewhere. */
  readonly adapter?: (options: AdapterOptions) => Adapter;
}

/** Fills in what was left open. @throws ConfigError if a number makes no sense. */
export function requestTimesOf(wanted: Pick<RequestOptions, 'timeouts' | 'retry'>): {
  readonly timeouts: Timeouts;
  readonly retry: RetryOptions;
} {
  const retry = { ...defaultRetry, ...wanted.retry };
  // Whoever asks for a longer time for faults does not want it cut short by a deadline that nobody asked for.
  const total = Math.max(defaultTimeouts.total, retry.for + totalBeyondRetries);
  const timeouts = { ...defaultTimeouts, total, ...wanted.timeouts };
  checkNumbers('retry', retry, (value) => value >= 0, 'of at least 0');
  checkNumbers('timeouts', timeouts, (ms) => ms > 0, 'above 0');
  if (retry.retries !== Infinity) checkCount('retry.retries', retry.retries, { min: 0 });
  return { timeouts, retry };
}
