import { createServer, type Server } from 'node:http';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { freePort } from '../../../../test/kit/freePort.js';
import { applyDefaults } from '../../src/http/requestTimes.js';
import { mayConnectLater } from '../../src/http/requestErrors.js';
import { NetworkError, createClient } from '../../src/index.js';
import { createSender } from '../../src/kit.js';
import { addressGuard } from '../../src/node/index.js';
import { FakeClock } from '../fakeClock.js';
import { openTransport } from './openTransport.js';
import { answer, never, ok, startServer, type Answer } from './scriptedServer.js';

/** A server that goes away and comes back at the same port. */
class AwayServer {
  readonly url: string;
  readonly #port: number;
  #server: Server | undefined;

  constructor(port: number) {
    this.#port = port;
    this.url = `http://127.0.0.1:${String(port)}`;
  }

  async come(): Promise<void> {
    if (this.#server?.listening) return;
    const server = createServer((_request, response) => {
      ok()(response);
    });
    await new Promise<void>((resolve) => server.listen(this.#port, '127.0.0.1', resolve));
    this.#server = server;
  }

  async go(): Promise<void> {
    const closed = new Promise((resolve) => this.#server?.close(resolve));
    this.#server?.closeAllConnections();
    await closed;
  }
}

async function awayServer(): Promise<AwayServer> {
  const server = new AwayServer(await freePort());
  await server.come();
  onTestFinished(() => server.go());
  return server;
}

/** The waits before each further attempt with half of each bound: 250 ms twice as long each time, 20 s at most, cut off at the end. */
function delaysWithin(ms: number): number[] {
  const delays: number[] = [];
  for (let left = ms, bound = 250; left > 0; bound = Math.min(20_000, 2 * bound)) {
    delays.push(Math.min(left, bound / 2));
    left -= bound / 2;
  }
  return delays;
}

const sum = (numbers: readonly number[]): number => numbers.reduce((total, each) => total + each, 0);

describe('T9 a server that refuses connections', () => {
  test('is tried for a minute unless told otherwise, the last time at its end', async () => {
    const server = await awayServer();
    await server.go();
    const transport = openTransport(server.url);
    const error: unknown = await transport.get().catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(NetworkError);
    expect(error).toMatchObject({
      message: expect.stringMatching(
        /ECONNREFUSED.*It was tried 13 times within 60 s\. Raise retry\.for to retry for longer\.$/,
      ),
    });
    expect(transport.delays).toEqual(delaysWithin(60_000));
    expect(sum(transport.delays)).toBe(60_000);
    await server.come();
  });

  test.each([5_000, 30_000, 90_000])('and is back after %i ms goes on as if nothing had been', async (away) => {
    const server = await awayServer();
    const transport = openTransport(server.url, {
      retry: { for: 120_000 },
      meanwhile: ({ delays }) => (sum(delays) >= away ? server.come() : Promise.resolve()),
    });
    await transport.get();
    await server.go();
    expect(await transport.get()).toMatchObject({ status: 200 });
    expect(sum(transport.delays)).toBeGreaterThanOrEqual(away);
    expect(transport.clock.pending).toEqual([]);
  });

  test(
    'is tried for ever where nothing ends it, also beyond the usual total deadline',
    { tags: ['slow'] },
    async () => {
      const hour = 3_600_000;
      const server = await awayServer();
      const transport = openTransport(server.url, {
        retry: { for: Infinity },
        meanwhile: ({ delays }) => (sum(delays) >= hour ? server.come() : Promise.resolve()),
      });
      await server.go();
      expect(await transport.get()).toMatchObject({ status: 200 });
      const retries = transport.events.filter((event) => event.type === 'retry');
      expect(retries.every(({ left }) => left === Infinity)).toBe(true);
    },
  );

  test('is not tried again where there is no time for it', async () => {
    const server = await awayServer();
    await server.go();
    const transport = openTransport(server.url, { retry: { for: 0 } });
    const error: unknown = await transport.get().catch((reason: unknown) => reason);
    expect(error).toMatchObject({ code: 'network', message: expect.not.stringContaining('It was tried') });
    expect(transport.delays).toEqual([]);
    await server.come();
  });

  test('is told of with each attempt: why, and for how long it is tried further', async () => {
    const server = await awayServer();
    await server.go();
    const transport = openTransport(server.url, { retry: { for: 1_000 } });
    await transport.get().catch(() => undefined);
    const retries = transport.events.filter((event) => event.type === 'retry');
    expect(retries.map(({ delay, left }) => [delay, left])).toEqual([
      [125, 1_000],
      [250, 875],
      [500, 625],
      [125, 125],
    ]);
    expect(retries[0]?.error).toMatchObject({ code: 'network', message: expect.stringContaining('ECONNREFUSED') });
    await server.come();
  });
});

describe('T9 the time for a fault', () => {
  test('begins with the first failed attempt of each request: what worked before does not count', async () => {
    const server = await startServer(answer(503), ok(), answer(503), answer(503), ok());
    const transport = openTransport(server.url, { retry: { for: 300 } });
    expect(await transport.get()).toMatchObject({ attempts: 2 });
    expect(await transport.get()).toMatchObject({ attempts: 3 });
    expect(transport.delays).toEqual([125, 125, 175]);
  });

  test('counts attempts that take long, but not the first of them', async () => {
    const server = await startServer(never);
    const transport = openTransport(server.url, { timeouts: { response: 30_000 }, isHandTurned: true });
    const outcome = transport.get().catch((reason: unknown) => reason);
    const late = async (nth: number, delay?: number): Promise<void> => {
      await server.until(() => server.requests.length === nth);
      await transport.clock.advance(30_000);
      if (delay === undefined) return;
      await transport.clock.asked(delay);
      await transport.clock.advance(delay);
    };
    await late(1, 125);
    await late(2, 250);
    await late(3);
    expect(await outcome).toMatchObject({
      code: 'timeout',
      message: expect.stringContaining('tried 3 times within 60 s'),
    });
    expect(transport.clock.monotonic()).toBe(90_375);
  });

  test('does not run while a request waits for the limiter', async () => {
    const server = await startServer(answer(503), answer(503), ok());
    const transport = openTransport(server.url, {
      retry: { for: 400 },
      isHandTurned: true,
    });
    const outcome = transport.get();
    for (const delay of [125, 250]) {
      await transport.clock.asked(delay);
      transport.limiter.pause(3_600_000);
      await transport.clock.advance(delay);
      await vi.waitFor(
        () => {
          expect(transport.limiter.state.queued).toBe(1);
        },
        { timeout: 60_000 },
      );
      await transport.clock.advance(3_600_000 - delay);
    }
    expect(await outcome).toMatchObject({ attempts: 3 });
  });

  test('is not used up by a Retry-After, which is obeyed within its own bound', async () => {
    const server = await startServer(...Array<Answer>(4).fill(answer(429, '', { 'retry-after': '50' })), ok());
    const transport = openTransport(server.url, { retry: { for: 5_000 } });
    expect(await transport.get()).toMatchObject({ attempts: 5 });
    expect(transport.delays).toEqual([50_000, 50_000, 50_000, 50_000]);
  });

  test('is distinguished from what a server asked to wait, in the error', async () => {
    const server = await startServer(answer(503, '', { 'retry-after': '3' }));
    const transport = openTransport(server.url, { retry: { for: 2_000 } });
    const error: unknown = await transport.get().catch((reason: unknown) => reason);
    const besides = sum(transport.delays) - 2_000;
    expect(besides).toBeGreaterThan(9_000);
    const text = `It was tried ${transport.delays.length + 1} times within 2 s, besides ${Math.round(besides / 1000)} s that the server asked to wait.`;
    expect(error).toMatchObject({ message: expect.stringContaining(text) });
  });

  test.each([
    ['429 and no Retry-After', answer(429), 60_000],
    ['429 and to wait a second, each time', answer(429, '', { 'retry-after': '1' }), undefined],
    ['429 and to wait for 50 seconds, each time', answer(429, '', { 'retry-after': '50' }), undefined],
    ['429 and to wait a ms, each time', answer(429, '', { 'retry-after': '0.001' }), 60_000],
    [
      '429 and the time that it is',
      answer(429, '', { 'retry-after': '1893456000', date: 'Tue, 01 Jan 2030 00:00:00 GMT' }),
      60_000,
    ],
    ['503', answer(503), 60_000],
    ['503 and to wait no time, each time', answer(503, '', { 'retry-after': '0' }), 60_000],
    ['a page that is not JSON', answer(200, '<html>'), 60_000],
  ])('ends with a server that answers %s for ever', async (_what, always, waited) => {
    const server = await startServer(always);
    const transport = openTransport(server.url);
    const error: unknown = await transport.get().catch((reason: unknown) => reason);
    expect(error).toMatchObject({ message: expect.stringMatching(/It was tried \d\d times within 60 s/) });
    if (waited !== undefined) expect(sum(transport.delays)).toBe(waited);
  });
});

describe('T9 what can not pass ends at once:', () => {
  test.each([
    ['CERT_HAS_EXPIRED', false],
    ['DEPTH_ZERO_SELF_SIGNED_CERT', false],
    ['UNABLE_TO_VERIFY_LEAF_SIGNATURE', false],
    ['ERR_TLS_CERT_ALTNAME_INVALID', false],
    ['ERR_SSL_WRONG_VERSION_NUMBER', false],
    ['ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION', false],
    ['the proxy responded with 407', false],
    ['the proxy responded with 403', false],
    ['the proxy responded with 429', true],
    ['the proxy responded with 502', true],
    ['ECONNREFUSED', true],
    ['ENOTFOUND', true],
    ['EAI_AGAIN', true],
    ['ERR_SSL_TLSV1_ALERT_INTERNAL_ERROR', true],
    [undefined, true],
  ])('%s may pass: %s', (code, mayPass) => {
    expect(mayConnectLater(code, 'api.example.com')).toBe(mayPass);
  });

  test.each([
    ['api.example.com', true],
    ['api.example.com.', true],
    ['[2001:db8::1]', true],
    ['127.0.0.1', true],
    [`${'x'.repeat(63)}.test`, true],
    [`${'x'.repeat(64)}.test`, false],
    [`${'x.'.repeat(127)}x`, false],
    ['api..example.com', false],
    ['api.invalid', false],
    ['invalid.example.com', true],
  ])('the name %s may be found: %s', (host, mayPass) => {
    expect(mayConnectLater('ENOTFOUND', host)).toBe(mayPass);
  });

  test('https at a port that speaks http', async () => {
    const server = await startServer(ok());
    const transport = openTransport(server.url.replace('http:', 'https:'));
    const error: unknown = await transport.get().catch((reason: unknown) => reason);
    expect(error).toMatchObject({ code: 'network', details: { platformCode: 'ERR_SSL_WRONG_VERSION_NUMBER' } });
    expect(transport.delays).toEqual([]);
  });

  test('a refused key', async () => {
    const server = await startServer(answer(401));
    const transport = openTransport(server.url, { retry: { for: Infinity } });
    await expect(transport.get()).rejects.toMatchObject({ code: 'http' });
    expect(server.requests).toHaveLength(1);
  });
});

describe('T9 a forward whose endpoint', () => {
  const { signal } = new AbortController();
  const message = { body: '{}', headers: () => ({}), signal };

  test('has no name any more is tried until it has one again', async () => {
    const server = await awayServer();
    const clock = new FakeClock();
    let looked = 0;
    const resolve = (): Promise<readonly { address: string; family: 4 }[]> => {
      looked += 1;
      if (looked > 5) return Promise.resolve([{ address: '127.0.0.1', family: 4 }]);
      return Promise.reject(Object.assign(new Error('gone'), { code: 'ENOTFOUND' }));
    };
    const sender = createSender({
      url: server.url.replace('127.0.0.1', 'hooks.sluice.test'),
      guard: addressGuard({ allow: ['hooks.sluice.test'], resolve }),
      clock,
      random: () => 0.5,
      retry: { for: 60_000 },
      onEvent: (event) => {
        if (event.type === 'retry') void clock.asked(event.delay).then(() => clock.advance(event.delay));
      },
    });
    onTestFinished(() => sender.close());
    expect(await sender.send(message)).toEqual({ status: 200, attempts: 6 });
  });
});

describe('T9 options that make no sense are refused:', () => {
  test.each([-1, NaN])('retry.for of %d', (ms) => {
    expect(() => createClient({ apiKey: false, retry: { for: ms } })).toThrow(/retry\.for is .*: it must be a number/);
  });
});

describe('T3 the total deadline', () => {
  test.each([
    [{}, 180_000],
    [{ retry: { for: 0 } }, 180_000],
    [{ retry: { for: 600_000 } }, 720_000],
    [{ retry: { for: Infinity } }, Infinity],
    [{ retry: { for: 600_000 }, timeouts: { total: 5_000 } }, 5_000],
  ])('of %j is %d ms', (wanted, total) => {
    expect(applyDefaults(wanted).timeouts.total).toBe(total);
  });
});
