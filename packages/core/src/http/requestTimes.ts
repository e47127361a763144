import { checkCount, checkNumbers, checkOptions } from '../checks.js';
import type { Clock } from '../clock.js';
import type { Adapter, AdapterOptions } from './adapter/adapter.js';
import { defaultRetry, type RetryOptions } from './retry/retryOptions.js';

/** Deadlines in ms; `Infinity` sets none. */
export interface Timeouts {
  /** To connect, per attempt. Default 10,000. */
  readonly connect: number;
  /** From the start of an attempt to the last byte of its response. Default 30,000. */
  readonly response: number;
  /**
   * For links, attempts and back-off together. Waits for the limiter do not count. Default 180,000, or `retry.for` plus
   * 120,000 if that is more.
   */
  readonly total: number;
}

const defaultTimeouts: Timeouts = { connect: 10_000, response: 30_000, total: 180_000 };

/** Largest default ms of `retry.maxRetryAfter`. */
const longestDefaultWait = 86_400_000;

/** Default ms of `timeouts.total` beyond `retry.for`. */
const totalBeyondRetries = 120_000;

/** Options of everything that sends requests. */
export interface RequestOptions {
  /**
   * Deadlines in ms. Default: 10,000 to connect, 30,000 for a response, 180,000 for a request with its links and
   * retries, or more if `retry.for` needs more. Pauses that the API asks for do not count.
   */
  readonly timeouts?: Partial<Timeouts> | undefined;
  /**
   * Default: temporary failures are retried for a minute (`for: 60_000`), with full-jitter back-off from 250 ms to 20
   * s. A `Retry-After` above 60 s (or `for`, if that is more) is an error; so is any permanent failure.
   */
  readonly retry?: Partial<RetryOptions> | undefined;
  /** Default: the machine's clock. */
  readonly clock?: Clock | undefined;
  /** A number in [0, 1). Default: `Math.random`. */
  readonly random?: (() => number) | undefined;
  /** Creates what sends attempts, e.g. a simulated network. Default: `node:http` in Node.js, `fetch` elsewhere. */
  readonly adapter?: ((options: AdapterOptions) => Adapter) | undefined;
}

/** The names of these options. */
export const requestOptionNames = {
  timeouts: true,
  retry: true,
  clock: true,
  random: true,
  adapter: true,
} as const satisfies Readonly<Record<keyof RequestOptions, true>>;

/** Applies the defaults. @throws ConfigError if a number is invalid, or a name unknown. */
export function applyDefaults(wanted: Pick<RequestOptions, 'timeouts' | 'retry'>): {
  readonly timeouts: Timeouts;
  readonly retry: RetryOptions;
} {
  if (wanted.timeouts !== undefined)
    checkOptions('timeouts', wanted.timeouts, { connect: true, response: true, total: true });
  if (wanted.retry !== undefined)
    checkOptions('retry', wanted.retry, {
      for: true,
      retries: true,
      baseDelay: true,
      maxDelay: true,
      maxRetryAfter: true,
    });
  const given = { ...defaultRetry, ...wanted.retry };
  // Whoever lets retries take an hour also waits for an hour if the API asks for that, but not for ever.
  const maxRetryAfter = Math.max(defaultRetry.maxRetryAfter, Math.min(given.for, longestDefaultWait));
  const retry = { ...given, maxRetryAfter, ...wanted.retry };
  // A longer `retry.for` must not be cut short by a default deadline.
  const total = Math.max(defaultTimeouts.total, retry.for + totalBeyondRetries);
  const timeouts = { ...defaultTimeouts, total, ...wanted.timeouts };
  checkNumbers('retry', retry, (value) => value >= 0, 'of at least 0');
  checkNumbers('timeouts', timeouts, (ms) => ms > 0, 'above 0');
  if (retry.retries !== Infinity) checkCount('retry.retries', retry.retries, { min: 0 });
  return { timeouts, retry };
}
