import { expect, onTestFinished, test } from 'vitest';
import type { Limiter } from '../../src/http/limit/limiterTypes.js';
import { unlimited } from '../../src/http/limit/localLimiter.js';
import { createSender, type HttpEvent } from '../../src/kit.js';
import { FakeClock } from '../fakeClock.js';
import { openTransport } from './openTransport.js';
import { begun, hangUp, ok, reset, startServer, type Answer } from './scriptedServer.js';

/** A limiter that counts the turns it gives. */
function counting(permits: { count: number }): (clock: Parameters<typeof unlimited>[0]) => Limiter {
  return (clock) => {
    const limiter = unlimited(clock);
    return {
      acquire: (request) => {
        permits.count += 1;
        return limiter.acquire(request);
      },
      pause: (ms) => {
        limiter.pause(ms);
      },
      get state() {
        return limiter.state;
      },
    };
  };
}

/** Answers the first request of each connection, and does this with the second. */
function onceEach(end: Answer): Answer {
  const used = new WeakSet<object>();
  return (response) => {
    const { socket } = response;
    if (!socket || used.has(socket)) {
      end(response);
      return;
    }
    used.add(socket);
    ok()(response);
  };
}

test.each([
  ['closed', hangUp],
  ['reset', reset],
])(
  'T9 a connection that is %s as the next request arrives is no fault: it is sent again at once, on a turn of its own',
  { tags: ['slow'] },
  async (_how, end) => {
    const server = await startServer(onceEach(end));
    const permits = { count: 0 };
    const transport = openTransport(server.url, { limiter: counting(permits), retry: { for: 0 } });
    for (let page = 0; page < 200; page += 1) expect(await transport.get()).toMatchObject({ attempts: 1 });
    expect(transport.delays).toEqual([]);
    // Every second one met a dead connection.
    expect(server.requests.length).toBeGreaterThan(290);
    expect(permits.count).toBe(server.requests.length);
    const attempts = transport.events.filter(({ type }) => type === 'attempt');
    expect(attempts).toHaveLength(server.requests.length);
    expect(attempts.every((event) => 'attempt' in event && event.attempt === 1)).toBe(true);
  },
);

test(
  'T9 a server that closes each connection once it has answered, and does not say so, costs no back-off',
  { tags: ['slow'] },
  async () => {
    const server = await startServer((response) => {
      response.shouldKeepAlive = true;
      response.on('finish', () => response.socket?.end());
      ok()(response);
    });
    const transport = openTransport(server.url, { retry: { for: 0 } });
    for (let page = 0; page < 100; page += 1) expect(await transport.get()).toMatchObject({ attempts: 1 });
    expect(transport.delays).toEqual([]);
  },
);

test('T9 a server that closes every connection is a fault, of as many attempts as any other', async () => {
  let isUp = true;
  const server = await startServer((response) => (isUp ? ok() : hangUp)(response));
  const transport = openTransport(server.url, { retry: { retries: 2 } });
  await Promise.all(Array.from({ length: 20 }, () => transport.get()));
  isUp = false;
  const before = server.requests.length;
  const error: unknown = await transport.get().catch((reason: unknown) => reason);
  expect(error).toMatchObject({ code: 'network', message: expect.stringContaining('It was tried 3 times') });
  expect(transport.delays).toEqual([125, 250]);
  // However many connections it had kept open, an attempt tries one of them and a fresh one. The others begin with one that had died before.
  expect(server.requests.length - before).toBe(2 + 1 + 1);
});

test('T9 a connection that breaks once it has begun to answer is a fault', async () => {
  const server = await startServer(ok(), begun('{"result":[', { 'content-length': 100 }, hangUp), ok());
  const transport = openTransport(server.url);
  await transport.get();
  expect(await transport.get()).toMatchObject({ attempts: 2 });
  expect(transport.delays).toEqual([125]);
});

test('T9 a forward is sent again at once, too, as the same message', async () => {
  const server = await startServer(onceEach(hangUp));
  const events: HttpEvent[] = [];
  const sender = createSender({ url: server.url, retry: { for: 0 }, onEvent: (event) => events.push(event) });
  onTestFinished(() => sender.close());
  const { signal } = new AbortController();
  for (let record = 0; record < 50; record += 1) {
    const message = { body: String(record), headers: () => ({ 'webhook-id': String(record) }), signal };
    expect(await sender.send(message)).toEqual({ status: 200, attempts: 1 });
  }
  expect(events.filter(({ type }) => type === 'retry')).toEqual([]);
  expect(server.requests.length).toBeGreaterThan(60);
  expect(new Set(server.requests.map(({ headers }) => headers['webhook-id'])).size).toBe(50);
});

test('T9 a forward to a server that closes every connection is sent again at once only once, over a fresh one, and then with delays', async () => {
  let isUp = true;
  const seen = new WeakSet<object>();
  const wasKept: boolean[] = [];
  const server = await startServer((response) => {
    const { socket } = response;
    if (!socket) throw new Error('A request came over no connection.');
    if (!isUp) wasKept.push(seen.has(socket));
    seen.add(socket);
    (isUp ? ok() : hangUp)(response);
  });
  const delays: number[] = [];
  const clock = new FakeClock();
  const sender = createSender({
    url: server.url,
    retry: { retries: 2 },
    clock,
    random: () => 0.5,
    onEvent: (event) => {
      if (event.type !== 'retry') return;
      delays.push(event.delay);
      void clock.asked(event.delay).then(() => clock.advance(event.delay));
    },
  });
  onTestFinished(() => sender.close());
  const { signal } = new AbortController();
  const send = (): Promise<unknown> => sender.send({ body: '{}', headers: () => ({}), signal });
  await Promise.all(Array.from({ length: 10 }, send));
  isUp = false;
  await expect(send()).rejects.toMatchObject({ code: 'network', message: expect.stringContaining('tried 3 times') });
  expect(wasKept).toEqual([true, false, false, false]);
  expect(delays).toEqual([125, 250]);
});
