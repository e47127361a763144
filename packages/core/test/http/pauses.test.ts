import { describe, expect, test } from 'vitest';
import type { Limiter } from '../../src/http/limit/limiterTypes.js';
import { LocalLimiter, unlimited } from '../../src/http/limit/localLimiter.js';
import type { FakeClock } from '../fakeClock.js';
import { openTransport } from './openTransport.js';
import { answer, ok, startServer } from './scriptedServer.js';

const limiters = [
  { name: 'without a limit', limiter: unlimited },
  {
    name: 'with a limit',
    limiter: (clock: FakeClock) => new LocalLimiter([{ requests: 100, per: 1_000, concurrency: 1 }], clock),
  },
];
const tooMany = answer(429, '', { 'retry-after': '40' });

test('T7 each attempt takes a turn of its own', async () => {
  const server = await startServer(answer(503), answer(503), ok());
  const permits: string[] = [];
  let open = 0;
  const limiter: Limiter = {
    acquire({ route }) {
      permits.push(route);
      open += 1;
      return Promise.resolve({ release: () => (open -= 1) });
    },
    pause: () => undefined,
    state: { queued: 0, running: 0, pausedFor: 0 },
  };
  await openTransport(server.url, { limiter: () => limiter }).get();
  expect(permits).toEqual(['test.route', 'test.route', 'test.route']);
  expect(open).toBe(0);
});

test('T7 attempts keep to the limit, too', async () => {
  const server = await startServer(answer(503), ok());
  const transport = openTransport(server.url, {
    limiter: (clock) => new LocalLimiter([{ requests: 1, per: 60_000 }], clock),
    retry: { baseDelay: 10 },
  });
  const outcome = transport.get();
  // The first response came at once, so no margin is added; 5 ms of back-off have passed since.
  await transport.clock.asked(60_000 - 5);
  expect(server.requests).toHaveLength(1);
  await transport.clock.advance(60_000 - 5);
  expect(await outcome).toMatchObject({ attempts: 2 });
});

test('T7 a back-off holds no place', async () => {
  const server = await startServer(answer(503), ok('second'), ok('first, again'));
  const transport = openTransport(server.url, {
    limiter: (clock) => new LocalLimiter([{ requests: 100, per: 1_000, concurrency: 1 }], clock),
    retry: { baseDelay: 40_000, maxDelay: 40_000 },
    isHandTurned: true,
  });
  const first = transport.get();
  await transport.clock.asked(20_000);
  expect(transport.limiter.state).toMatchObject({ running: 0 });
  expect(await transport.get()).toMatchObject({ body: 'second' });
  await transport.clock.advance(20_000);
  expect(await first).toMatchObject({ body: 'first, again', attempts: 2 });
});

describe.each(limiters)('$name', ({ limiter }) => {
  test('T7 a 429 pauses the whole client until Retry-After, not just the one request', async () => {
    const server = await startServer(tooMany, ok());
    const transport = openTransport(server.url, { limiter, isHandTurned: true });
    const first = transport.get();
    await transport.clock.asked(40_000);
    const others = [transport.get(), transport.get()];
    expect(transport.limiter.state.pausedFor).toBe(40_000);
    await transport.clock.advance(39_999);
    expect(server.requests).toHaveLength(1);
    expect(transport.limiter.state).toMatchObject({ queued: 3, pausedFor: 1 });
    await transport.clock.advance(1);
    await Promise.all([first, ...others]);
    expect(server.requests).toHaveLength(4);
    expect(transport.events.filter((event) => event.type === 'paused')).toEqual([
      { type: 'paused', route: 'test.route', request: expect.any(Number), for: 40_000 },
    ]);
  });

  test('T7 a 429 pauses the client also where the request is not tried again', async () => {
    const server = await startServer(tooMany, ok());
    const transport = openTransport(server.url, { limiter, retry: { retries: 0 }, isHandTurned: true });
    await expect(transport.get()).rejects.toMatchObject({ code: 'rate-limited' });
    expect(transport.limiter.state.pausedFor).toBe(40_000);
    const next = transport.get();
    await transport.clock.asked(40_000);
    await transport.clock.advance(40_000);
    expect(await next).toMatchObject({ status: 200 });
  });

  test.each([
    ['an hour', 3_600],
    ['a day', 86_400],
    ['a day, although the API asks for a year', 365 * 86_400],
  ])('R12 T7 a request gives up after maxRetryAfter, and the others keep the pause of %s', async (_what, seconds) => {
    const server = await startServer(answer(429, '', { 'retry-after': String(seconds) }), ok());
    const transport = openTransport(server.url, { limiter, retry: { maxRetryAfter: 20_000 } });
    await expect(transport.get()).rejects.toMatchObject({ code: 'rate-limited' });
    const pause = 1_000 * Math.min(seconds, 86_400);
    expect(transport.limiter.state.pausedFor).toBe(pause);
    const next = transport.get();
    await transport.clock.asked(pause);
    await transport.clock.advance(pause - 1);
    expect(server.requests).toHaveLength(1);
    await transport.clock.advance(1);
    expect(await next).toMatchObject({ status: 200 });
  });

  test('T7 a 429 without Retry-After pauses the client for a back-off', async () => {
    const server = await startServer(answer(429), ok());
    const transport = openTransport(server.url, { limiter, isHandTurned: true });
    const first = transport.get();
    await transport.clock.asked(125);
    expect(transport.limiter.state.pausedFor).toBe(125);
    await transport.clock.advance(125);
    expect(await first).toMatchObject({ attempts: 2 });
  });
});

test('T7 whoever waits for the place of a refused request does not slip through before the pause', async () => {
  const server = await startServer(tooMany, ok());
  const transport = openTransport(server.url, {
    limiter: (clock) => new LocalLimiter([{ requests: 100, per: 1_000, concurrency: 1 }], clock),
    isHandTurned: true,
  });
  const requests = [transport.get(), transport.get()];
  await transport.clock.asked(40_000);
  await transport.clock.advance(39_999);
  expect(server.requests).toHaveLength(1);
  await transport.clock.advance(1);
  await Promise.all(requests);
});

test('T7 a shorter pause leaves a longer one as it is', async () => {
  const server = await startServer(ok());
  const { limiter, clock } = openTransport(server.url);
  limiter.pause(500);
  await clock.advance(100);
  limiter.pause(200);
  expect(limiter.state.pausedFor).toBe(400);
  limiter.pause(1_000);
  expect(limiter.state.pausedFor).toBe(1_000);
});

test('after a pause, requests go on in the order in which they came', async () => {
  const server = await startServer(ok());
  const { limiter, clock } = openTransport(server.url);
  const begun: number[] = [];
  limiter.pause(100);
  const permits = [0, 1, 2].map(async (nth) => {
    await limiter.acquire({ route: String(nth) });
    begun.push(nth);
  });
  await clock.advance(40.5);
  permits.push(limiter.acquire({ route: '3' }).then(() => void begun.push(3)));
  limiter.pause(100);
  await clock.advance(99);
  expect(begun).toEqual([]);
  await clock.advance(1);
  await Promise.all(permits);
  expect(begun).toEqual([0, 1, 2, 3]);
});
