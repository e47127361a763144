import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { onTestEnd } from '../../../../scripts/testScope.js';
import { createClient } from '../../src/index.js';
import { byLink, defineApi, type Listing, listing, noAuth, rowOf } from '../../src/define/index.js';
import { openListing, serve } from './servedApi.js';

const common = { paging: byLink(), rows: 'items', columns: ['id'] } as const;
const empty = { body: { items: [] } };

describe('R5 a path is a template', () => {
  const simple = listing({ ...common, path: '/repos/{owner}/{repo}/issues' });
  const slashes = listing({ ...common, path: '/repos/{+repo}/issues' });

  test.each<[string | number, string]>([
    ['a', 'a'],
    [7, '7'],
    ['a/b c', 'a%2Fb%20c'],
    ["Az09-._~ !'()*;:@&=+$,", 'Az09-._~%20%21%27%28%29%2A%3B%3A%40%26%3D%2B%24%2C'],
    ['https://example.com/?a#b', 'https%3A%2F%2Fexample.com%2F%3Fa%23b'],
    ['50%', '50%25'],
    ['grüße', 'gr%C3%BC%C3%9Fe'],
    ['...', '...'],
    ['9007199254740993', '9007199254740993'],
    ['null', 'null'],
    ['{repo}', '%7Brepo%7D'],
  ])('{x} encodes all of %j but unreserved characters', async (repo, sent) => {
    const server = await serve(() => empty);
    await openListing(simple, server)({ owner: 'o', repo }).toArray();
    expect(server.asked).toEqual([`/repos/o/${sent}/issues`]);
  });

  test('{+x} keeps slashes', async () => {
    const server = await serve(() => empty);
    await openListing(slashes, server)({ repo: 'acme/a b%2F' }).toArray();
    expect(server.asked).toEqual(['/repos/acme/a%20b%252F/issues']);
  });

  test.each(['.', '..', 'a/../b', '../../admin', 'a\\..\\b', '%2e%2e', '..;x', '\ud800', ''])(
    '{x} refuses %j by the name of the parameter, without its value',
    (repo) => {
      const open = openListing(simple, { baseUrl: 'http://127.0.0.1:1' });
      const refusal: unknown = expect.objectContaining({ code: 'config', details: { param: 'repo' } });
      expect(() => open({ owner: 'o', repo })).toThrow(refusal);
      expect(() => open({ owner: 'o', repo })).toThrow(/"repo"[^%;\\]*$/);
    },
  );

  test.each(['.', '..', 'a/..', './a', 'a//b', '/a', 'a/', 'a?b', 'a#b', 'https://evil.example', '//evil.example', ''])(
    '{+x} refuses %j by the name of the parameter',
    (repo) => {
      const open = openListing(slashes, { baseUrl: 'http://127.0.0.1:1' });
      expect(() => open({ repo })).toThrow(expect.objectContaining({ code: 'config', details: { param: 'repo' } }));
    },
  );

  test('a value that leads elsewhere is refused in words', () => {
    const open = openListing(simple, { baseUrl: 'http://127.0.0.1:1' });
    expect(() => open({ owner: 'o', repo: '..' })).toThrow(
      'the parameter "repo" into its path: it has "." or ".." as a part, which would lead to another address.',
    );
  });

  test.each([undefined, null, NaN, {}, ['a'], true])('a value that is %j is refused by the name', (repo) => {
    const open = openListing(simple, { baseUrl: 'http://127.0.0.1:1' });
    expect(() => open({ owner: 'o', repo: repo as never })).toThrow(/"repo"/);
  });

  test('values that lead elsewhere together are refused', () => {
    const dots = listing({ ...common, path: '/a/.{x}' });
    const open = openListing(dots, { baseUrl: 'http://127.0.0.1:1' });
    expect(() => open({ x: ';.' })).toThrow(expect.objectContaining({ code: 'config' }));
  });

  test.each(['users', '/a?b={c}', '/a/{', '/a/{b', '/a/{b.c}', '/a/{?b}', '/a/{b*}', '/a/{}', '/a}', '/a#b'])(
    '%s is none',
    (path) => {
      expect(() => listing({ ...common, path })).toThrow(/must begin with a slash and have no query/);
    },
  );

  test('A8 a missing parameter is refused when the source is made, before any request', () => {
    const open = openListing(listing({ ...common, path: '/orders/{order}/items' }), { baseUrl: 'http://127.0.0.1:1' });
    expect(() => Reflect.apply(open, undefined, [{}])).toThrow(
      'test.items needs the parameter "order": its path is made of it.',
    );
  });
});

describe('R5 a value that is only a name in braces', () => {
  const params = z.object({
    org: z.string(),
    state: z.string().optional(),
    ids: z.array(z.string()).optional(),
    n: z.coerce.number().optional(),
  });

  test('is the parameter, of its own kind, and left out if that is optional and missing', async () => {
    const server = await serve(() => empty);
    const items = listing({
      ...common,
      params,
      method: 'POST',
      path: '/{org}',
      query: { state: '{state}', ids: '{ids}', fields: 'posts{message}' },
      headers: { 'x-org': '{org}', 'x-n': '{n}' },
      body: { query: '{ viewer { id } }', json: '{"n":1}', n: '{n}', deep: [{ state: '{state}' }] },
    });
    await openListing(items, server)({ org: 'o', n: 7 }).toArray();
    await openListing(items, server)({ org: 'o', state: 'a b', ids: ['1', '2'] }).toArray();
    expect(
      server.requests.map(({ body, headers }, nth) => [server.asked[nth], body, headers['x-org'], headers['x-n']]),
    ).toEqual([
      ['/o?fields=posts%7Bmessage%7D', { query: '{ viewer { id } }', json: '{"n":1}', n: 7, deep: [{}] }, 'o', '7'],
      [
        '/o?state=a+b&ids%5B%5D=1&ids%5B%5D=2&fields=posts%7Bmessage%7D',
        { query: '{ viewer { id } }', json: '{"n":1}', deep: [{ state: 'a b' }] },
        'o',
        undefined,
      ],
    ]);
  });

  test.each<[string, object]>([
    ['query', { query: { state: '{stat}' } }],
    ['headers', { headers: { 'x-state': '{stat}' } }],
    ['body', { method: 'POST', body: { filters: [{ state: '{stat}' }] } }],
    ['fields', { fields: { state: '{stat}' } }],
    ['path', { path: '/rows/{stat}' }],
  ])('names the nearest parameter if it is misspelt in plain JavaScript: %s', async (what, template) => {
    const loose = listing as unknown as (definition: object) => Listing<object, { state?: string }>;
    const misspelt = new RegExp(
      `^test.items needs the parameter "stat": its ${what} (is|are) made of it. Did you mean state\\?$`,
    );
    const open = (definition: object) => openListing(loose({ ...common, path: '/rows', ...definition }), server);
    const server = await serve(() => ({ body: { items: [{ id: 1 }] } }));
    const partitions = (): object[] => [{ state: 'open' }, { state: 'closed' }];
    expect(() => open({ ...template, partitions })()).toThrow(misspelt);
    const made = what === 'headers' ? { query: () => ({}) } : { headers: () => ({}) };
    expect(() => open({ ...made, ...template })({ state: 'open' })).toThrow(misspelt);

    const parents = listing({ ...common, path: '/parents', key: ({ id }) => String(id) });
    const each = rowOf({ source: 'parents', params: () => ({ id: 1, state: undefined }) });
    const items = loose({ ...common, path: '/rows', version: '1', each, ...template });
    const api = defineApi({ name: 'test', auth: noAuth, sources: { parents, items } });
    const client = createClient({ apiKey: false, rateLimit: false }).use(api({ baseUrl: server.baseUrl }));
    onTestEnd(() => client.close());
    await expect(client.test.items().toArray()).rejects.toThrow(
      what === 'path' ? /needs the parameter "stat"/ : misspelt,
    );
    expect(server.asked).toEqual(['/parents']);
  });

  test('may be one that only some parents or partitions have', async () => {
    const server = await serve(() => ({ body: { items: [{ id: 1 }, { id: 2 }] } }));
    const parents = listing<{ id: number }>({ ...common, path: '/parents', key: ({ id }) => id });
    const items = listing({
      ...common,
      each: rowOf({
        source: 'parents',
        params: ({ id }: { id: number }): { id: number; state?: string } => (id === 1 ? { id, state: 'open' } : { id }),
      }),
      version: '1',
      path: '/rows/{id}',
      query: { state: '{state}', size: '{size}' },
      partitions: (): { size?: number }[] => [{ size: 5 }, {}],
    });
    const api = defineApi({ name: 'test', auth: noAuth, sources: { parents, items } });
    const client = createClient({ apiKey: false, rateLimit: false }).use(api({ baseUrl: server.baseUrl }));
    onTestEnd(() => client.close());
    await client.test.items().toArray();
    expect(server.asked.slice(1)).toEqual([
      '/rows/1?state=open&size=5',
      '/rows/1?state=open',
      '/rows/2?size=5',
      '/rows/2',
    ]);
  });

  test('is required where there is no schema, and described', () => {
    const items = listing({ ...common, path: '/{org}', query: { state: '{state}' } });
    const open = openListing(items, { baseUrl: 'http://127.0.0.1:1' });
    expect(() => Reflect.apply(open, undefined, [{ org: 'o' }])).toThrow(
      'test.items needs the parameter "state": its query is made of it.',
    );
    expect(() => Reflect.apply(open, undefined, [{ org: 'o', state: 'x', stat: 'y' }])).toThrow(/no parameter "stat"/);
    expect(open.describe().params).toEqual([
      { name: 'org', isRequired: true },
      { name: 'state', isRequired: true },
    ]);
  });

  test.each<[string, object]>([
    ['query', { query: { jql: 'org = {org}' } }],
    ['headers', { headers: { 'x-path': '/{org}/{other}' } }],
    ['body', { method: 'POST', body: { filters: [{ text: 'org:{+org}' }] } }],
    ['fields', { fields: { org: 'in {org}' } }],
  ])('R5 is refused inside of a larger text, which would be sent as it is: %s', (what, made) => {
    const loose = listing as unknown as (definition: object) => Listing<object, { org: string }>;
    const open = openListing(loose({ ...common, path: '/{org}', ...made }), { baseUrl: 'http://127.0.0.1:1' });
    expect(() => open({ org: 'o' })).toThrow(
      new RegExp(
        `^test.items has ".*\\{\\+?org\\}.*" in its ${what}, .* Give a function, e.g. ${what}: \\(\\{ org \\}\\)`,
      ),
    );
  });

  test('R5 may be a name in a document of GraphQL, or in braces that name no parameter', async () => {
    const server = await serve(() => empty);
    const body = { query: '{org{org}}', fields: 'posts{message}' };
    const items = listing({ ...common, method: 'POST', path: '/{org}', body });
    await openListing(items, server)({ org: 'o' }).toArray();
    expect(server.requests.map((request) => request.body)).toEqual([body]);
  });

  test('is refused if the schema has no such parameter', () => {
    const items = listing({ ...common, params, path: '/{org}', query: { state: '{stat}' as string } });
    const open = openListing(items, { baseUrl: 'http://127.0.0.1:1' });
    expect(() => open({ org: 'o' })).toThrow(
      'test.items needs the parameter "stat": its query is made of it. Did you mean state?',
    );
  });
});
