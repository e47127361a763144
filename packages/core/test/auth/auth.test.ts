import { inspect } from 'node:util';
import { describe, expect, test } from 'vitest';
import { onTestEnd } from '../../../../scripts/testScope.js';
import {
  type Client,
  ConfigError,
  createClient,
  exportTo,
  type Link,
  memoryState,
  systemClock,
  type ClientOptions,
} from '../../src/index.js';
import {
  type Auth,
  basic,
  bearer,
  byLink,
  defineApi,
  header,
  listing,
  noAuth,
  pathKey,
  queryKey,
  sharedKey,
  type Secret,
} from '../../src/define/index.js';
import { Secrets } from '../../src/kit.js';
import { unlimited } from '../../src/http/limit/localLimiter.js';
import { FakeClock } from '../fakeClock.js';
import { recordingSink } from '../rows/sink/recordingSink.js';
import { caught } from '../http/openClient.js';
import { recordingServer, type Reply } from '../http/recordingServer.js';

const clientKey = 'client-key-8d1fe2b7';
const rows = listing({
  path: '/rows',
  rows: 'items',
  paging: byLink(),
  columns: ['id'],
  version: '1',
  decode: (row, path, read): { id: number } => ({ id: Number(read.recordWith(['id'], row, path)['id']) }),
});

/** The credentials of the kinds, each with what nobody else may see. */
const kinds: readonly { readonly kind: string; readonly auth: Auth; readonly secrets: readonly string[] }[] = [
  { kind: 'bearer', auth: bearer('ghp_0aB3xY9zQ+/=%7B"~'), secrets: ['ghp_0aB3xY9zQ+/=%7B"~'] },
  {
    kind: 'basic',
    auth: basic({ user: 'reader', password: 'pass w0rd:&?#' }),
    secrets: ['pass w0rd:&?#', Buffer.from('reader:pass w0rd:&?#').toString('base64')],
  },
  {
    kind: 'basic and any characters',
    auth: basic({ user: 'jürgen', password: 'pässwörd:Ж-31' }),
    secrets: ['pässwörd:Ж-31', Buffer.from('jürgen:pässwörd:Ж-31').toString('base64')],
  },
  {
    kind: 'basic and a key as its user',
    auth: basic({ user: { id: 'shop', get: () => 'sk_live_51Hx0Q' }, password: 'X' }),
    secrets: ['sk_live_51Hx0Q', Buffer.from('sk_live_51Hx0Q:X').toString('base64')],
  },
  { kind: 'header', auth: header('X-Auth-Key', 'hk-5521-77aa-9c', { prefix: 'Token ' }), secrets: ['hk-5521-77aa-9c'] },
  { kind: 'queryKey', auth: queryKey('api_key', 'qk&4411=x+y/z%'), secrets: ['qk&4411=x+y/z%'] },
  { kind: 'pathKey', auth: pathKey('/v1/bot{token}', '8812:AAF-x_y/z%3a'), secrets: ['8812:AAF-x_y/z%3a'] },
  {
    kind: 'R8 several',
    auth: [
      header('DD-API-KEY', 'dd-api-0011-ff'),
      header('DD-APPLICATION-KEY', 'dd-app-9922-ee'),
      queryKey('api_key', 'qk&4411=x+y/z%'),
      pathKey('/bot{token}', '8812:AAF-x_y'),
    ],
    secrets: ['dd-api-0011-ff', 'dd-app-9922-ee', 'qk&4411=x+y/z%', '8812:AAF-x_y'],
  },
];

const own = (auth: Auth) => defineApi({ name: 'own', auth, sources: { rows } });
const other = defineApi({ name: 'other', sources: { rows } });

function open(options: Partial<ClientOptions> = {}): Client {
  const client = createClient({ apiKey: clientKey, rateLimit: false, retry: { retries: 0 }, ...options });
  onTestEnd(() => client.close());
  return client;
}

/** Three pages whose links repeat the whole query, then an error that repeats all that the server was sent. */
function echoing(request: { readonly url: string; readonly raw: string }): Reply {
  const url = new URL(request.url, 'http://127.0.0.1');
  const page = Number(url.searchParams.get('page') ?? '1');
  const all = { raw: request.raw, in64: Buffer.from(request.raw).toString('base64') };
  if (page === 4) return { status: 500, body: { you: 'sent', ...all } };
  url.searchParams.set('page', String(page + 1));
  return { body: { items: [{ id: page }] }, headers: { link: `<${url.pathname}${url.search}>; rel="next"` } };
}

describe.each(kinds)('A1 with $kind', ({ auth, secrets }) => {
  const search = new Secrets();
  for (const secret of secrets) search.add(secret);
  const expectNone = (...texts: readonly string[]): void => {
    for (const text of texts) expect(search.has(text), text).toBe(false);
  };

  test('the API gets its credentials, and nobody else sees them', async () => {
    const ownServer = await recordingServer(echoing);
    const otherServer = await recordingServer(echoing);
    const seen: unknown[] = [];
    const spy: Link = (next) => async (request) => {
      seen.push(request, ...Object.getOwnPropertySymbols(request).map((symbol) => Reflect.get(request, symbol)));
      const response = await next(request);
      seen.push(response);
      return response;
    };
    const noting = (event: unknown): unknown => seen.push(event);
    const memory = memoryState();
    const saved: object[] = [];
    const state = {
      ...memory,
      save: (name: string, record: object) => memory.save(name, (saved.push(record), record)),
    };
    const client = open({ links: [spy] })
      .use({ name: 'spy', links: [spy], hooks: { request: noting, response: noting, settled: noting, error: noting } })
      .use(own(auth)({ baseUrl: ownServer.url }))
      .use(other({ baseUrl: otherServer.url }));
    client.events.subscribe(noting);
    const faults = [
      await caught(client.own.rows().toArray()),
      await caught(exportTo(client.own.rows(), recordingSink(), { state, commitEvery: 1 }).run()),
      await caught(client.own.get('/rows', { query: { page: '4' } })),
    ];
    const otherFault = await caught(client.other.rows().toArray());

    const pages = ownServer.arrived.map(({ url }) => new URL(url, ownServer.url).searchParams.get('page'));
    expect(pages).toEqual([null, '2', '3', '4', null, '2', '3', '4', '4']);
    for (const { raw, url } of ownServer.arrived) {
      expect(raw).not.toContain(clientKey);
      expect(search.has(raw), raw).toBe(true);
      // It is sent once, though the links repeat the query.
      expect(new URL(url, ownServer.url).searchParams.getAll('api_key').length).toBeLessThan(2);
    }
    for (const { raw } of otherServer.arrived) {
      expect(raw).toContain(clientKey);
      expectNone(raw);
    }
    expect(otherFault).toMatchObject({ code: 'http', status: 500 });
    for (const fault of faults) {
      expect(fault).toMatchObject({ code: 'http', status: 500, message: expect.stringContaining('[hidden]') });
      if (fault instanceof Error) expectNone(fault.message, JSON.stringify(fault), fault.stack ?? '', inspect(fault));
    }
    expectNone(JSON.stringify(seen));
    expect(saved.length).toBeGreaterThan(0);
    expectNone(JSON.stringify(saved));
  });

  test('another secret cannot resume an export, and the same one can', async () => {
    const server = await recordingServer(echoing);
    const state = memoryState();
    const sink = recordingSink<{ id: number }>();
    const run = (given: Auth): Promise<unknown> =>
      caught(
        exportTo(
          open()
            .use(own(given)({ baseUrl: server.url }))
            .own.rows(),
          sink,
          { state, commitEvery: 1 },
        ).run(),
      );
    await run(auth);
    expect(await run(bearer('quite-another-token'))).toMatchObject({ code: 'checkpoint' });
    const requests = server.arrived.length;
    expect(await run(auth)).toMatchObject({ code: 'http' });
    expect(server.arrived.length).toBe(requests + 1);
  });
});

describe('A1 basic', () => {
  const variables = { KEY: 'sk_live_51Hx0Q', PAIR: 'sk_live:51Hx0Q' };

  test('sends a key as the user, with no password', async () => {
    const server = await recordingServer(() => ({ body: { items: [] } }));
    const client = open({ variables }).use(own(basic({ user: { env: 'KEY' } }))({ baseUrl: server.url }));
    await client.own.get('/rows');
    const pair = Buffer.from('sk_live_51Hx0Q:').toString('base64');
    expect(server.arrived[0]?.headers.authorization).toBe(`Basic ${pair}`);
  });

  test('refuses a key with a colon, of which the server would take a part for the password', () => {
    const api = own(basic({ user: { env: 'PAIR' } }));
    expect(() => open({ variables }).use(api({ baseUrl: 'https://api.example.com' }))).toThrow('a special character');
  });

  test('takes both the user and the password from the environment', async () => {
    const server = await recordingServer(() => ({ body: { items: [] } }));
    const auth = basic({ user: { env: 'EMAIL' }, password: { env: 'TOKEN' } });
    const api = own(auth)({ baseUrl: server.url });
    const client = open({ variables: { EMAIL: 'me@example.com\n', TOKEN: 'at-88:31' } }).use(api);
    await client.own.get('/rows');
    const pair = Buffer.from('me@example.com:at-88:31').toString('base64');
    expect(server.arrived[0]?.headers.authorization).toBe(`Basic ${pair}`);
    for (const [set, names] of [
      [{}, 'EMAIL and TOKEN'],
      [{ TOKEN: 'at-88:31' }, 'EMAIL'],
      [{ EMAIL: 'me@example.com' }, 'TOKEN'],
    ] as const)
      await expect(open({ variables: set }).use(api).own.get('/rows')).rejects.toThrow(
        new RegExp(`variables? ${names}\\.$`),
      );
    const named = { EMAIL: 'me:you', TOKEN: 'at-88:31' };
    expect(() => open({ variables: named }).use(api)).toThrow('must not have a colon');
  });

  test('takes one secret', () => {
    const both = { user: { id: 'shop', get: () => 'sk_live_51Hx0Q' }, password: { env: 'PAIR' } };
    // @ts-expect-error: the user beside a password is a name.
    const auth = basic(both);
    expect(() => open({ variables }).use(own(auth)({ baseUrl: 'https://api.example.com' }))).toThrow('one secret');
  });
});

test('A1 a key in the query replaces a parameter of its name', async () => {
  const server = await recordingServer(() => ({ body: { items: [] } }));
  const client = open().use(own(queryKey('api_key', 'qk-4411-xyz'))({ baseUrl: server.url }));
  await client.own.get('/rows', { query: { a: '1', api_key: 'demo', b: 'x?y' } });
  await client.own.get('/rows', { query: { api_key: 'demo' } });
  await client.own.get('/rows');
  expect(server.arrived.map(({ url }) => url)).toEqual([
    '/rows?a=1&b=x%3Fy&api_key=qk-4411-xyz',
    '/rows?api_key=qk-4411-xyz',
    '/rows?api_key=qk-4411-xyz',
  ]);
});

describe('A1 a request of one API', () => {
  const a = bearer('token-of-first-api');
  const b = bearer('token-of-second-api');

  test('that a link sends to another API has that one’s credentials, and none elsewhere', async () => {
    const first = await recordingServer(() => ({ body: { items: [] } }));
    const second = await recordingServer(() => ({ body: { items: [] } }));
    const stranger = await recordingServer(() => ({ body: { items: [] } }));
    let target = second.url;
    const redirect: Link = (next) => (request) => next({ ...request, baseUrl: target });
    const client = open({ links: [redirect] })
      .use(own(a)({ baseUrl: first.url }))
      .use(defineApi({ name: 'second', auth: b, sources: { rows } })({ baseUrl: second.url }));
    await client.own.get('/rows');
    expect(first.arrived).toEqual([]);
    expect(second.arrived[0]?.headers.authorization).toBe('Bearer token-of-second-api');
    target = stranger.url;
    await expect(client.own.get('/rows')).rejects.toThrow(/must not go to http:.*Check its links/);
    expect(stranger.arrived).toEqual([]);
  });

  test('has its credentials only below its base URL, though another one has the same origin', async () => {
    const server = await recordingServer(() => ({ body: { items: [] } }));
    let to = '/v1';
    const link: Link = (next) => (request) => next({ ...request, baseUrl: server.url + to });
    const client = open({ links: [link] })
      .use(own(a)({ baseUrl: `${server.url}/v1` }))
      .use(defineApi({ name: 'second', auth: b, sources: { rows } })({ baseUrl: `${server.url}/v2` }));
    await client.own.get('/rows');
    for (to of ['/v2', '/v1/../v2', '/v1/%2e%2e/v2']) await client.own.get('/rows');
    const sent = server.arrived.map(({ url, headers }) => [url, headers.authorization?.slice(16)]);
    expect(sent).toEqual([['/v1/rows', 'first-api'], ...Array.from({ length: 3 }, () => ['/v2/rows', 'second-api'])]);
    to = '/v1/../v3';
    await expect(client.own.get('/rows')).rejects.toThrow('must not go to');
  });

  test('is told from one of another API with the same base URL, unless a link has made it up', async () => {
    const server = await recordingServer(() => ({ body: { items: [] } }));
    let forget = false;
    const link: Link = (next) => (request) => {
      const { route, baseUrl, path, query } = request;
      return next(forget ? { route, baseUrl, path, query } : { ...request });
    };
    const client = open({ links: [link] })
      .use(own(a)({ baseUrl: server.url }))
      .use(defineApi({ name: 'second', auth: b, sources: { rows } })({ baseUrl: server.url }));
    await client.own.get('/rows');
    await client.second.get('/rows');
    expect(server.arrived.map(({ headers }) => headers.authorization)).toEqual([
      'Bearer token-of-first-api',
      'Bearer token-of-second-api',
    ]);
    forget = true;
    await expect(client.own.get('/rows')).rejects.toThrow(/could have the credentials of several APIs/);
  });
});

describe("A1 the client's key", () => {
  const warningsOf = (client: Client): string[] => {
    const warnings: string[] = [];
    client.events.subscribe((event) => {
      if (event.type === 'warning') warnings.push(event.message);
    });
    return warnings;
  };
  const api = <const Name extends string>(name: Name, auth?: Auth) =>
    defineApi({ name, sources: { rows }, ...(auth && { auth }) });
  const answer = () => ({ body: { items: [] } });

  test('goes to APIs at two addresses with one warning for each that does not say `sharedKey`', async () => {
    const one = await recordingServer(answer);
    const two = await recordingServer(answer);
    const client = open()
      .use(api('first', sharedKey)({ baseUrl: one.url }))
      .use(api('second')({ baseUrl: two.url }))
      .use(api('third')({ baseUrl: `${two.url}/below` }));
    const warnings = warningsOf(client);
    await client.first.rows().toArray();
    expect(warnings).toEqual([]);
    for (const source of [client.second.rows(), client.third.rows(), client.second.rows()]) await source.toArray();
    const text = (name: string) =>
      `${name} has no \`auth\`, so it gets the client's key, which ${one.url} gets, too. Give it its own \`auth\`, or noAuth; sharedKey if the key is for both.`;
    expect(warnings).toEqual([text('second'), text('third')]);
    for (const { headers } of [...one.arrived, ...two.arrived]) expect(headers['x-api-key']).toBe(clientKey);
  });

  test.each<[string, Auth | undefined, Auth | undefined, string | false]>([
    ['all say that they share it', sharedKey, sharedKey, clientKey],
    ['the other API has credentials of its own', undefined, bearer('token-of-another'), clientKey],
    ['there is none', undefined, undefined, false],
  ])('goes without a warning where %s', async (_, auth, otherAuth, apiKey) => {
    const one = await recordingServer(answer);
    const two = await recordingServer(answer);
    const client = open({ apiKey })
      .use(api('first', auth)({ baseUrl: one.url }))
      .use(api('second', otherAuth)({ baseUrl: two.url }));
    const warnings = warningsOf(client);
    for (const source of [client.first.rows(), client.second.rows()]) await source.toArray();
    expect(warnings).toEqual([]);
    expect(one.arrived[0]?.headers['x-api-key']).toBe(apiKey === false ? undefined : apiKey);
  });

  test('goes to APIs at one address without a warning', async () => {
    const one = await recordingServer(answer);
    const client = open()
      .use(api('first')({ baseUrl: `${one.url}/a` }))
      .use(api('second')({ baseUrl: `${one.url}/b` }));
    const warnings = warningsOf(client);
    for (const source of [client.first.rows(), client.second.rows()]) await source.toArray();
    expect(warnings).toEqual([]);
  });
});

describe('A1 a credential', () => {
  test('from a variable that is not set is an error of the first request, and names the variable', async () => {
    const server = await recordingServer(() => ({ body: { items: [] } }));
    const client = open({ variables: { OWN_TOKEN: '  ' } }).use(
      own(bearer({ env: 'OWN_TOKEN' }))({ baseUrl: server.url }),
    );
    await expect(client.own.rows().toArray()).rejects.toThrow(
      'own needs its credential: set the environment variable OWN_TOKEN.',
    );
    expect(server.arrived).toEqual([]);
  });

  test('from a variable is trimmed and sent', async () => {
    const server = await recordingServer(() => ({ body: { items: [] } }));
    const client = open({ variables: { OWN_TOKEN: 'tok-12345\n' } }).use(
      own(header('Authorization', { env: 'OWN_TOKEN' }, { prefix: 'token ' }))({ baseUrl: server.url }),
    );
    await client.own.get('/x');
    expect(server.arrived[0]?.headers.authorization).toBe('token tok-12345');
  });

  test.each([
    ['short', 'The credential of own is too short to be kept out of messages and files. Is it complete?'],
    ['sixchr'],
  ])('of fewer than 6 characters is sent with a warning: %j', async (token, ...expected) => {
    const server = await recordingServer(() => ({ body: { items: [] } }));
    const client = open();
    const warnings: string[] = [];
    client.events.subscribe((event) => event.type === 'warning' && warnings.push(event.message));
    await client.use(own(bearer(token))({ baseUrl: server.url })).own.get('/x');
    expect(warnings).toEqual(expected);
  });

  test.each(['', ' padded-token', 'two\nlines-of-it', 'ümlaut-token'])(
    'that cannot be sent is refused: %j',
    (token) => {
      expect(() => open().use(own(bearer(token))({ baseUrl: 'https://api.example.com' }))).toThrow(ConfigError);
    },
  );

  test('from a function is fetched again after a 401, once', async () => {
    const server = await recordingServer(({ headers }) =>
      headers.authorization === 'Bearer token-refused' ? { body: {} } : { status: 401, body: {} },
    );
    const asked: string[] = [];
    const client = open().use(
      own(
        bearer((reason) => {
          asked.push(reason);
          return `token-${reason}`;
        }),
      )({ baseUrl: server.url }),
    );
    await Promise.all([client.own.get('/a'), client.own.get('/b')]);
    expect(asked).toEqual(['first', 'refused']);
  });

  test('from a function with an id may be another one each time: the id resumes an export', async () => {
    const server = await recordingServer(echoing);
    const state = memoryState();
    const sink = recordingSink<{ id: number }>();
    let fetched = 0;
    const get = (): string => `short-lived-token-${(fetched += 1)}`;
    const run = async (secret: Secret): Promise<unknown> => {
      const client = open().use(own(bearer(secret))({ baseUrl: server.url }));
      return caught(exportTo(client.own.rows(), sink, { state, commitEvery: 1 }).run());
    };
    expect(await run({ id: 'account-17', get })).toMatchObject({ code: 'http', status: 500 });
    expect(await run({ id: 'account-18', get })).toMatchObject({ code: 'checkpoint' });
    expect(await run(get)).toMatchObject({ code: 'checkpoint' });
    const requests = server.arrived.length;
    expect(await run({ id: 'account-17', get })).toMatchObject({ code: 'http', status: 500 });
    expect(server.arrived.length).toBe(requests + 1);
    expect(new Set(server.arrived.map(({ headers }) => headers.authorization)).size).toBeGreaterThan(1);
    expect(JSON.stringify(await state.load('checkpoint'))).not.toMatch(/short-lived|account-17/);
  });

  test('from a function with an id is redacted, fetched again after a 401, and refused if the id is empty', async () => {
    const server = await recordingServer(({ headers, raw }) => ({ status: 401, body: { you: headers, raw } }));
    const client = open().use(
      own(bearer({ id: 'account-17', get: (reason) => `token-that-was-${reason}` }))({ baseUrl: server.url }),
    );
    const error = await caught(client.own.get('/x'));
    expect(inspect(error)).not.toMatch(/token-that-was/);
    expect(server.arrived.map(({ headers }) => headers.authorization)).toEqual([
      'Bearer token-that-was-first',
      'Bearer token-that-was-refused',
    ]);
    expect(() => open().use(own(bearer({ id: '', get: () => 'x' }))({ baseUrl: server.url }))).toThrow('an empty id');
  });

  test('that is wrong is an error that names it, not the client’s key', async () => {
    const server = await recordingServer(() => ({ status: 401, body: {} }));
    const client = open().use(own(bearer('token-1234'))({ baseUrl: server.url }));
    await expect(client.own.get('/x')).rejects.toThrow('Check the credential of own and what it may read.');
    const none = open().use(own(noAuth)({ baseUrl: server.url }));
    await expect(none.own.get('/x')).rejects.toThrow('No credential of own was sent.');
    expect(server.arrived.at(-1)?.raw).not.toContain(clientKey);
  });
});

describe('A2 limiters', () => {
  test('are one for all APIs without their own, and one for each other API', async () => {
    const { limiters } = open({ rateLimit: { requests: 9, per: 1_000 } })
      .use(other({ baseUrl: 'https://a.example.com' }))
      .use(own(bearer('token-1234'))({ baseUrl: 'https://b.example.com' }));
    expect([...limiters.keys()]).toEqual(['other', 'own']);
    const server = await recordingServer((_, nth) =>
      nth === 1 ? { status: 429, headers: { 'retry-after': '3600' }, body: {} } : { body: {} },
    );
    const client = open()
      .use(own(bearer('token-1234'))({ baseUrl: server.url }))
      .use(other({ baseUrl: server.url }));
    await expect(client.own.get('/x')).rejects.toMatchObject({ code: 'rate-limited' });
    expect(client.limiters.get('own')?.pausedFor).toBeGreaterThan(0);
    expect(client.limiters.get('other')?.pausedFor).toBe(0);
    expect(client.limiter.pausedFor).toBe(0);
    await client.other.get('/x');
  });

  test('are shared if one is given to two APIs', async () => {
    const shared = unlimited(systemClock);
    const server = await recordingServer(() => ({ body: {} }));
    const client = open()
      .use(own(bearer('token-1234'))({ baseUrl: server.url, limiter: shared }))
      .use(other({ baseUrl: server.url, limiter: shared }));
    shared.pause(3_600_000);
    expect([...client.limiters.values()].map(({ pausedFor }) => pausedFor > 0)).toEqual([true, true]);
    expect(client.limiter.pausedFor).toBe(0);
  });

  test('of a client and an API apply together', async () => {
    const clock = new FakeClock();
    const server = await recordingServer(() => ({ body: {} }));
    const client = open({ clock, rateLimit: { requests: 2, per: 1_000 } }).use(
      own(bearer('token-1234'))({ baseUrl: server.url, rateLimit: { requests: 3, per: 60_000 } }),
    );
    const starts: number[] = [];
    client.events.subscribe(({ type }) => type === 'attempt' && starts.push(clock.monotonic()));
    const began = clock.monotonic();
    const requests = Promise.all(Array.from({ length: 4 }, () => client.own.get('/x')));
    while (starts.length < 4) {
      await new Promise((resolve) => setImmediate(resolve));
      if (starts.length >= 2 && client.limiters.get('own')?.running === 0) await clock.advance(100);
    }
    await requests;
    const [, , third = 0, fourth = 0] = starts.map((start) => start - began);
    expect(third).toBeGreaterThanOrEqual(1_000);
    expect(fourth).toBeGreaterThanOrEqual(60_000);
  });
});
