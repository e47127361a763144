import type { Client, ClientEvent, Clock, EventOf, HookName } from '@sluice/core';
import { filter, Subject } from 'rxjs';
import { describe, expect, test } from 'vitest';
import { describeCause, RequestWaits, TargetWait, type Wait, waitText } from '../../src/progress/waits.js';

describe('the words for a wait', () => {
  test.each<[Wait, string, string]>([
    [{ kind: 'stopping' }, 'stopping', 'stopping'],
    [{ kind: 'pause', left: 12_000 }, 'paused for 12 s', 'paused for 12 s'],
    [{ kind: 'pause', left: 500, cause: 'HTTP 429' }, 'paused for 500 ms (HTTP 429)', 'paused for 500 ms'],
    [{ kind: 'retry', left: 4000, cause: 'HTTP 503' }, 'retries in 4.0 s (HTTP 503)', 'retries in 4.0 s'],
    [{ kind: 'limit', since: 2500 }, 'waiting 2.5 s for the limit', 'waiting for the limit'],
    [{ kind: 'response', since: 61_000 }, 'no response for 1 min 1 s', 'no response for 1 min 1 s'],
    [{ kind: 'target', since: 3000, target: 'the table' }, 'waiting 3.0 s for the table', 'waiting for the table'],
    [
      { kind: 'target', since: 3000, target: 'the webhook', cause: 'HTTP 500' },
      'waiting 3.0 s for the webhook (HTTP 500)',
      'waiting for the webhook',
    ],
  ])('%o', (wait, text, short) => {
    expect([waitText(wait), waitText(wait, { isShort: true })]).toEqual([text, short]);
  });

  test.each([
    [{ code: 'http', details: { status: 503 } }, 'HTTP 503'],
    [{ code: 'rate-limited', details: { status: 429 } }, 'HTTP 429'],
    [{ code: 'network', details: { platformCode: 'ECONNREFUSED' } }, 'connection refused'],
    [{ code: 'network', details: { platformCode: 'EODD' } }, 'no connection'],
    [{ code: 'network' }, 'no connection'],
    [{ code: 'timeout', details: { deadline: 'response' } }, 'no response in time'],
    [{ code: 'response-too-large' }, 'response too large'],
    [{}, 'error'],
  ])('the cause %o', (error, cause) => {
    expect(describeCause(error)).toBe(cause);
  });
});

/** A clock and events that the test makes; the limiter is paused until `pausedUntil`. */
function following() {
  const state = { now: 0, pausedUntil: 0 };
  const events = new Subject<ClientEvent>();
  const clock: Clock = { now: () => state.now, monotonic: () => state.now, after: () => () => undefined };
  const client: Pick<Client, 'eventsOf' | 'limiter' | 'limiters'> = {
    eventsOf: <Type extends HookName>(...types: readonly Type[]) =>
      events.pipe(filter((event): event is EventOf<Type> => types.some((type) => type === event.type))),
    get limiter() {
      return { queued: 0, running: 0, pausedFor: Math.max(0, state.pausedUntil - state.now) };
    },
    limiters: new Map(),
  };
  const waits = new RequestWaits(client, clock);
  const route = 'aptos.nfts';
  const emit = {
    request: (request: number) => events.next({ type: 'request', route, request, method: 'GET', url: 'https://a.io/' }),
    attempt: (request: number) => events.next({ type: 'attempt', route, request, attempt: 1, waited: 0 }),
    retry: (request: number, delay: number, status: number) =>
      events.next({
        type: 'retry',
        route,
        request,
        attempt: 1,
        delay,
        left: 60_000,
        reason: status === 429 ? 'rate-limited' : 'http',
        error: { name: 'HttpError', message: 'It failed.', code: 'http', details: { status } },
      }),
    settled: (request: number) =>
      events.next({ type: 'settled', route, request, attempts: 1, took: 1, outcome: 'answered', status: 200 }),
    paused: (request: number, resetAt?: string) =>
      events.next({
        type: 'paused',
        route,
        request,
        for: 5000,
        ...(resetAt !== undefined && { quota: { remaining: 0, resetAt } }),
      }),
  };
  return { state, waits, emit };
}

describe('what a run waits for', () => {
  test('nothing, while requests are answered quickly', () => {
    const { state, waits, emit } = following();
    expect(waits.current()).toBeUndefined();
    emit.request(1);
    state.now = 900;
    expect(waits.current()).toBeUndefined();
    emit.attempt(1);
    state.now = 1800;
    expect(waits.current()).toBeUndefined();
    emit.settled(1);
    state.now = 9000;
    expect(waits.current()).toBeUndefined();
    expect(waits.lastRetry).toBeUndefined();
  });

  test('the limiter, if no request could start for a while', () => {
    const { state, waits, emit } = following();
    emit.request(1);
    emit.request(2);
    state.now = 3000;
    expect(waits.current()).toEqual({ kind: 'limit', since: 3000 });
    emit.attempt(1);
    expect(waits.current()).toBeUndefined();
  });

  test('a slow response, even while another request waits for the limiter', () => {
    const { state, waits, emit } = following();
    emit.request(1);
    emit.attempt(1);
    emit.request(2);
    state.now = 4000;
    expect(waits.current()).toEqual({ kind: 'response', since: 4000 });
  });

  test('the next retry, if every request failed; then the limiter', () => {
    const { state, waits, emit } = following();
    emit.request(1);
    emit.attempt(1);
    emit.retry(1, 6000, 503);
    emit.request(2);
    emit.attempt(2);
    expect(waits.current()).toBeUndefined();
    // So short that nobody could read it.
    emit.retry(2, 200, 500);
    expect(waits.current()).toBeUndefined();
    state.now = 200;
    emit.attempt(2);
    emit.retry(2, 1800, 502);
    expect(waits.current()).toEqual({ kind: 'retry', left: 1800, cause: 'HTTP 502' });
    expect(waits.lastRetry).toBe('HTTP 502');
    state.now = 8000;
    expect(waits.current()).toEqual({ kind: 'limit', since: 6000 });
  });

  test('a pause, with its cause; a later one of another process has none', () => {
    const { state, waits, emit } = following();
    emit.request(1);
    emit.attempt(1);
    emit.paused(1);
    emit.retry(1, 5000, 429);
    state.pausedUntil = 5000;
    state.now = 1000;
    expect(waits.current()).toEqual({ kind: 'pause', left: 4000, cause: 'HTTP 429' });
    state.now = 5000;
    emit.attempt(1);
    emit.settled(1);
    emit.paused(2, '2026-03-01T14:05:09.000Z');
    emit.retry(2, 5000, 429);
    state.pausedUntil = 9000;
    expect(waits.current()).toMatchObject({ kind: 'pause', cause: 'quota used up until 14:05 UTC' });
    emit.settled(2);
    state.now = 10_000;
    expect(waits.current()).toBeUndefined();
    state.pausedUntil = 11_000;
    expect(waits.current()).toEqual({ kind: 'pause', left: 1000 });
  });

  test('its target, with the reason of a webhook, until the call settles', async () => {
    const { state } = following();
    const clock: Clock = { now: () => state.now, monotonic: () => state.now, after: () => () => undefined };
    const causes: string[] = [];
    const wait = new TargetWait(clock, 'the webhook', () => causes[0]);
    expect(wait.current()).toBeUndefined();
    let settle = (): void => undefined;
    const call = wait.during(() => new Promise<void>((_resolve, reject) => (settle = () => reject(new Error('full')))));
    state.now = 999;
    expect(wait.current()).toBeUndefined();
    state.now = 2000;
    expect(wait.current()).toEqual({ kind: 'target', since: 2000, target: 'the webhook' });
    causes.push('HTTP 500');
    expect(wait.current()).toMatchObject({ cause: 'HTTP 500' });
    settle();
    await expect(call).rejects.toThrow('full');
    expect(wait.current()).toBeUndefined();
  });
});
