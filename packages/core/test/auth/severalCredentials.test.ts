import { describe, expect, test } from 'vitest';
import { exportTo, memoryState } from '../../src/index.js';
import {
  type Auth,
  basic,
  bearer,
  bodyKey,
  byCursor,
  byLink,
  type Credential,
  defineApi,
  header,
  listing,
  noAuth,
  pathKey,
  queryKey,
  sharedKey,
} from '../../src/define/index.js';
import { recordingSink } from '../rows/sink/recordingSink.js';
import { caught, clientsWith } from '../http/openClient.js';
import { recordingServer } from '../http/recordingServer.js';

const api = 'dd-api-key-0011';
const app = 'dd-app-key-9922';
const datadog: Auth = [header('DD-API-KEY', { env: 'DD_API' }), header('DD-APP-KEY', { env: 'DD_APP' })];
const variables = { DD_API: api, DD_APP: app };

const rows = listing({ path: '/rows', rows: 'items', paging: byLink(), columns: ['id'] });
const posted = listing({
  path: '/rows',
  method: 'POST',
  body: { kind: 'all' },
  rows: 'items',
  paging: byCursor({ into: 'after', at: 'after?' }),
  columns: ['id'],
});
const own = (auth: Auth) => defineApi({ name: 'own', auth, sources: { rows, posted } });
const address = { baseUrl: 'https://api.example.com' };

const open = clientsWith(variables);

describe('R8 several credentials', () => {
  test('are all sent with each request', async () => {
    const server = await recordingServer(() => ({ body: { items: [] } }));
    const client = open().use(own([...datadog, queryKey('site', 'eu-site-41')])({ baseUrl: server.url }));
    await client.own.rows().toArray();
    await client.own.get('/rows', { query: { a: '1', site: 'x' } });
    expect(server.arrived.map(({ url }) => url)).toEqual(['/rows?site=eu-site-41', '/rows?a=1&site=eu-site-41']);
    for (const { headers } of server.arrived) expect(headers).toMatchObject({ 'dd-api-key': api, 'dd-app-key': app });
  });

  test('are redacted, the last one like the first, in errors and events', async () => {
    const server = await recordingServer(({ headers }) => ({ status: 403, body: { refused: headers['dd-app-key'] } }));
    const client = open().use(own(datadog)({ baseUrl: server.url }));
    const seen: unknown[] = [];
    client.events.subscribe((event) => seen.push(event));
    const error = await caught(client.own.get('/rows'));
    expect(error).toMatchObject({ message: expect.stringContaining('{"refused":"[hidden]"}') });
    expect(JSON.stringify(seen)).toContain('[hidden]');
    expect(JSON.stringify(seen)).not.toContain(app);
  });

  test('refuse a cursor with any of them', async () => {
    const server = await recordingServer(() => ({ body: { items: [{ id: 1 }], after: `next-${app}` } }));
    const client = open().use(own(datadog)({ baseUrl: server.url }));
    await expect(client.own.posted().toArray()).rejects.toMatchObject({ code: 'secret-in-cursor' });
  });

  test('have one fingerprint, which depends on each of them and on their order', async () => {
    const failing = await recordingServer(({ url }) =>
      url === '/rows'
        ? { body: { items: [{ id: 1 }] }, headers: { link: '</rows?page=2>; rel="next"' } }
        : { status: 500, body: {} },
    );
    const first: Credential = header('A', { env: 'DD_API' });
    const second: Credential = header('B', { env: 'DD_APP' });
    const sink = recordingSink();
    const run = (auth: Auth, state = memoryState(), given = variables): Promise<unknown> =>
      caught(
        exportTo(
          open({ variables: given })
            .use(own(auth)({ baseUrl: failing.url }))
            .own.rows(),
          sink,
          { state, commitEvery: 1 },
        ).run(),
      );
    const begun = async () => {
      const state = memoryState();
      await run([first, second], state);
      return state;
    };
    const refused = { code: 'checkpoint' };
    expect(await run([second, first], await begun())).toMatchObject(refused);
    expect(await run([first], await begun())).toMatchObject(refused);
    expect(await run([first, second], await begun(), { DD_API: api, DD_APP: 'dd-app-of-another' })).toMatchObject(
      refused,
    );
    expect(await run([first, second], await begun())).toMatchObject({ code: 'http' });
  });

  test('of which several have no value are one error, which names all variables', async () => {
    const server = await recordingServer(() => ({ body: { items: [] } }));
    const refused = (given: Readonly<Record<string, string>>) =>
      open({ variables: given })
        .use(own(datadog)({ baseUrl: server.url }))
        .own.get('/rows');
    await expect(refused({})).rejects.toThrow(
      'own needs its credentials: set the environment variables DD_API and DD_APP.',
    );
    await expect(refused({ DD_API: api })).rejects.toThrow(
      'own needs its credential: set the environment variable DD_APP.',
    );
    expect(server.arrived).toEqual([]);
  });

  test('are renewed together, since a 401 does not say which is refused', async () => {
    let version = 1;
    const server = await recordingServer(({ headers }) =>
      headers['x-b'] === 'second-key-2' ? { body: { items: [] } } : { status: 401, body: {} },
    );
    const get = (): string => `second-key-${String(version++)}`;
    const client = open().use(
      own([header('X-A', 'first-key-1'), header('X-B', { id: 'b', get })])(
        server.url ? { baseUrl: server.url } : address,
      ),
    );
    await client.own.get('/rows');
    expect(server.arrived.map(({ headers }) => headers['x-b'])).toEqual(['second-key-1', 'second-key-2']);
  });

  test.each<[string, readonly unknown[], string]>([
    [
      'two in one header',
      [bearer('token-one'), basic({ user: 'a', password: 'token-two' })],
      'the header authorization',
    ],
    ['two in one parameter', [queryKey('key', 'token-one'), queryKey('key', 'token-two')], 'the query parameter "key"'],
    ['none', [], 'is an empty list'],
    ['noAuth among them', [bearer('token-one'), noAuth], 'at [1]'],
    ['sharedKey among them', [sharedKey, bearer('token-one')], 'at [0]'],
    ['something else', ['token-one'], 'at [0]'],
  ])('can not be %s', (_, auth, fault) => {
    // The compiler refuses some of them.
    const given = auth as unknown as Auth;
    expect(() => open().use(own(given)(address))).toThrow(fault);
  });

  test('are checked by the compiler', () => {
    const auth: Auth = datadog;
    // @ts-expect-error: noAuth stands alone.
    const alone: Auth = [noAuth];
    // @ts-expect-error: an empty list would be noAuth.
    const none: Auth = [];
    expect([auth, alone, none]).toHaveLength(3);
  });
});

describe('R8 pathKey', () => {
  const token = '8812:AAF-x_y';
  const bot = pathKey('/bot{token}', token);

  test('sends the secret before the path, and removes it from the next address, however that is written', async () => {
    const next = ['/bot8812:AAF-x_y/rows?page=1', '/bot8812%3AAAF-x%5Fy/rows?page=2', 'rows?page=3', '?page=4'];
    const server = await recordingServer((_, nth) => ({
      body: { items: [{ id: nth }] },
      headers: nth <= next.length ? { link: `<${next[nth - 1] ?? ''}>; rel="next"` } : {},
    }));
    const state = memoryState();
    const client = open().use(own(bot)({ baseUrl: server.url }));
    await exportTo(client.own.rows(), recordingSink(), { state, commitEvery: 1 }).run();
    expect(server.arrived.map(({ url }) => url)).toEqual(
      ['', '?page=1', '?page=2', '?page=3', '?page=4'].map((query) => `/bot${token}/rows${query}`),
    );
  });

  test('sends what a path can not have percent-encoded, below the path of the base URL', async () => {
    const server = await recordingServer(() => ({ body: {} }));
    const client = open().use(own(pathKey('/v3/{key}/x', 'a/b?c#d%e..'))({ baseUrl: `${server.url}/base/` }));
    await client.own.get('/rows', { query: { a: '1' } });
    expect(server.arrived[0]?.url).toBe('/base/v3/a%2Fb%3Fc%23d%25e../x/rows?a=1');
  });

  test.each(['bot{token}', '/bot', '/{a}/{b}', '/{a}?b=1', '//{a}', '/../{a}', ''])('refuses the path %j', (path) => {
    expect(() => pathKey(path, token)).toThrow('one name in braces');
  });

  test.each(['..', '.', 'a b'])('refuses the secret %j', (secret) => {
    expect(() => open().use(own(pathKey('/{key}', secret))(address))).toThrow('special character');
  });
});

describe('R8 bodyKey', () => {
  test('adds a field to the body, whose bytes stay', async () => {
    const server = await recordingServer((_, nth) => ({
      body: { items: [{ id: nth }], ...(nth === 1 && { after: 'p2' }) },
    }));
    const client = open().use(
      own([bodyKey('key', 'md-"key"-77'), bodyKey('app', 'ap-key-88')])({ baseUrl: server.url }),
    );
    await client.own.posted().toArray();
    expect(server.arrived.map(({ body }) => body)).toEqual([
      '{"key":"md-\\"key\\"-77","app":"ap-key-88","kind":"all"}',
      '{"key":"md-\\"key\\"-77","app":"ap-key-88","kind":"all","after":"p2"}',
    ]);
  });

  test('gives a request without a body one', async () => {
    const server = await recordingServer(() => ({ body: { items: [] } }));
    const bare = listing({ path: '/rows', method: 'POST', rows: 'items', paging: byLink(), columns: ['id'] });
    const client = open().use(
      defineApi({ name: 'own', auth: bodyKey('key', 'md-key-77'), sources: { bare } })({ baseUrl: server.url }),
    );
    await client.own.bare().toArray();
    expect(server.arrived[0]).toMatchObject({
      body: '{"key":"md-key-77"}',
      headers: { 'content-type': 'application/json' },
    });
  });

  test('is redacted where the server repeats the body', async () => {
    const server = await recordingServer(({ body }) => ({ status: 400, body: { got: body } }));
    const client = open().use(own(bodyKey('key', 'md-"key"-77'))({ baseUrl: server.url }));
    const error = await caught(client.own.posted().toArray());
    expect(error).toMatchObject({ message: expect.stringContaining('[hidden]') });
    expect(String(error)).not.toContain('key\\"-77');
  });

  test('refuses a request that can not have it, and sends nothing', async () => {
    const server = await recordingServer(() => ({ body: {} }));
    const client = open().use(own(bodyKey('kind', 'md-key-77'))({ baseUrl: server.url }));
    await expect(client.own.get('/rows')).rejects.toThrow('a GET request has no body');
    await expect(client.own.posted().toArray()).rejects.toThrow('it has "kind" already');
    expect(server.arrived).toEqual([]);
  });
});
