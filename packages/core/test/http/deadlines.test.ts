import { createServer } from 'node:net';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { createClient, type Link, RequestTimeoutError } from '../../src/index.js';
import { FakeClock } from '../fakeClock.js';
import { expectNoKey } from './canary.js';
import { testApi } from './children/testApi.js';
import { openTransport } from './openTransport.js';
import { answer, never, ok, portOf, startServer } from './scriptedServer.js';

test('T3 connecting has a deadline of its own, TLS included', { tags: ['slow'] }, async () => {
  // It takes connections and is silent ever after, so no TLS handshake gets anywhere.
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.close();
  });
  let connections = 0;
  server.on('connection', () => (connections += 1));
  const url = `https://127.0.0.1:${String(portOf(server.address()))}`;
  const transport = openTransport(url, { timeouts: { connect: 20 }, retry: { retries: 1 } });
  const error: unknown = await transport.get().catch((reason: unknown) => reason);
  expect(error).toBeInstanceOf(RequestTimeoutError);
  expect(error).toMatchObject({ details: { deadline: 'connect', ms: 20 } });
  expect(connections).toBe(2);
  expect(transport.delays).toEqual([125]);
  expectNoKey(error, transport.events);
});

test('T3 the response deadline holds while a connection is being made, too', async () => {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.close();
  });
  const url = `https://127.0.0.1:${String(portOf(server.address()))}`;
  const transport = openTransport(url, { retry: { retries: 0 }, timeouts: { connect: Infinity } });
  const outcome = transport.get().catch((reason: unknown) => reason);
  await transport.clock.asked(30_000);
  await transport.clock.advance(30_000);
  expect(await outcome).toMatchObject({ code: 'timeout', details: { deadline: 'response' } });
});

test('T3 the total deadline counts attempts and back-offs', async () => {
  const server = await startServer(answer(503), never);
  const transport = openTransport(server.url, {
    timeouts: { total: 60_000 },
    retry: { baseDelay: 80_000, maxDelay: 80_000 },
  });
  const outcome = transport.get().catch((reason: unknown) => reason);
  await server.until(() => server.requests.length === 2);
  expect(transport.delays).toEqual([40_000]);
  await transport.clock.advance(19_999);
  expect(server.requests[1]).toMatchObject({ isAborted: false });
  await transport.clock.advance(1);
  const error = await outcome;
  expect(error).toBeInstanceOf(RequestTimeoutError);
  expect(error).toMatchObject({ details: { deadline: 'total', ms: 60_000 } });
  await server.until(() => server.requests[1]?.isAborted === true);
  expect(transport.clock.pending).toEqual([]);
  expectNoKey(error, transport.events);
});

test('T3 the total deadline ends a back-off', async () => {
  const server = await startServer(answer(503));
  const transport = openTransport(server.url, {
    timeouts: { total: 1_000 },
    retry: { baseDelay: 10_000 },
  });
  const outcome = transport.get().catch((reason: unknown) => reason);
  expect(await outcome).toMatchObject({ code: 'timeout', details: { deadline: 'total' } });
  expect(transport.delays).toEqual([5_000]);
  expect(server.requests).toHaveLength(1);
  expect(transport.clock.pending).toEqual([]);
});

test('T3 the total deadline counts neither the wait for a turn nor a pause', async () => {
  const server = await startServer(answer(429, '', { 'retry-after': '50' }), answer(503), ok());
  const transport = openTransport(server.url, { timeouts: { total: 10_000 } });
  transport.limiter.pause(3_600_000);
  const outcome = transport.get();
  await transport.clock.asked(3_600_000);
  await transport.clock.advance(3_600_000);
  expect(await outcome).toMatchObject({ attempts: 3 });
  expect(transport.delays).toEqual([50_000, 250]);
  expect(transport.events.filter((event) => event.type === 'attempt')).toEqual([
    { type: 'attempt', route: 'test.route', request: 1, attempt: 1, waited: 3_600_000 },
    { type: 'attempt', route: 'test.route', request: 1, attempt: 2, waited: 50_000 },
    { type: 'attempt', route: 'test.route', request: 1, attempt: 3, waited: 0 },
  ]);
});

test('T3 the total deadline goes on behind a wait for a turn with what was left of it', async () => {
  const server = await startServer(answer(503), never);
  const transport = openTransport(server.url, { timeouts: { total: 10_000, response: Infinity }, isHandTurned: true });
  const outcome = transport.get().catch((reason: unknown) => reason);
  await transport.clock.asked(125);
  // The wait for the second turn is longer than the timer of the deadline, which goes off meanwhile.
  transport.limiter.pause(60_000);
  await transport.clock.advance(125);
  await vi.waitFor(
    () => {
      expect(transport.limiter.state.queued).toBe(1);
    },
    { timeout: 60_000 },
  );
  await transport.clock.advance(59_875);
  await server.until(() => server.requests.length === 2);
  await transport.clock.advance(9_874);
  expect(server.requests[1]).toMatchObject({ isAborted: false });
  await transport.clock.advance(1);
  expect(await outcome).toMatchObject({ code: 'timeout', details: { deadline: 'total', ms: 10_000 } });
  expect(transport.clock.pending).toEqual([]);
});

test('T3 a response that is late just when all time is spent is not asked for again', async () => {
  const server = await startServer(never);
  const transport = openTransport(server.url, { timeouts: { total: 20_000, response: 20_000 } });
  const outcome = transport.get().catch((reason: unknown) => reason);
  await server.until(() => server.requests.length === 1);
  await transport.clock.advance(20_000);
  expect(await outcome).toMatchObject({ code: 'timeout', details: { deadline: 'total' } });
  await transport.clock.advance(3_600_000);
  expect(server.requests).toHaveLength(1);
  expect(transport.clock.pending).toEqual([]);
});

test.each(['cancelled', 'closed', 'out of time'])(
  'T3 T4 a request that is %s sends nothing more, although the adapter does not end its attempt',
  async (how) => {
    let sent = 0;
    const stop = new AbortController();
    const transport = openTransport('http://127.0.0.1:9', {
      isHandTurned: true,
      timeouts: { response: 30_000, total: how === 'out of time' ? 20_000 : Infinity },
      createAdapter: () => ({
        send() {
          sent += 1;
          return new Promise(() => undefined);
        },
        close: () => Promise.resolve(),
      }),
    });
    const outcome = transport.get({ signal: stop.signal }).catch((reason: unknown) => reason);
    await transport.clock.asked(30_000);
    if (how === 'cancelled') stop.abort('enough');
    else if (how === 'closed') transport.close();
    else await transport.clock.advance(20_000);
    await outcome;
    for (let step = 0; step < 12; step += 1) await transport.clock.advance(30_000);
    expect(sent).toBe(1);
    expect(transport.clock.pending).toEqual([]);
  },
);

test('T3 the total deadline counts a key provider that does not answer', async () => {
  const server = await startServer(ok());
  const transport = openTransport(server.url, { apiKey: () => new Promise(() => undefined) });
  const outcome = transport.get().catch((reason: unknown) => reason);
  await transport.clock.asked(180_000);
  await transport.clock.advance(180_000);
  expect(await outcome).toMatchObject({ code: 'timeout', details: { deadline: 'total' } });
  expect(server.requests).toHaveLength(0);
});

test('T3 deadlines of Infinity are none', async () => {
  const server = await startServer(ok());
  const transport = openTransport(server.url, {
    timeouts: { connect: Infinity, response: Infinity, total: Infinity },
  });
  expect(await transport.get()).toMatchObject({ attempts: 1 });
});

describe('T3 a process that stood still', () => {
  test.each([
    ['longer than its total deadline', { total: 60_000, response: Infinity }, 61_001],
    ['for a night', { total: 60_000, response: 30_000 }, 28_800_000],
    ['longer than the deadline of its response', { total: 60_000, response: 30_000 }, 32_000],
  ])('gets the response of a request that it stood still with, %s', async (_how, timeouts, ms) => {
    let give: () => void = () => undefined;
    const server = await startServer((response) => (give = () => ok()(response)));
    const transport = openTransport(server.url, { timeouts, retry: { retries: 0 } });
    const response = transport.get();
    await server.until(() => server.requests.length === 1);
    await transport.clock.stall(ms);
    give();
    expect(await response).toMatchObject({ status: 200, attempts: 1 });
    expect(transport.clock.pending).toEqual([]);
  });

  test('ends a request that gets nothing afterwards, either, as long after it as its deadline says', async () => {
    const server = await startServer(never);
    const transport = openTransport(server.url, { timeouts: { total: 60_000, response: Infinity } });
    const outcome = transport.get().catch((reason: unknown) => reason);
    await server.until(() => server.requests.length === 1);
    await transport.clock.stall(28_800_000);
    await transport.clock.advance(59_999);
    expect(server.requests[0]).toMatchObject({ isAborted: false });
    await transport.clock.advance(1);
    expect(await outcome).toMatchObject({ code: 'timeout', details: { deadline: 'total', ms: 60_000 } });
    expect(transport.clock.pending).toEqual([]);
  });

  test.each([200_000, 28_800_000])('is no outage: after %i ms, a request is tried as often as without', async (ms) => {
    const server = await startServer(answer(503), never, answer(503), ok());
    const transport = openTransport(server.url, { retry: { for: 60_000 } });
    const response = transport.get();
    await server.until(() => server.requests.length === 2);
    await transport.clock.stall(ms);
    // The connection may be dead by then.
    await transport.clock.advance(30_000);
    expect(await response).toMatchObject({ status: 200, attempts: 4 });
  });

  test.each([50_000, 170_000])('has all of its deadline again, also if that has not passed after %i ms', async (ms) => {
    const server = await startServer(never, never, ok());
    const transport = openTransport(server.url);
    const response = transport.get();
    await server.until(() => server.requests.length === 1);
    await transport.clock.stall(ms);
    for (const requests of [2, 3]) {
      await transport.clock.advance(30_000);
      await server.until(() => server.requests.length === requests);
    }
    expect(await response).toMatchObject({ status: 200, attempts: 3 });
  });

  test('gets what a link waits for', async () => {
    const server = await startServer(ok());
    const clock = new FakeClock();
    let go: () => void = () => undefined;
    const hasBegun = new Promise<void>((begun) => {
      go = begun;
    });
    let release: () => void = () => undefined;
    const link: Link = (next) => async (asked) => {
      await new Promise<void>((resolve) => {
        release = resolve;
        go();
      });
      return next(asked);
    };
    const client = createClient({ apiKey: false, clock, links: [link], timeouts: { total: 60_000 } });
    onTestFinished(() => client.close());
    const response = client.use(testApi(server.url)).api.request({ route: 'test.route', path: '/things', query: {} });
    await hasBegun;
    await clock.stall(100_000);
    release();
    await expect(response).resolves.toEqual({ fine: true });
  });
});
