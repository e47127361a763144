import { getEventListeners } from 'node:events';
import axios from 'axios';
import { afterEach, describe, expect, onTestFinished, test } from 'vitest';
import {
  ConfigError,
  createClient,
  NetworkError,
  PluginError,
  type ClientEvent,
  type ClientOptions,
  type Plugin,
} from '../../src/index.js';
import { canary, expectNoKey } from './canary.js';
import { testApi } from './children/testApi.js';
import { answer, never, ok, startServer } from './scriptedServer.js';

const options: ClientOptions = { apiKey: canary, rateLimit: false };
const question = { route: 'test.route', path: '/things', query: {} };

/** A plugin that writes down what happens to it. */
function noting<Name extends string>(name: Name, notes: string[]): Plugin<Name, { readonly name: Name }> {
  return {
    name,
    setup() {
      notes.push(`set up ${name}`);
      return { name };
    },
    async dispose() {
      await Promise.resolve();
      notes.push(`disposed of ${name}`);
    },
  };
}

describe('plugins', () => {
  test('are added under their names, one after another', async () => {
    const notes: string[] = [];
    const client = createClient(options).use(noting('a', notes)).use(noting('b', notes));
    expect([client.a.name, client.b.name]).toEqual(['a', 'b']);
    await client.close();
    expect(notes).toEqual(['set up a', 'set up b', 'disposed of b', 'disposed of a']);
  });

  test('of the same name clash, and nothing changes', async () => {
    const notes: string[] = [];
    const client = createClient(options).use(noting('a', notes));
    // @ts-expect-error -- the compiler knows that the name is taken
    expect(() => client.use(noting('a', notes))).toThrow(PluginError);
    const loaded: Plugin = noting('a', notes);
    expect(() => client.use(loaded)).toThrow('The name "a" is taken or reserved');
    expect(notes).toEqual(['set up a']);
    expect(client.use(noting('b', notes)).a.name).toBe('a');
    await client.close();
  });

  test.each([
    'use',
    'close',
    'events',
    'limiter',
    'then',
    'toJSON',
    'toString',
    'constructor',
    'hasOwnProperty',
    '__proto__',
    '',
  ])('can not be named %j', (name) => {
    const notes: string[] = [];
    const plugin: Plugin = noting(name, notes);
    expect(() => createClient(options).use(plugin)).toThrow(PluginError);
    expect(notes).toEqual([]);
  });

  test('can not have a reserved name, as the compiler knows', () => {
    const client = createClient(options);
    // @ts-expect-error -- it is the client's own
    expect(() => client.use(noting('close', []))).toThrow(PluginError);
    // @ts-expect-error -- the client would become a promise
    expect(() => client.use(noting('then', []))).toThrow(PluginError);
  });

  test('that can not set up close the client, since whoever chains never gets hold of it', async () => {
    const notes: string[] = [];
    const cause = new Error('no');
    const failing: Plugin<'bad'> = {
      name: 'bad',
      setup() {
        throw cause;
      },
    };
    const client = createClient(options).use(noting('a', notes)).use(noting('b', notes));
    const completed = new Promise<void>((resolve) => client.events.subscribe({ complete: resolve }));
    expect(thrownBy(() => client.use(failing))).toMatchObject({
      name: 'PluginError',
      message: expect.stringContaining('"bad" could not set up'),
      cause,
    });
    await completed;
    expect(notes).toEqual(['set up a', 'set up b', 'disposed of b', 'disposed of a']);
  });

  test('that find a fault in their options say so in their own words', () => {
    expect(() => createClient(options).use(testApi('ftp://example.com'))).toThrow(ConfigError);
  });

  test('are all disposed of, also if one of them fails', async () => {
    const notes: string[] = [];
    const cause = new Error('no');
    const client = createClient(options)
      .use(noting('a', notes))
      .use({
        name: 'bad',
        setup: () => ({}),
        dispose() {
          throw cause;
        },
      })
      .use(noting('c', notes));
    let isComplete = false;
    client.events.subscribe({ complete: () => (isComplete = true) });
    await expect(client.close()).rejects.toMatchObject({
      name: 'PluginError',
      message: expect.stringContaining('"bad"'),
      cause,
    });
    expect(notes.slice(2)).toEqual(['disposed of c', 'disposed of a']);
    expect(isComplete).toBe(true);
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
    await expect(client.api.request(question)).rejects.toThrow('its client was closed');
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
});

describe('options that make no sense', () => {
  test.each([
    ['', 'empty'],
    [undefined, 'empty'],
    [null, 'empty'],
    [42, 'empty'],
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

describe('events', () => {
  test('tell what happens on the wire, in order', async () => {
    const server = await startServer(answer(503), answer(429, '', { 'retry-after': '0' }), ok());
    const client = createClient({ ...options, retry: { baseDelay: 2 }, random: () => 0.5 }).use(testApi(server.url));
    const seen: ClientEvent[] = [];
    client.events.subscribe((event) => seen.push(event));
    await client.api.request(question);
    await client.close();
    const route = 'test.route';
    const ms = expect.any(Number);
    expect(seen).toEqual([
      { type: 'attempt', route, attempt: 1, waited: ms },
      { type: 'response', route, attempt: 1, status: 503, took: ms },
      { type: 'retry', route, attempt: 1, delay: 1, reason: 'http' },
      { type: 'attempt', route, attempt: 2, waited: ms },
      { type: 'response', route, attempt: 2, status: 429, took: ms },
      { type: 'paused', route, for: 2 },
      { type: 'retry', route, attempt: 2, delay: 2, reason: 'rate-limited' },
      { type: 'attempt', route, attempt: 3, waited: ms },
      { type: 'response', route, attempt: 3, status: 200, took: ms },
    ]);
    expectNoKey(seen);
  });

  test('T2 carry warnings without the key', async () => {
    const client = createClient(options).use(testApi('https://api.example.com'));
    const seen: ClientEvent[] = [];
    client.events.subscribe((event) => seen.push(event));
    client.api.warn(`odd: ${JSON.stringify({ key: canary })} ${encodeURIComponent(canary)}`);
    await client.close();
    expect(seen).toEqual([{ type: 'warning', message: 'odd: {"key":"[hidden]"} [hidden]' }]);
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

  test('refuses a header that can not be sent, without trying again', async () => {
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

  describe('of a program that uses axios, too', () => {
    const { common } = axios.defaults.headers;
    afterEach(() => {
      common.Authorization = null;
      delete axios.defaults.baseURL;
      delete axios.defaults.params;
    });

    test('gets none of its defaults', async () => {
      const server = await startServer(ok());
      common.Authorization = 'Bearer of-another-service';
      axios.defaults.baseURL = 'https://another.example';
      axios.defaults.params = { token: 'of-another-service' };
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
