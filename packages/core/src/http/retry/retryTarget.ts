import { checkOptions } from '../../checks.js';
import { sleep, systemClock, type Clock } from '../../clock.js';
import { reportOf } from '../../errorReport.js';
import { amend, type SluiceError } from '../../errors.js';
import { applyDefaults } from '../requestTimes.js';
import { backoff, type RetryOptions } from './retryOptions.js';
import type { Outage } from '../../outage.js';

/** Options of {@link targetRetries}. */
export interface TargetRetryOptions {
  /**
   * How long a target that is away is tried again, and when, as a request to an API is: `for` ms, 60,000 by default,
   * from the first failed attempt on, and 5 s apart at most. `Infinity` waits forever; 0 ends the export at once.
   */
  readonly retry?: Partial<Omit<RetryOptions, 'maxRetryAfter'>> | undefined;
  /** Measures waits. Default: the machine's clock. */
  readonly clock?: Clock | undefined;
  /** A number in [0, 1). Default: `Math.random`. */
  readonly random?: (() => number) | undefined;
}

/** Default ms between attempts: one client costs a target little, and its outage should end soon after it is back. */
const longestPause = 5_000;

/** The names of these options. */
export const targetRetryNames = { retry: true, clock: true, random: true } as const satisfies Readonly<
  Record<keyof TargetRetryOptions, true>
>;

/** What {@link TargetRetry} needs to know of a target. */
export interface RetriedTarget {
  /** Cancels the wait for the next attempt. */
  readonly signal: AbortSignal;
  /**
   * Why an attempt failed, in a few words, and the error for people, if another attempt may succeed without any change;
   * `undefined` if not. The words quote nothing that the target said.
   */
  readonly findOutage: (error: unknown) => { readonly cause: string; readonly error: SluiceError } | undefined;
  /** That of the sink's context, or of the lock of its state. */
  readonly onOutage?: ((outage: Outage | undefined) => void) | undefined;
}

/** Repeats an attempt, whose number from 1 it is given, while the target is away. */
export type TargetRetry = <R>(attempt: (nth: number) => Promise<R>, target: RetriedTarget) => Promise<R>;

/**
 * Retries for a sink whose target may be away: the policy of requests to an API, and reports of the outage, so that
 * terminal, page and health checks name its cause.
 *
 * @example
 * declare const context: SinkContext<object>;
 * declare const upload: () => Promise<void>;
 * const retry = targetRetries({ retry: { for: 300_000 } });
 * const findOutage = (error: unknown) =>
 *   SluiceError.is(error, 'network') ? { cause: 'no connection', error } : undefined;
 * await retry(() => upload(), { signal: context.signal, onOutage: context.onOutage, findOutage });
 *
 * @throws ConfigError if a number of `retry` is invalid. Later: an attempt's error, if it is not an outage, or the time is over.
 */
export function targetRetries(options: TargetRetryOptions = {}): TargetRetry {
  checkOptions('targetRetries()', options, targetRetryNames);
  const { retry, clock = systemClock, random = Math.random } = options;
  const policy = applyDefaults({ retry: { maxDelay: longestPause, ...retry } }).retry;
  return async (attempt, { signal, findOutage, onOutage }) => {
    let first: { readonly began: number; readonly ended: number } | undefined;
    for (let nth = 1; ; nth += 1) {
      const began = clock.monotonic();
      try {
        const result = await attempt(nth);
        if (first) onOutage?.(undefined);
        return result;
      } catch (thrown) {
        signal.throwIfAborted();
        const outage = findOutage(thrown);
        if (!outage) throw thrown;
        const { cause, error } = outage;
        const now = clock.monotonic();
        first ??= { began, ended: now };
        const left = Math.max(0, policy.for - (now - first.ended));
        onOutage?.({ cause, for: now - first.began, left, error: reportOf(error) });
        if (left === 0 || nth > policy.retries) throw withAttempts(error, nth, left === 0 ? policy.for : undefined);
        await sleep(clock, Math.min(left, backoff(nth, policy, random())), signal);
      }
    }
  };
}

/** @param ms in which it was tried again, if that was not long enough. */
function withAttempts(error: SluiceError, attempts: number, ms: number | undefined): SluiceError {
  if (attempts === 1) return error;
  const within = ms === undefined ? '' : ` within ${Math.round(ms / 1_000)} s`;
  const advice = ms === undefined ? [] : ([{ kind: 'raise', option: 'retry.for' }] as const);
  amend(error, `It was tried ${attempts} times${within}.`, advice);
  return error;
}
