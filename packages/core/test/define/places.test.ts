import { join } from 'node:path';
import { describe, expect, test, vi } from 'vitest';
import { onTestEnd } from '../../../../scripts/testScope.js';
import { temporaryFolder } from '../../../../test/kit/temporaryFolder.js';
import { createClient, ExactNumber, exportTo, memoryState, watch } from '../../src/index.js';
import {
  bodyKey,
  byCursor,
  byKeyset,
  byOffset,
  byPage,
  bySince,
  defineApi,
  header,
  listing,
  noAuth,
  queryKey,
  rowOf,
  type Paging,
  type RequestPlace,
} from '../../src/define/index.js';
import { fileState } from '../../src/node/index.js';
import { recordingSink } from '../rows/sink/recordingSink.js';
import { SkippingClock } from '../rows/watch/skippingClock.js';
import { numbered, openListing, type Said, serve } from './servedApi.js';

const common = { path: '/items', rows: 'items', columns: ['id'] } as const;
const one = (id: unknown): unknown[] => [{ id }];

describe('R5 a header', () => {
  test('has the page size and the cursor, besides the definition’s own', async () => {
    const server = await serve((_url, nth) => ({
      body: { items: numbered(2, nth * 2), next: nth < 3 ? `c${nth}` : null },
    }));
    const items = listing({
      ...common,
      headers: { 'X-Own': 'o' },
      pageSize: { header: 'X-Size', default: 2 },
      paging: byCursor({ header: 'X-Cursor', at: 'next' }),
    });
    await openListing(items, server)().toArray();
    const sent = server.requests.map(({ headers }) => [headers['x-own'], headers['x-size'], headers['x-cursor']]);
    expect(sent).toEqual([
      ['o', '2', undefined],
      ['o', '2', 'c1'],
      ['o', '2', 'c2'],
    ]);
    expect(server.asked).toEqual(['/items', '/items', '/items']);
  });

  test('has an offset or a page number', async () => {
    const server = await serve((_url, nth, { headers }) => ({
      body: {
        items: numbered(10)
          .slice(Number(headers['x-skip'] ?? 0))
          .slice(0, 4),
        nth,
      },
    }));
    expect(
      await openListing(listing({ ...common, paging: byOffset({ header: 'x-skip' }) }), server)().toArray(),
    ).toEqual(numbered(10));
    const pages = await serve((_url, nth) => ({ body: { items: nth < 3 ? numbered(2, nth * 2) : [] } }));
    await openListing(listing({ ...common, paging: byPage({ header: 'x-page' }) }), pages)().toArray();
    expect(pages.requests.map(({ headers }) => headers['x-page'])).toEqual([undefined, '2', '3']);
  });

  test('is part of a stored page’s identity', async () => {
    const tags: unknown[] = [];
    const server = await serve((_url, _nth, { headers }) => {
      const cursor = headers['x-cursor'];
      tags.push([cursor, headers['if-none-match']]);
      if (headers['if-none-match'] === '"same"' && typeof cursor === 'string') return { status: 304, text: '' };
      const body = cursor === undefined ? { items: one(1), next: 'c1' } : { items: one(2), next: null };
      return { body, headers: { etag: '"same"' } };
    });
    const items = listing({
      ...common,
      key: ({ id }) => String(id),
      paging: byCursor({ header: 'x-cursor', at: 'next' }),
    });
    const watched = watch(openListing(items, server)(), { every: 1000, clock: new SkippingClock(), polls: 3 });
    expect(await watched.toArray()).toHaveLength(2);
    expect(tags.slice(0, 4)).toEqual([
      [undefined, undefined],
      ['c1', undefined],
      [undefined, '"same"'],
      ['c1', '"same"'],
    ]);
  });

  test.each([
    'Authorization',
    'cookie',
    'X-API-Key',
    'Host',
    'content-length',
    'Content-Type',
    'Accept',
    'If-None-Match',
    'a b',
    '',
  ])('%j is not a place: it is the credential’s or the transport’s, or no name', (name) => {
    expect(() => byCursor({ header: name, at: 'next' })).toThrow(expect.objectContaining({ code: 'config' }));
    expect(() =>
      listing({ ...common, pageSize: { header: name, default: 1 }, paging: byPage({ param: 'p' }) }),
    ).toThrow(expect.objectContaining({ code: 'config' }));
  });

  test('is not that of the API’s own credential', () => {
    const items = listing({ ...common, paging: byCursor({ header: 'x-token', at: 'next' }) });
    const api = defineApi({ name: 'own', baseUrl: 'http://127.0.0.1:1', sources: { items } });
    expect(() => api({ auth: [queryKey('k', { env: 'KEY' }), header('X-Token', { env: 'KEY' })] })).toThrow(
      'the source items sets the header x-token, which has the credential',
    );
  });

  test('is set once', async () => {
    const paging = byCursor({ header: 'x-cursor', at: 'next' });
    expect(() => listing({ ...common, headers: { 'X-Cursor': 'a' }, paging })).toThrow(/"x-cursor" is set twice/);
    expect(() => listing({ ...common, pageSize: { header: 'X-Cursor', default: 1 }, paging })).toThrow(/set twice/);
    const server = await serve(() => ({ body: { items: [], next: null } }));
    const made = listing({ ...common, headers: () => ({ 'X-Cursor': 'a' }), paging });
    expect(() => openListing(made, server)()).toThrow(/sets the header "X-Cursor" twice/);
  });

  test.each(['a\r\nx-evil: 1', ' a', 'ж', 'a\u0000'])('is not sent with the value %j', async (next) => {
    const server = await serve(() => ({ body: { items: one(1), next } }));
    const items = listing({ ...common, paging: byCursor({ header: 'x-cursor', at: 'next' }) });
    await expect(openListing(items, server)().toArray()).rejects.toMatchObject({ code: 'config' });
    expect(server.asked).toHaveLength(1);
  });

  test('and another place at once are refused', () => {
    expect(() => byPage({ param: 'p', header: 'x-p' } as never)).toThrow(/give one of them/);
    expect(() => byPage({} as never)).toThrow(/give one of them/);
  });
});

describe('R5 a form', () => {
  const form = { ...common, method: 'POST', bodyType: 'form' } as const;

  test('has the fields of the body, the page size and the cursor', async () => {
    const server = await serve((_url, nth) => ({
      body: { items: numbered(2, nth * 2), next: nth < 2 ? 'a&b=c d' : null },
    }));
    const items = listing({
      ...form,
      body: { q: '{q}', flag: true, ids: ['1', '2'], empty: '{empty}' },
      pageSize: { into: 'limit', default: 2 },
      paging: byCursor({ into: 'cursor', at: 'next' }),
    });
    await openListing(items, server)({ q: 'ü&=+ x', empty: '' }).toArray();
    const first = 'q=%C3%BC%26%3D%2B+x&flag=true&ids%5B%5D=1&ids%5B%5D=2&empty=&limit=2';
    expect(server.requests.map(({ text }) => text)).toEqual([first, `${first}&cursor=a%26b%3Dc+d`]);
    expect(server.requests[0]?.headers['content-type']).toBe('application/x-www-form-urlencoded');
  });

  test.each<[string, object, RegExp]>([
    ['of a GET', { method: 'GET' }, /at bodyType: a GET request has no body/],
    ['of another type', { bodyType: 'xml' }, /at bodyType: it must be json or form/],
    [
      'with a cursor inside of a field',
      { paging: byCursor({ into: 'page.after', at: 'next' }) },
      /no place like page.after/,
    ],
    ['with a size in a list', { pageSize: { into: 'page[0]', default: 1 } }, /no place like page\[0\]/],
  ])('%s is refused', (_what, wrong, message) => {
    expect(() => Reflect.apply(listing, undefined, [{ ...form, paging: byPage({ param: 'p' }), ...wrong }])).toThrow(
      message,
    );
  });

  test.each([[{ a: { b: 1 } }], [{ a: null }], [{ a: [['x']] }], ['text'], [['a']]])('%j is none', (body) => {
    const items = listing({ ...form, paging: byPage({ into: 'p' }), body: body as never });
    expect(() => openListing(items, { baseUrl: 'http://127.0.0.1:1' })()).toThrow(
      expect.objectContaining({ code: 'config' }),
    );
  });

  test('has the key of a bodyKey, too', async () => {
    const server = await serve(() => ({ body: { items: [] } }));
    const items = listing({ ...form, body: { a: 1 }, paging: byPage({ into: 'p' }) });
    const api = defineApi({ name: 'own', auth: bodyKey('key', 'test key&1'), sources: { items } });
    await createClient({ apiKey: false, rateLimit: false })
      .use(api({ baseUrl: server.baseUrl }))
      .own.items()
      .toArray();
    expect(server.requests[0]?.text).toBe('key=test+key%261&a=1');
  });

  test('is part of the plan', async () => {
    const planOf = async (more: object): Promise<unknown> => {
      const items = listing({ ...common, method: 'POST', body: { a: 1 }, paging: byPage({ param: 'p' }), ...more });
      return openListing(items, { baseUrl: 'http://127.0.0.1:1' })().info.identity;
    };
    expect(await planOf({ bodyType: 'form' })).not.toEqual(await planOf({}));
    expect(await planOf({ bodyType: 'json' })).toEqual(await planOf({}));
  });
});

describe('R13 a number beyond 2^53', () => {
  const ids = ['9007199254740993', '9007199254740995', '12345678901234567890'];
  const places: [string, RequestPlace, object][] = [
    ['a query', { param: 'after' }, {}],
    ['a header', { header: 'x-after' }, {}],
    ['a body', { into: 'deep.after' }, { method: 'POST' }],
    ['a form', { into: 'after' }, { method: 'POST', bodyType: 'form' }],
  ];
  const kinds: [string, (place: RequestPlace) => Paging, (text: string) => string][] = [
    ['the cursor', (place) => byCursor({ ...place, at: 'next' }), (text) => text],
    ['the last row', (place) => byKeyset([{ ...place, field: 'id' }], { more: 'more' }), (text) => text],
  ];

  test.each(places.flatMap((place) => kinds.map((kind) => [...place, ...kind] as const)))(
    'in %s comes back with all digits, as a number: %s',
    async (_where, place, more, _what, paging) => {
      const server = await serve((_url, nth) => ({
        text: `{"items":[{"id":${ids[Math.min(nth, 3) - 1]}}],"next":${nth < 3 ? ids[nth - 1] : 'null'},"more":${String(nth < 3)}}`,
      }));
      const items = listing({ ...common, ...more, paging: paging(place), key: ({ id }) => String(id) });
      const source = openListing(items, server)();
      const positions = [];
      const rows = [];
      for await (const page of source.pages()) {
        positions.push(page.position);
        rows.push(...page.items);
      }
      expect(rows).toEqual(ids.map((id) => ({ id })));
      const sent = server.requests.map(({ text, headers }, nth) => headers['x-after'] ?? (text || server.asked[nth]));
      const expected = {
        'x-after': [ids[0], ids[1]],
        after: [`/items?after=${ids[0]}`, `/items?after=${ids[1]}`],
        'deep.after': [`{"deep":{"after":${ids[0]}}}`, `{"deep":{"after":${ids[1]}}}`],
        form: [`after=${ids[0]}`, `after=${ids[1]}`],
      }['bodyType' in more ? 'form' : (place.header ?? place.param ?? place.into ?? '')];
      expect(sent.slice(1)).toEqual(expected);
      // A checkpoint is JSON, and a run that resumes sends the same.
      const resumed = JSON.parse(JSON.stringify(positions[0])) as (typeof positions)[0];
      await source.pages({ startAt: resumed! })[Symbol.asyncIterator]().next();
      const { text, headers } = server.requests.at(-1)!;
      expect(headers['x-after'] ?? (text || server.asked.at(-1))).toBe(expected?.[0]);
    },
  );

  test('that an increment begins at is sent as a number in a body', async () => {
    const server = await serve((_url, nth) => ({ text: `{"items":[{"id":${ids[nth > 1 ? 1 : 0]}}]}` }));
    const source = openListing(
      listing({
        ...common,
        method: 'POST',
        pageSize: { into: 'size', default: 2, max: 2 },
        paging: bySince({ into: 'since', field: 'id', type: 'integer' }),
      }),
      server,
    );
    await source().toArray();
    expect(server.requests[1]?.text).toBe(`{"size":2,"since":${ids[0]}}`);
  });

  test('that a later increment begins at is sent as a number in a body', async () => {
    const server = await serve((_url, nth) => ({ text: `{"items":[{"id":${ids[Math.min(nth, 2) - 1]}}]}` }));
    const items = listing({
      ...common,
      method: 'POST',
      pageSize: { into: 'size', default: 2, max: 2 },
      paging: bySince({ into: 'since', field: 'id', type: 'integer' }),
    });
    const state = memoryState();
    const increment = async (): Promise<string | undefined> => {
      const before = server.requests.length;
      await exportTo(openListing(items, server)(), recordingSink(), { state, incremental: true }).run();
      return server.requests[before]?.text;
    };
    expect(await increment()).toBe('{"size":2}');
    expect(await increment()).toBe(`{"size":2,"since":${ids[1]}}`);
  });

  test('is a number also for a plugin that has its own copy of this package', { tags: ['slow'] }, async () => {
    vi.resetModules();
    const own = { ...(await import('../../src/index.js')), ...(await import('../../src/define/index.js')) };
    expect(own.ExactNumber).not.toBe(ExactNumber);
    const server = await serve((_url, nth) => ({ text: `{"items":[{"id":${ids[nth - 1]}}],"more":${nth < 3}}` }));
    const items = own.listing({
      ...common,
      method: 'POST',
      body: { id: '{id}' },
      paging: own.byKeyset([{ field: 'id', into: 'after[0]' }], { more: 'more' }),
    });
    const api = own.defineApi({ name: 'own', auth: own.noAuth, sources: { items } });
    const client = createClient({ apiKey: false, rateLimit: false }).use(api({ baseUrl: server.baseUrl }));
    onTestEnd(() => client.close());
    const id = new own.ExactNumber('12345678901234567890');
    await client.own.items({ id }).toArray();
    expect(server.requests.map(({ text }) => text)).toEqual([
      '{"id":12345678901234567890}',
      `{"id":12345678901234567890,"after":[${ids[0]}]}`,
      `{"id":12345678901234567890,"after":[${ids[1]}]}`,
    ]);
  });

  test('of a parent is sent as a number, also by a run that resumes', async () => {
    const answer = (url: URL): Said =>
      url.pathname === '/api/parents'
        ? { text: `{"items":[${ids.map((id) => `{"id":${id}}`).join()}],"next":null}` }
        : { body: { items: [{ id: 1 }], next: null } };
    let isDown = true;
    const server = await serve((url, nth) => (isDown && nth === 3 ? { status: 500, body: {} } : answer(url)));
    const paging = byCursor({ param: 'after', at: 'next' });
    const api = defineApi({
      name: 'own',
      auth: noAuth,
      sources: {
        parents: listing<{ id: string }>({ ...common, path: '/parents', paging, key: ({ id }) => id }),
        rows: listing({
          ...common,
          each: rowOf({
            source: 'parents',
            params: ({ id }: { id: string }) => ({
              id: new ExactNumber(id),
              text: id,
              alike: { number: id },
              deep: [{ number: new ExactNumber('1.50') }, { number: { number: 7 } }],
            }),
          }),
          version: '1',
          method: 'POST',
          path: '/rows/{id}',
          body: { id: '{id}', text: '{text}', alike: '{alike}', deep: '{deep}' },
          partitions: { exact: [new ExactNumber('9007199254740993')] },
          query: { exact: '{exact}' },
          headers: { 'x-exact': '{exact}' },
          fields: { exact: '{exact}', of: '{id}' },
          paging,
        }),
      },
    });
    const client = createClient({ apiKey: false, rateLimit: false, retry: { retries: 0 } }).use(
      api({ baseUrl: server.baseUrl }),
    );
    onTestEnd(() => client.close());
    const folder = join(temporaryFolder(), 'state');
    const sink = recordingSink();
    const run = () => exportTo(client.own.rows(), sink, { state: fileState(folder), commitEvery: 1 }).run();
    await expect(run()).rejects.toMatchObject({ status: 500 });
    isDown = false;
    await run();
    const bodyOf = (id: string): string =>
      `{"id":${id},"text":"${id}","alike":{"number":"${id}"},"deep":[{"number":1.50},{"number":{"number":7}}]}`;
    const [first = '', second = '', third = ''] = ids;
    expect(server.asked.slice(1)).toEqual(
      [first, second, second, third].map((id) => `/rows/${id}?exact=9007199254740993`),
    );
    expect(sink.rows).toEqual(ids.map((of) => ({ id: 1, exact: '9007199254740993', of })));
    expect(String(new ExactNumber(first))).toBe(first);
    expect(server.requests[1]?.headers['x-exact']).toBe('9007199254740993');
    expect(server.requests.slice(1).map(({ text }) => text)).toEqual([first, second, second, third].map(bodyOf));
  });

  test('of a parameter is sent as a number', async () => {
    const server = await serve(() => ({ body: { items: [] } }));
    const items = listing({
      ...common,
      method: 'POST',
      path: '/{id}',
      body: { id: '{id}' },
      paging: byPage({ param: 'p' }),
    });
    const id = new ExactNumber('9007199254740993');
    await openListing(items, server)({ id }).toArray();
    expect([server.asked[0], server.requests[0]?.text]).toEqual(['/9007199254740993', '{"id":9007199254740993}']);
  });
});
