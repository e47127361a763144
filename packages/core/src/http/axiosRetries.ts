import type { AxiosInstance } from 'axios';
import axiosRetry from 'axios-retry';

/** When and after what an attempt is repeated. */
export interface RetryHooks {
  readonly shouldRetry: (error: unknown) => boolean;
  /** Resolves when the next attempt may begin. */
  readonly beforeRetry: (error: unknown) => Promise<void>;
}

/**
 * Lets axios-retry repeat what fails on `instance`.
 *
 * The waiting is ours: axios-retry's own has no cap, overflows its timer and knows nothing of a clock that tests can turn.
 */
export function addRetries(instance: AxiosInstance, retries: number, { shouldRetry, beforeRetry }: RetryHooks): void {
  axiosRetry(instance, {
    retries,
    retryCondition: shouldRetry,
    onRetry: (_count, error) => beforeRetry(error),
    retryDelay: () => 0,
    shouldResetTimeout: true,
  });
}
