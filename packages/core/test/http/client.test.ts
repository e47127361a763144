import { getEventListeners } from 'node:events';
import { setImmediate } from 'node:timers/promises';
import axios from 'axios';
import { afterEach, describe, expect, onTestFinished, test } from 'vitest';
import { ConfigError, createClient, NetworkError, type ClientOptions } from '../../src/index.js';
import { bearer } from '../../src/define/index.js';
import { noting } from '../plugins/noting.js';
import { canary, expectNoKey } from './canary.js';
import { testApi } from './children/testApi.js';
import { answer, never, ok, startServer } from './scriptedServer.js';

const options: ClientOptions = { apiKey: canary, rateLimit: false };
const question = { route: 'test.route', path: '/things', query: {} };

describe('a client without a key', () => {
  const make = createClient as (options?: unknown) => unknown;

  test.each([
    ['no options at all', undefined],
    ['null', null],
    ['a key by itself', canary],
    ['options without one', {}],
    ['a variable that is not set', { apiKey: process.env['SLUICE_NO_SUCH_KEY'] }],
  ])('given %s is told what it needs', (_, given) => {
    const error = thrownBy(() => make(given));
    expect(error).toBeInstanceOf(ConfigError);
    expect(error).toMatchObject({ message: expect.stringMatching(/^createClient needs an apiKey: .* or false for/) });
    expectNoKey(error);
  });

  test('is made where the APIs take none', async () => {
    await using client = createClient({ apiKey: false });
    expect(client.limiter).toMatchObject({ queued: 0 });
  });
});

describe('a client that closes', () => {
  test('ends requests wherever they are, and those that come later', async () => {
    const server = await startServer(never, answer(503), ok());
    const client = createClient({
      ...options,
      rateLimit: { requests: 2, per: 3_600_000 },
      retry: { baseDelay: 3_600_000, maxDelay: 3_600_000 },
      random: () => 0.9,
    }).use(testApi(server.url));
    const inBackOff = new Promise<void>((resolve) => {
      client.events.subscribe((event) => {
        if (event.type === 'retry') resolve();
      });
    });
    const underWay = client.api.request(question);
    await server.until(() => server.requests.length === 1);
    const all = [underWay, client.api.request(question), client.api.request(question)];
    await inBackOff;
    expect(client.limiter).toMatchObject({ queued: 1, running: 1 });

    const ends = Promise.allSettled(all);
    await client.close();
    for (const end of await ends) {
      expect(end).toMatchObject({ status: 'rejected', reason: expect.any(NetworkError) });
      expect(end).toMatchObject({ reason: { details: { route: 'test.route' } } });
      expectNoKey(end);
    }
    await server.until(() => server.requests[0]?.isAborted === true && server.connections === 0);
    await expect(client.api.request(question)).rejects.toThrow('the client was closed');
    expect(server.requests).toHaveLength(2);
    expect(client.limiter).toMatchObject({ queued: 0, running: 0 });
  });

  test('completes its events, once', async () => {
    const client = createClient(options);
    let completed = 0;
    client.events.subscribe({ complete: () => (completed += 1) });
    const first = client.close();
    expect(client.close()).toBe(first);
    await first;
    expect(completed).toBe(1);
  });

  test('takes no more plugins', async () => {
    const client = createClient(options);
    await client.close();
    expect(() => client.use(noting('a', []))).toThrow('The client is closed');
  });

  test('does so at the end of its block, too', async () => {
    const notes: string[] = [];
    {
      await using client = createClient(options).use(noting('a', notes));
      expect(client.a.name).toBe('a');
    }
    expect(notes).toEqual(['set up a', 'disposed of a']);
  });

  test('has no warning caused by a hundred requests under one signal', async () => {
    const server = await startServer(ok());
    const warnings: Error[] = [];
    const note = (warning: Error): void => void warnings.push(warning);
    process.on('warning', note);
    onTestFinished(() => void process.off('warning', note));
    const client = createClient(options).use(testApi(server.url));
    const { signal } = new AbortController();
    await Promise.all(Array.from({ length: 100 }, () => client.api.request({ ...question, signal })));
    await client.close();
    expect(getEventListeners(signal, 'abort')).toEqual([]);
    expect(warnings).toEqual([]);
  });

  test('has no warning caused by a dozen APIs with keys of their own', async () => {
    const warnings: Error[] = [];
    const note = (warning: Error): void => void warnings.push(warning);
    process.on('warning', note);
    onTestFinished(() => void process.off('warning', note));
    const client = createClient(options);
    for (let at = 0; at < 12; at += 1)
      client.use({
        name: `api${at}`,
        setup: ({ endpoint }) => endpoint('https://api.example', { auth: bearer(canary) }),
      });
    await client.close();
    // Node.js warns once the promises that are settled are done with.
    await setImmediate();
    expect(warnings).toEqual([]);
  });
});

describe('options that make no sense', () => {
  test.each([
    ['', 'empty'],
    [undefined, 'needs an apiKey'],
    [null, 'is null'],
    [42, 'is a number'],
    [`${canary}\n`, 'a line break'],
    [`\uFEFF${canary}`, 'a special character'],
    [`Bearer ${canary}`, 'a space'],
  ])('T2 a key of %j is refused without being repeated', (apiKey, why) => {
    const error = thrownBy(() => createClient({ ...options, apiKey: apiKey as string }));
    expect(error).toBeInstanceOf(ConfigError);
    expect(error).toMatchObject({ message: expect.stringContaining(why) });
    expectNoKey(error);
  });

  test.each<[string, Partial<ClientOptions>]>([
    ['timeouts.connect', { timeouts: { connect: 0 } }],
    ['timeouts.response', { timeouts: { response: NaN } }],
    ['timeouts.total', { timeouts: { total: -1 } }],
    ['timeouts.total', { timeouts: { total: '5' as unknown as number } }],
    ['retry.retries', { retry: { retries: -1 } }],
    ['retry.retries', { retry: { retries: 1.5 } }],
    ['retry.retries', { retry: { retries: NaN } }],
    ['retry.baseDelay', { retry: { baseDelay: NaN } }],
    ['retry.maxDelay', { retry: { maxDelay: -1 } }],
    ['retry.maxRetryAfter', { retry: { maxRetryAfter: NaN } }],
    ['client.maxBodyBytes', { maxBodyBytes: 0 }],
    ['client.maxBodyBytes', { maxBodyBytes: NaN }],
    ['rateLimit.requests', { rateLimit: { requests: 0, per: 1_000 } }],
    ['rateLimit.per', { rateLimit: [{ requests: 5, per: 1_000 }, { requests: 5 } as never] }],
    ['rateLimit.per', { rateLimit: { requests: 5 } as never }],
  ])('%s is refused by its name: %j', (name, wrong) => {
    expect(() => createClient({ ...options, ...wrong })).toThrow(ConfigError);
    expect(() => createClient({ ...options, ...wrong })).toThrow(`${name} is `);
  });

  test('are not those that say: no bound', () => {
    const endless = { connect: Infinity, response: Infinity, total: Infinity };
    createClient({
      ...options,
      timeouts: endless,
      retry: { retries: 0, maxRetryAfter: Infinity },
      maxBodyBytes: Infinity,
    });
  });
});

describe('an endpoint', () => {
  test('T2 knows a secret when it sees one', async () => {
    const client = createClient(options).use(testApi('https://api.example.com/v1/'));
    expect(client.api.baseUrl).toBe('https://api.example.com/v1');
    expect(client.api.isSecret(Buffer.from(JSON.stringify({ after: 7, key: canary })).toString('base64url'))).toBe(
      true,
    );
    expect(client.api.isSecret(Buffer.from(JSON.stringify({ after: 7 })).toString('base64url'))).toBe(false);
    await client.close();
  });

  test('refuses a header that cannot be sent, without trying again', async () => {
    const server = await startServer(ok());
    const client = createClient({
      ...options,
      links: [(next) => (request) => next({ ...request, headers: { 'x-trace': 'ключ' } })],
    }).use(testApi(server.url));
    const error: unknown = await client.api.request(question).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(ConfigError);
    expectNoKey(error);
    expect(server.connections).toBe(0);
    await client.close();
  });

  test('sends the encodings that a link asks for in place of its own', async () => {
    const server = await startServer(ok());
    const client = createClient({
      ...options,
      links: [(next) => (request) => next({ ...request, headers: { 'Accept-Encoding': 'identity' } })],
    }).use(testApi(server.url));
    await client.api.request(question);
    expect(server.requests[0]?.headers['accept-encoding']).toBe('identity');
    await client.close();
  });

  describe('of a program that uses axios, too', () => {
    const { common } = axios.defaults.headers;
    const { adapter, transformRequest } = axios.defaults;
    afterEach(() => {
      Object.assign(axios.defaults, { adapter, transformRequest, timeout: 0 });
      delete axios.defaults.proxy;
      common.Authorization = null;
      delete axios.defaults.baseURL;
      delete axios.defaults.params;
    });

    test('gets none of its defaults', async () => {
      const server = await startServer(ok());
      common.Authorization = 'Bearer of-another-service';
      axios.defaults.baseURL = 'https://another.example';
      axios.defaults.params = { token: 'of-another-service' };
      axios.defaults.adapter = axios.defaults.transformRequest = () => {
        throw new Error('of another service');
      };
      axios.defaults.proxy = { host: '127.0.0.1', port: 1 };
      axios.defaults.timeout = 0.001;
      const client = createClient(options).use(testApi(server.url));
      await client.api.request({ ...question, query: { a: 1 } });
      await client.close();
      expect(server.requests[0]?.url).toBe('/things?a=1');
      expect(JSON.stringify(server.requests[0]?.headers)).not.toContain('of-another-service');
    });
  });
});

function thrownBy(action: () => unknown): unknown {
  try {
    action();
  } catch (error) {
    return error;
  }
  return undefined;
}
