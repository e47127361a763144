import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { byCursor, byLink, byOffset, byPage, defineApi, listing, onePage, sourcesOf } from '../../src/define/index.js';
import { apisOf, basic, bearer, bodyKey, header, noAuth, oauth2, pathKey, queryKey } from '../../src/define/index.js';
import { ConfigError, createClient } from '../../src/index.js';
import { type Auth, rateLimitHeaders, sign } from '../../src/define/index.js';
import { openListing, serve } from './servedApi.js';
import { isApiSource } from '../../src/define/apiSource.js';

const good = {
  path: '/items',
  rows: 'items',
  pageSize: { param: 'limit', default: 50, max: 100 },
  paging: byCursor({ param: 'cursor', at: 'next?' }),
  columns: ['id', 'name'] as const,
};

describe('before anything is asked, a definition is refused', () => {
  test.each<[string, object, RegExp]>([
    ['without a leading slash', { path: 'items' }, /at path: "items" must begin with a slash/],
    ['with a query in its path', { path: '/items?a=b' }, /at path/],
    ['with a fragment in its path', { path: '/items#a' }, /at path/],
    [
      'with larger pages than the API takes',
      { pageSize: { param: 'limit', default: 101, max: 100 } },
      /pageSize\.default is 101: it must be a whole number from 1 to 100/,
    ],
    ['with pages of no row', { pageSize: { param: 'limit', default: 0 } }, /pageSize\.default is 0/],
    [
      'with a largest page of half a row',
      { pageSize: { param: 'limit', default: 1, max: 1.5 } },
      /pageSize\.(default|max)/,
    ],
    [
      'that sends one parameter as two things',
      { pageSize: { param: 'cursor', default: 1 } },
      /at query: the parameter "cursor" is set twice/,
    ],
    ['that sets a parameter of its own twice', { query: { limit: 7 } }, /at query: the parameter "limit" is set twice/],
    ['with a parameter without a name', { pageSize: { param: '', default: 1 } }, /at query: a parameter has no name/],
    ['without columns', { columns: [] }, /at columns: there are none/],
    ['with a column twice', { columns: ['id', 'id'] }, /at columns: "id" is there twice/],
    ['with a path that is none', { rows: 'data..items' }, /"data\.\.items" is not a path in a document/],
    ['with a total that is none', { total: 'a[b]' }, /"a\[b\]" is not a path in a document/],
    ['with a schema without a version', { schema: z.object({}) }, /at version: give one/],
    ['with a decode without a version', { decode: () => ({}) }, /at version: give one/],
    ['with an empty version', { schema: z.object({}), version: '' }, /at version: give one/],
    [
      'with a schema and a decode',
      { schema: z.object({}), decode: () => ({}), version: '1' },
      /at schema: it excludes decode/,
    ],
    [
      'with a schema that is none',
      { schema: { parse: () => 1 }, version: '1' },
      /at schema: it is not a Standard Schema/,
    ],
    ['with parameters that nothing is made of', { params: z.object({}) }, /at params: they are not used/],
    ['with params that are none', { params: {}, query: () => ({}) }, /at params: it is not a Standard Schema/],
  ])('%s', (_what, wrong, message) => {
    const define = (): unknown => listing({ ...good, ...wrong });
    expect(define).toThrow(message);
    expect(define).toThrow(expect.objectContaining({ code: 'config' }));
  });

  test.each([
    () => byCursor({ param: 'c', at: 'a..b' }),
    () => byCursor({ param: 'c', at: 'a', more: '?' }),
    () => byPage({ param: 'p', first: -1 }),
    () => byPage({ param: 'p', pages: '[' }),
    () => byLink({ at: '.' }),
  ])('where its paging makes no sense', (define) => {
    expect(define).toThrow(expect.objectContaining({ code: 'config' }));
  });

  test.each(['', 'a.b', 'then', '__proto__', 'constructor', '1a', 'a b', 'x'.repeat(65)])(
    'with %j as a name',
    (name) => {
      expect(() => defineApi({ name, sources: { items: listing(good) } })).toThrow(/can't be the name of an API/);
      const sources = Object.fromEntries([[name, listing(good)]]);
      expect(() => defineApi({ name: 'test', sources })).toThrow(/can't be the name of a source/);
    },
  );

  test('without sources', () => {
    expect(() => defineApi({ name: 'test', sources: {} })).toThrow(/has no sources/);
  });
});

describe('an API on a client', () => {
  const coins = defineApi({
    name: 'coins',
    sources: {
      markets: listing({ ...good, description: 'All of them.', key: ({ id }) => String(id) }),
      'of-day': listing({
        ...good,
        pageSize: { param: 'n', default: 5 },
        query: ({ day }: { day: string }) => ({ day }),
      }),
      fixed: listing({ path: '/fixed', rows: '', paging: byOffset({ param: 'o' }), columns: ['id'] }),
    },
  });

  test.each([
    [undefined, /The API "coins" needs its base URL, coins\(\{ baseUrl: 'https:.*\}\), and it is missing/],
    [{}, /and it is missing/],
    [{ baseUrl: undefined }, /and it is missing/],
    [{ baseUrl: '' }, /and it is empty/],
    [{ baseUrl: 7 }, /and it is a number/],
  ])('says that its address is missing, given %j', (options, message) => {
    expect(() => coins(options as { baseUrl: string })).toThrow(ConfigError);
    expect(() => coins(options as { baseUrl: string })).toThrow(message);
  });

  test('lists its sources, and each describes itself', async () => {
    await using client = createClient({ apiKey: 'key-of-ours' }).use(coins({ baseUrl: 'https://api.example.com' }));
    const sources = sourcesOf(client);
    expect([...sources.keys()]).toEqual(['coins.markets', 'coins.of-day', 'coins.fixed']);
    expect([...sources.values()].map((source) => source.describe())).toEqual([
      {
        name: 'coins.markets',
        description: 'All of them.',
        params: [],
        columns: ['id', 'name'],
        hasKey: true,
        pageSize: { default: 50, max: 100 },
        paging: 'cursor',
        isIncremental: false,
      },
      {
        name: 'coins.of-day',
        columns: ['id', 'name'],
        hasKey: false,
        pageSize: { default: 5 },
        paging: 'cursor',
        isIncremental: false,
      },
      {
        name: 'coins.fixed',
        params: [],
        columns: ['id'],
        hasKey: false,
        paging: 'offset',
        isIncremental: false,
      },
    ]);
    expect(isApiSource(client.coins.fixed)).toBe(true);
    for (const other of [() => 1, client, client.coins, client.use, undefined, null, 'x'])
      expect(isApiSource(other)).toBe(false);
  });

  test('A9 is described by where its secrets come from, and never by a secret', async () => {
    const canary = 'canary-31d9';
    const own = { requests: 80, per: 60_000 };
    const sources = { all: listing({ path: '/fixed', rows: '', paging: byOffset({ param: 'o' }), columns: ['id'] }) };
    const token = { tokenUrl: 'https://auth.example.com/token', clientId: canary };
    const auths: Readonly<Record<string, Auth | undefined>> = {
      shared: undefined,
      open: noAuth,
      github: bearer({ env: 'TOKEN' }),
      code: bearer(canary),
      shop: header('X-Shop', () => canary),
      weather: queryKey('key', { env: 'KEY' }),
      mail: basic({ user: canary, password: canary }),
      store: basic({ user: { env: 'STORE_KEY' }, password: canary }),
      dogs: [header('DD-API-KEY', { env: 'API' }), header('DD-APP-KEY', { env: 'APP' })],
      bots: pathKey('/bot{token}', { env: 'BOT' }),
      mails: bodyKey('key', { env: 'MAIL' }),
      coins: [header('X-MBX-APIKEY', canary), sign({ env: 'SIGN' }, () => ({}))],
      music: oauth2({ ...token, clientSecret: { env: 'SECRET' }, refreshToken: { env: 'REFRESH' } }),
    };
    await using client = createClient({ apiKey: canary });
    for (const [name, auth] of Object.entries(auths))
      client.use(
        defineApi({ name, sources })({
          baseUrl: `https://${name}.example.com/v1/`,
          ...(auth && { auth }),
          ...(name === 'github' && { rateLimit: own, quota: rateLimitHeaders() }),
        }),
      );
    const described = Array.from(apisOf(client).values(), (api) => api.describe());
    expect(JSON.stringify(described)).not.toContain(canary);
    expect(described.map(({ auth }) => auth)).toEqual([
      [{ kind: 'client-key', name: 'X-API-Key', variables: [] }],
      [],
      [{ kind: 'bearer', name: 'Authorization', variables: ['TOKEN'] }],
      [{ kind: 'bearer', name: 'Authorization', variables: [] }],
      [{ kind: 'header', name: 'X-Shop', variables: [] }],
      [{ kind: 'query', name: 'key', variables: ['KEY'] }],
      [{ kind: 'basic', variables: [] }],
      [{ kind: 'basic', variables: ['STORE_KEY'] }],
      [
        { kind: 'header', name: 'DD-API-KEY', variables: ['API'] },
        { kind: 'header', name: 'DD-APP-KEY', variables: ['APP'] },
      ],
      [{ kind: 'path', name: '/bot{token}', variables: ['BOT'] }],
      [{ kind: 'body', name: 'key', variables: ['MAIL'] }],
      [
        { kind: 'header', name: 'X-MBX-APIKEY', variables: [] },
        { kind: 'sign', variables: ['SIGN'] },
      ],
      [{ kind: 'oauth2', tokenUrl: 'https://auth.example.com/token', variables: ['SECRET', 'REFRESH'] }],
    ]);
    expect(described[2]).toMatchObject({
      name: 'github',
      baseUrl: 'https://github.example.com/v1',
      limits: [own],
      quota: { concurrency: 8, maxQuotaWait: 3_900_000 },
    });
    expect(described[0]).toMatchObject({ limits: [] });
    expect(apisOf(client).get('open')?.isSecret(`a ${canary} b`)).toBe(true);
  });

  test('is the same twice, on two clients with two addresses', async () => {
    const clients = ['https://a.example', 'https://b.example'].map((baseUrl) =>
      createClient({ apiKey: 'key-of-ours' }).use(coins({ baseUrl })),
    );
    const identities = clients.map((client) => client.coins.fixed().info.identity);
    expect(identities).toMatchObject([{ baseUrl: 'https://a.example' }, { baseUrl: 'https://b.example' }]);
    await Promise.all(clients.map((client) => client.close()));
  });

  test('can not have its sources changed', async () => {
    await using client = createClient({ apiKey: 'key-of-ours' }).use(coins({ baseUrl: 'https://api.example.com' }));
    expect(Object.isFrozen(client.coins)).toBe(true);
    expect(Object.isFrozen(client.coins.markets)).toBe(true);
  });
});

describe('before any request, a source is refused', () => {
  test.each<[string, object, RegExp]>([
    [
      'with larger pages than the API takes',
      { pageSize: 101 },
      /pageSize is 101: it must be a whole number from 1 to 100/,
    ],
    ['with pages of no row', { pageSize: 0 }, /pageSize is 0/],
    ['with text for a number', { pageSize: '10' }, /pageSize is 10/],
    ['with no rows', { maxRows: 0 }, /maxRows is 0/],
    ['with half a page', { maxPages: 0.5 }, /maxPages is 0.5/],
  ])('%s', async (_what, bounds, message) => {
    const server = await serve(() => ({ body: { items: [] } }));
    const items = openListing(listing(good), server);
    expect(() => items(bounds)).toThrow(message);
    expect(() => items.watch(bounds, { every: 10, key: () => '' })).toThrow(/./);
    expect(server.asked).toEqual([]);
  });

  test('with a size of pages where the API decides', async () => {
    const { path, rows, paging, columns } = good;
    const items = openListing(listing({ path, rows, paging, columns }), { baseUrl: 'https://api.example.com' });
    expect(() => items({ pageSize: 10 })).toThrow(/pageSize can't be set for test\.items/);
  });

  test('watched with maxRows, or without a key', () => {
    const items = openListing(listing(good), { baseUrl: 'https://api.example.com' });
    expect(() => items.watch({ maxRows: 5 } as never, { every: 10 })).toThrow(/takes no maxRows/);
    expect(() => items.watch({}, { every: 10 })).toThrow(/The rows of test\.items have no key/);
  });

  test('without a part', () => {
    const items = listing({
      ...good,
      query: { id: '{id}' },
      partitions: ({ ids }: { ids: string[] }) => ids.map((id) => ({ id })),
    });
    const open = openListing(items, { baseUrl: 'https://api.example.com' });
    expect(() => open({ ids: [] })).toThrow(/test\.items has nothing to request/);
    expect(open({ ids: ['a', 'b'] }).info.partitions).toBe(2);
  });

  test('R6 with values of partitions whose name is a parameter', () => {
    const query = ({ a, b }: { a: number; b?: number }): { a: number; b: number | undefined } => ({ a, b });
    const items = listing({ ...good, query, partitions: () => [{ a: 2 }, { a: 3 }] });
    expect(() => openListing(items, { baseUrl: 'https://api.example.com' })({ a: 1 } as never)).toThrow(
      /has the parameter "a" twice: it is given, and its partitions have it/,
    );
  });
});

test('concurrency in a listing is refused, and the error says where it goes', () => {
  const definition = { path: '/items', paging: onePage(), rows: '', columns: ['id'], concurrency: 4 };
  expect(() => listing(definition)).toThrow(
    /at concurrency: .* give it to exportTo\(\) or pages\(\), or as --concurrency/,
  );
});
