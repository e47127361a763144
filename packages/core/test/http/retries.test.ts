import { expect, test } from 'vitest';
import type { AttemptFault } from '../../src/http/response/statusFault.js';
import { Retries } from '../../src/http/retry/retries.js';
import { defaultRetry } from '../../src/http/retry/retryOptions.js';
import { HttpError, type SluiceError } from '../../src/index.js';

const route = 'GET /api';

/** A fault that may pass. */
function faultOf(more: Partial<AttemptFault> = {}): AttemptFault {
  return {
    error: new HttpError(`${route}: the server responded with 503.`, { status: 503, excerpt: '' }),
    retry: true,
    ...more,
  };
}

/** Retries for 1,000 ms, whose first back-off is 100 ms, the second 200 ms, and so on. */
function openRetries() {
  const retries = new Retries({ ...defaultRetry, for: 1_000, baseDelay: 200 }, () => 0.5);
  const wait = (attempt: number, took = 0, fault = faultOf()): SluiceError | undefined =>
    retries.errorIfLast(retries.planNext(fault, attempt, took), { route, attempts: attempt, now: 0 });
  return { retries, wait };
}

test('T9 the time for retries is that of waits and attempts since the first failure', () => {
  const { retries, wait } = openRetries();
  expect(retries.planNext(faultOf(), 1, 5_000)).toMatchObject({ delay: 100, left: 1_000, outage: 100 });
  wait(1, 5_000);
  expect(retries.planNext(faultOf(), 2, 30)).toMatchObject({ delay: 200, left: 870, outage: 330 });
  wait(2, 30);
  expect(retries.planNext(faultOf(), 3, 0)).toMatchObject({ delay: 400, left: 670, outage: 730 });
});

test('T9 a failure after which the request is sent again at once takes nothing from the time for retries', () => {
  const { retries, wait } = openRetries();
  const refused = faultOf({ status: 401, renews: true });
  // Renewed credentials: nobody waits for the first plan.
  retries.planNext(refused, 1, 20);
  expect(retries.planNext(faultOf(), 2, 5_000)).toMatchObject({ left: 1_000, outage: 200 });
  wait(2, 5_000);
  retries.planNext(refused, 3, 20);
  expect(retries.planNext(faultOf(), 3, 0)).toMatchObject({ left: 800, outage: 600 });
});

test('T9 a requested wait counts no more than the back-off that it replaces', () => {
  const { retries, wait } = openRetries();
  const busy = faultOf({ retryAfter: 30_000 });
  expect(retries.planNext(busy, 1, 0)).toMatchObject({ delay: 30_000, outage: 100, uncounted: 29_900 });
  expect(wait(1, 0, busy)).toBeUndefined();
  expect(wait(2)).toBeUndefined();
  expect(wait(3)).toBeUndefined();
  expect(wait(4)).toBeUndefined();
  expect(wait(5)?.message).toMatch(
    /It was tried 5 times within 1 s, besides 30 s that the server asked to wait\. Raise retry\.for to retry for longer\.$/,
  );
});
