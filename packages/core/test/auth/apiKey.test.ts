import { describe, expect, test, vi } from 'vitest';
import { ConfigError, createClient, HttpError } from '../../src/index.js';
import { expectNoKey } from '../http/canary.js';
import { openTransport } from '../http/openTransport.js';
import { answer, ok, startServer, type Answer, type ScriptedServer } from '../http/scriptedServer.js';
import type { ApiKey } from '../../src/auth/renewedSecret.js';

const refused = answer(401, '{"message":"who are you"}');
type Provider = Exclude<ApiKey, string>;

function sentKeys(server: ScriptedServer): unknown[] {
  return server.requests.map((request) => request.headers['x-api-key']);
}

describe('a key that is given as text', () => {
  test('T6 is sent once and no more after a 401', async () => {
    const server = await startServer(refused);
    const error: unknown = await openTransport(server.url, { apiKey: 'the-only-key' })
      .get()
      .catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(HttpError);
    expect(error).toMatchObject({ status: 401, message: expect.stringContaining('Check the API key') });
    expect(sentKeys(server)).toEqual(['the-only-key']);
  });
});

test('without a key none is sent, and a 401 is the answer', async () => {
  const server = await startServer(ok(), refused);
  const transport = openTransport(server.url, { apiKey: false });
  await transport.get();
  await expect(transport.get()).rejects.toMatchObject({
    status: 401,
    message: expect.stringContaining('No API key was sent. Set apiKey if it needs one.'),
  });
  expect(server.requests.map(({ headers }) => Object.keys(headers).includes('x-api-key'))).toEqual([false, false]);
});

test('a key that is too short to be searched for is refused at the start, in one sentence and without it', () => {
  for (const apiKey of ['k', '7-chars']) {
    const make = (): unknown => createClient({ apiKey });
    expect(make).toThrow(ConfigError);
    expect(make).toThrow(/^The API key has fewer than 8 characters, .*\. Is the key complete\?$/);
    expect(make).not.toThrow(/7-chars/);
  }
  expect(() => createClient({ apiKey: '8-chars.' })).not.toThrow();
});

test.each<[string, unknown]>([
  ['empty', ''],
  ['an object', Promise.resolve('the-only-key')],
  ['a number', 123456789],
  ['null', null],
])('what is %s, and no key, is refused at the start', (what, apiKey) => {
  // As from JavaScript, where no compiler refuses it.
  const make = (): unknown => createClient({ apiKey: apiKey as string });
  expect(make).toThrow(`The API key is ${what}. Set apiKey to the key of your project.`);
});

describe('a key provider', () => {
  test('T6 is asked once for all requests, and once more after a 401', async () => {
    const server = await startServer(ok(), ok(), refused, ok());
    const provider = vi.fn<Provider>((reason) => `of-ours-${reason}`);
    const transport = openTransport(server.url, { apiKey: provider });
    await transport.get();
    await transport.get();
    expect(await transport.get()).toMatchObject({ attempts: 2 });
    expect(provider.mock.calls).toEqual([['first'], ['refused']]);
    expect(sentKeys(server)).toEqual(['of-ours-first', 'of-ours-first', 'of-ours-first', 'of-ours-refused']);
    expect(transport.delays).toEqual([]);
  });

  test('T6 is asked again before the next request when its keys are outdated', async () => {
    const server = await startServer(ok(), ok(), ok(), refused);
    const renewals = { times: 0 };
    let calls = 0;
    const transport = openTransport(server.url, { apiKey: () => `key-number-${(calls += 1)}`, renewals });
    await transport.get();
    renewals.times += 2;
    await transport.get();
    await transport.get();
    expect(sentKeys(server)).toEqual(['key-number-1', 'key-number-2', 'key-number-2']);
  });

  test('T6 is asked once by requests that are refused together', async () => {
    let waiting: (() => void)[] = [];
    const together: Answer = (response) => {
      waiting.push(() => {
        refused(response);
      });
      if (waiting.length < 8) return;
      waiting.forEach((go) => {
        go();
      });
      waiting = [];
    };
    const server = await startServer(...Array.from({ length: 8 }, () => together), ok());
    const provider = vi.fn<Provider>((reason) => Promise.resolve(`of-ours-${reason}`));
    const transport = openTransport(server.url, { apiKey: provider });
    await Promise.all(Array.from({ length: 8 }, () => transport.get()));
    expect(provider.mock.calls).toEqual([['first'], ['refused']]);
    expect(server.requests).toHaveLength(16);
  });

  test('T6 is asked once a request, whatever it answers', async () => {
    const server = await startServer(refused);
    let nth = 0;
    const provider = vi.fn<Provider>(() => `of-ours-${String((nth += 1))}`);
    await expect(openTransport(server.url, { apiKey: provider }).get()).rejects.toMatchObject({ status: 401 });
    expect(sentKeys(server)).toEqual(['of-ours-1', 'of-ours-2']);
    expect(provider).toHaveBeenCalledTimes(2);
  });

  test('T6 that answers with the refused key again ends the request', async () => {
    const server = await startServer(refused);
    const provider = vi.fn<Provider>(() => 'same-key');
    await expect(openTransport(server.url, { apiKey: provider }).get()).rejects.toMatchObject({ status: 401 });
    expect(sentKeys(server)).toEqual(['same-key']);
    expect(provider).toHaveBeenCalledTimes(2);
  });

  test('T6 is asked once a request also where another fault lies between two refusals', async () => {
    const server = await startServer(refused, answer(503), refused);
    const provider = vi.fn<Provider>(() => 'key-of-ours');
    provider.mockReturnValueOnce('key-of-old');
    await expect(openTransport(server.url, { apiKey: provider }).get()).rejects.toMatchObject({ status: 401 });
    expect(sentKeys(server)).toEqual(['key-of-old', 'key-of-ours', 'key-of-ours']);
    expect(provider).toHaveBeenCalledTimes(2);
  });

  test.each<[string, Provider]>([
    [
      'throws',
      () => {
        throw new Error('the vault said: sEcReT-kEy');
      },
    ],
    ['rejects', () => Promise.reject(new Error('the vault said: sEcReT-kEy'))],
  ])('T2 that %s is passed on without its words, and asked again by the next request', async (_how, failing) => {
    const server = await startServer(ok());
    const provider = vi.fn<Provider>(() => 'key-of-ours');
    provider.mockImplementationOnce(failing);
    const transport = openTransport(server.url, { apiKey: provider });
    const error: unknown = await transport.get().catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(ConfigError);
    expect(error).toMatchObject({ message: expect.stringContaining('apiKey failed') });
    expect(error).not.toHaveProperty('cause');
    expect(JSON.stringify(error)).not.toContain('sEcReT');
    expect(server.requests).toHaveLength(0);
    expect(await transport.get()).toMatchObject({ status: 200 });
  });

  test.each(['', ' the-only-key', 'the-only-key\n', 'ключ-к-воротам', 'a key of ours', 'k', '7-chars'])(
    'T2 that answers %j is refused before anything is sent',
    async (key) => {
      const server = await startServer(ok());
      const error: unknown = await openTransport(server.url, { apiKey: () => key })
        .get()
        .catch((reason: unknown) => reason);
      expect(error).toBeInstanceOf(ConfigError);
      expect(server.connections).toBe(0);
    },
  );

  test('T2 has its later keys hidden, too', async () => {
    const later = 'Later/key+27"%';
    const server = await startServer(refused, answer(403, JSON.stringify({ key: later })));
    const provider = vi.fn<Provider>((reason) => (reason === 'first' ? 'earlier-key' : later));
    const transport = openTransport(server.url, { apiKey: provider });
    const error: unknown = await transport.get().catch((reason: unknown) => reason);
    expect(error).toMatchObject({ excerpt: '{"key":"[hidden]"}' });
    expectNoKey(error, transport.events);
  });
});
