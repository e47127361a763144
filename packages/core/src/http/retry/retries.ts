import { type Advice, amend, RateLimitError, type SluiceError } from '../../errors.js';
import type { AttemptFault } from '../response/statusFault.js';
import { dateAfter } from '../response/retryAfter.js';
import { backoff, type RetryOptions } from './retryOptions.js';

/** Why an attempt failed, and for how long it may be retried. */
export interface AttemptFailure {
  readonly fault: AttemptFault;
  /** Ms until the next attempt, if there is one. */
  readonly delay: number;
  /** Ms that remain for retries. */
  readonly left: number;
  /** Ms since the first attempt failed, with the delay. */
  readonly outage: number;
  /** Ms of the delay that do not count. */
  readonly uncounted: number;
  /** Whether the server asked for the delay: otherwise it is a back-off. */
  readonly isRequested: boolean;
}

/** The retries of one request: when the next attempt is due, and whether there is one. It neither waits nor sends. */
export class Retries {
  readonly #policy: RetryOptions;
  readonly #random: () => number;
  #count = 0;
  /** Retries of faults that have a `maxRetries`. */
  #limited = 0;
  /** Ms since the first attempt failed, without waits for the limiter. */
  #outage: number | undefined;
  /** Ms that the server asked to wait beyond the back-off: not counted, and only for the message. */
  #asked = 0;

  constructor(policy: RetryOptions, random: () => number) {
    this.#policy = policy;
    this.#random = random;
  }

  /** @param took ms of the attempt; not counted for the first failure, since the outage starts at its end */
  planNext(fault: AttemptFault, attempt: number, took: number): AttemptFailure {
    const outage = this.#outage === undefined ? 0 : this.#outage + took;
    const left = Math.max(0, this.#policy.for - outage);
    // The last attempt starts when the time for retries ends.
    const ownDelay = Math.min(left, backoff(attempt, this.#policy, this.#random()));
    const { usedUp, retryAfter: requested = 0 } = fault;
    // One that is shorter than a first back-off, e.g. 0 or a ms, must not become a loop without a pause.
    const isRequested = usedUp !== undefined || (requested > 0 && requested >= this.#policy.baseDelay);
    const delay = usedUp?.wait ?? (isRequested ? requested : Math.max(requested, ownDelay));
    // A service that sends a `Retry-After` is running, so it counts no more than a back-off; but retries must end.
    const counted = Math.min(delay, ownDelay);
    return { fault, delay, left, outage: outage + counted, uncounted: delay - counted, isRequested };
  }

  /**
   * Whether there is a next attempt. A `Retry-After` is obeyed unless it exceeds the longest wait that is allowed.
   *
   * @param now wall time in ms
   * @returns the error of the last attempt, if it was the last
   */
  errorIfLast(
    { fault, left, outage, uncounted }: AttemptFailure,
    { route, attempts, now }: { readonly route: string; readonly attempts: number; readonly now: number },
  ): SluiceError | undefined {
    const { retries, maxRetryAfter } = this.#policy;
    const { status, retryAfter: requested = 0, maxRetries } = fault;
    // Not before: after renewed credentials, the next attempt waits for nothing.
    this.#outage = outage;
    if (maxRetries !== undefined) this.#limited += 1;
    const retry = fault.retry && this.#limited <= (maxRetries ?? Infinity);
    if (retry && left > 0 && this.#count < retries && requested <= maxRetryAfter) {
      this.#count += 1;
      this.#asked += uncounted;
      return undefined;
    }
    if (!retry || status === undefined || requested <= maxRetryAfter) return this.#withAttempts(fault, left, attempts);
    const retryAt = dateAfter(now, requested);
    const until = retryAt ? ` (until ${retryAt.toISOString()})` : '';
    const message = `${route}: the server asked to wait ${formatSeconds(requested)}${until}, but the limit is ${formatSeconds(maxRetryAfter)}.`;
    return new RateLimitError(message, {
      status,
      retryAt,
      details: { route, retryAfter: requested },
      advice: [{ kind: 'wait' }, { kind: 'raise', option: 'maxRetryAfter' }],
    });
  }

  /** Says in an error that retries did not help. */
  #withAttempts({ error, retry }: AttemptFault, left: number, attempts: number): SluiceError {
    if (attempts === 1) return error;
    const isOutOfTime = retry && left === 0;
    const besides = this.#asked > 0 ? `, besides ${formatSeconds(this.#asked)} that the server asked to wait` : '';
    const within = isOutOfTime ? ` within ${formatSeconds(this.#policy.for)}${besides}` : '';
    const advice: readonly Advice[] = isOutOfTime ? [{ kind: 'raise', option: 'retry.for' }] : [];
    amend(error, `It was tried ${attempts} times${within}.`, advice);
    return error;
  }
}

function formatSeconds(ms: number): string {
  return ms < 1000 ? `${String(ms)} ms` : `${String(Math.round(ms / 1000))} s`;
}
