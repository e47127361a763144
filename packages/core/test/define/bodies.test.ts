import { afterEach, describe, expect, test } from 'vitest';
import { createClient, ExactNumber, type Json, type Link } from '../../src/index.js';
import {
  byConnection,
  byCursor,
  byHeader,
  byKeyset,
  byLink,
  byOffset,
  defineApi,
  listing,
  type ListingDefinition,
} from '../../src/define/index.js';
import { hashPlan } from '../../src/rows/export/findCheckpoint.js';
import { numbered, openListing, serve } from './servedApi.js';

type Row = Record<string, unknown>;
type Definition<Params> = ListingDefinition<Row, object, Params>;

const common = { path: '/search', rows: 'items', columns: ['id'], method: 'POST' } as const;
const byNext = byCursor({ into: 'page.after', at: 'next?' });
const baseUrl = 'https://api.example.com';

/** A server of 30 rows whose cursor is in the body. */
async function servePost() {
  return serve((_url, _nth, { body }) => {
    const { after = '0' } = (body?.['page'] ?? {}) as { after?: string };
    const next = Number(after) + 10;
    return { body: { items: numbered(10, Number(after)), ...(next < 30 && { next: String(next) }) } };
  });
}

describe('A3 a listing that posts', () => {
  test('sends its body as JSON, with the cursor of each page, and never one of an earlier walk', async () => {
    const server = await servePost();
    const body = { filter: { tags: ['a'] }, page: { size: 10 } };
    const items = listing({ ...common, body, paging: byNext, headers: { 'X-Version': '2' } });
    const source = openListing(items, server)();
    for (const walk of [1, 2]) expect(await source.toArray(), `walk ${walk}`).toEqual(numbered(30));
    const pages = [{ size: 10 }, { size: 10, after: '10' }, { size: 10, after: '20' }];
    expect(server.requests.map((request) => request.body)).toEqual(
      [...pages, ...pages].map((page) => ({ filter: { tags: ['a'] }, page })),
    );
    expect(server.requests[0]).toMatchObject({
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-version': '2' },
    });
    expect(body).toEqual({ filter: { tags: ['a'] }, page: { size: 10 } });
  });

  test('builds the body of a partition once, and freezes it', async () => {
    const server = await servePost();
    let built = 0;
    const filter = { tags: ['a'] };
    const items = listing({
      ...common,
      paging: byNext,
      body: ({ tag }: { tag: string }) => {
        built += 1;
        return { filter, tag };
      },
    });
    const seen: unknown[] = [];
    const link: Link = (next) => (request) => {
      seen.push(request.body);
      return next(request);
    };
    const source = openListing(items, { ...server, links: [link] })({ tag: 'x' });
    filter.tags.push('b');
    await source.toArray();
    await source.toArray();
    expect(built).toBe(1);
    expect(server.requests.every(({ body }) => JSON.stringify(body?.['filter']) === '{"tags":["a"]}')).toBe(true);
    expect(() => Object.assign(seen[0] as object, { tag: 'y' })).toThrow(TypeError);
    expect(() => (seen[1] as { filter: { tags: string[] } }).filter.tags.push('c')).toThrow(TypeError);
  });

  test('R6 gives each partition its own body, made of its values', async () => {
    const server = await serve(() => ({ body: { items: [] } }));
    const items = listing({
      ...common,
      paging: byNext,
      query: { v: 1 },
      partitions: ({ ids }: { ids: string[] }) => ids.map((id) => ({ id })),
      body: { only: '{id}' },
    });
    await openListing(items, server)({ ids: ['a', 'b'] }).toArray();
    expect(server.asked).toEqual(['/search?v=1', '/search?v=1']);
    expect(server.requests.map(({ body }) => body)).toEqual([{ only: 'a' }, { only: 'b' }]);
  });

  test('is refused if it has the same body for two partitions, whose rows would come twice', () => {
    const body = ({ tag }: { tag: string }): Json => ({ tag });
    const items = listing({ ...common, paging: byNext, body, partitions: () => [{ id: 'a' }, { id: 'b' }] });
    expect(() => openListing(items, { baseUrl })({ tag: 'x' })).toThrow(/the same request for several partitions/);
  });

  test('R6 has the values of partitions in the query where all have one body', async () => {
    const server = await serve(() => ({ body: { items: [] } }));
    const items = listing({
      ...common,
      paging: byNext,
      query: { id: '{id}' },
      body: { a: 1 },
      partitions: { id: ['a', 'b'] },
    });
    await openListing(items, server)().toArray();
    expect(server.asked).toEqual(['/search?id=a', '/search?id=b']);
    expect(server.requests.map(({ body }) => body)).toEqual([{ a: 1 }, { a: 1 }]);
  });

  test('puts the page size into the body, and asks for the known row again by offset', async () => {
    const server = await serve((_url, _nth, { body }) => {
      const { from = 0, size = 0 } = (body?.['window'] ?? {}) as { from?: number; size?: number };
      return { body: { items: numbered(25).slice(from, from + size) } };
    });
    const items = listing({
      ...common,
      body: { window: { from: null } },
      pageSize: { into: 'window.size', default: 10, max: 50 },
      paging: byOffset({ into: 'window.from' }),
    });
    expect(await openListing(items, server)({ pageSize: 12 }).toArray()).toEqual(numbered(25));
    expect(server.requests.slice(0, 2).map(({ body }) => body)).toEqual([
      { window: { from: null, size: 12 } },
      { window: { from: 11, size: 12 } },
    ]);
  });

  test.each([503, 429, 'cut'] as const)('is retried like a GET after %s', async (failure) => {
    const server = await serve((_url, nth) => {
      if (nth === 1) return failure === 'cut' ? failure : { status: failure };
      return { body: { items: numbered(1) } };
    });
    const items = listing({ ...common, paging: byNext, body: {} });
    expect(await openListing(items, { ...server, retry: { baseDelay: 1 } })().toArray()).toEqual(numbered(1));
    expect(server.requests).toHaveLength(2);
  });

  test('resumes at a cursor that a checkpoint has', async () => {
    const server = await servePost();
    const source = openListing(listing({ ...common, paging: byNext, body: { a: 1 } }), server)();
    const rows: unknown[] = [];
    for await (const { items } of source.pages({ startAt: '20' })) rows.push(...items);
    expect(rows).toEqual(numbered(10, 20));
    expect(server.requests[0]?.body).toEqual({ a: 1, page: { after: '20' } });
  });
});

describe('A3 the plan', () => {
  const hashOf = async <Params extends object>(definition: Partial<Definition<Params>>, params: object = {}) => {
    const items = listing({
      path: '/search',
      rows: 'items',
      columns: ['id'],
      paging: byLink(),
      ...definition,
    } as Definition<Params>);
    const { info } = Reflect.apply(openListing(items, { baseUrl }), undefined, [params]);
    const { hash } = await hashPlan(info, sink);
    return { hash, rows: JSON.stringify(info.rowsIdentity) };
  };
  const sink = { name: 'test', target: 'x', identity: null, delivery: 'exactly-once' as const, open: never };

  test.each<[string, Partial<Definition<object>>]>([
    ['body', { method: 'POST', body: { a: 2 } }],
    ['method', { method: 'POST' }],
    ['header', { method: 'POST', body: { a: 1 }, headers: { accept: 'text/x' } }],
  ])('is another with another %s, for exports and watches', async (_what, change) => {
    const before = await hashOf({ method: 'POST', body: { a: 1 } });
    const now = await hashOf(change);
    expect(now.hash).not.toBe(before.hash);
    expect(now.rows).not.toBe(before.rows);
  });

  test('is the same for a body whose fields are in another order, and another for other parameters', async () => {
    const body = ({ q }: { q: string }): Json => ({ q, a: 1 });
    const one = await hashOf({ method: 'POST', body }, { q: 'x' });
    expect(await hashOf({ method: 'POST', body: ({ q }: { q: string }) => ({ a: 1, q }) }, { q: 'x' })).toMatchObject({
      hash: one.hash,
    });
    expect((await hashOf({ method: 'POST', body }, { q: 'y' })).hash).not.toBe(one.hash);
  });
});

async function never(): Promise<never> {
  throw new Error('It is not opened.');
}

describe('A3 a definition', () => {
  const define = (part: object) => () => Reflect.apply(listing, undefined, [{ ...common, paging: byNext, ...part }]);

  test.each<[string, object, RegExp]>([
    ['has a body for a GET', { method: 'GET', paging: byLink(), body: {} }, /a GET request has none/],
    ['puts its cursor into the body of a GET', { method: 'GET' }, /it is sent in the body: set method: 'POST'/],
    ['sets a place in the body twice', { pageSize: { into: 'page.after', default: 1 } }, /page\.after is set twice/],
    ['has a page size at no place', { pageSize: { default: 1 } }, /give one of them/],
    ['has a page size at a path that is none', { pageSize: { into: 'a?', default: 1 } }, /not a place in a body/],
  ])('is refused that %s', (_what, part, message) => {
    expect(define(part)).toThrow(message);
  });

  test.each<[string, Partial<Definition<object>>, RegExp]>([
    ['sets the place of the cursor', { body: { page: { after: 'x' } } }, /sets page\.after in its body twice/],
    ['has text above the place of the cursor', { body: { page: 'x' } }, /there is text above it, and not an object/],
    ['has a date', { body: { at: new Date(0) } as never }, /an object of a class/],
    ['has a hole', { body: { a: undefined } as never }, /The body of test\.items\.a is missing/],
    ['sends a header that ends a line', { body: {}, headers: { a: 'b\nc: d' } }, /can't send the header "a"/],
    ['sends a header of the connection', { body: {}, headers: { 'Content-Length': '1' } }, /can't send the header/],
  ])('is refused before any request that %s', (_what, part, message) => {
    const items = listing({ ...common, paging: byNext, ...part } as Definition<object>);
    expect(() => openListing(items, { baseUrl })()).toThrow(message);
  });
});

describe('A3 paging with hostile answers', () => {
  const read = (paging: Definition<object>['paging'], body: unknown, headers = {}) =>
    listing({ ...common, paging }).read({ body, headers });
  const connection = (pageInfo: unknown) => () =>
    read(byConnection('data.all'), { items: [], data: { all: { pageInfo } } });

  test.each<[unknown, RegExp]>([
    [{ hasNextPage: true, endCursor: null }, /endCursor: more rows follow, but there is no cursor/],
    [{ hasNextPage: true }, /endCursor: more rows follow, but there is no cursor/],
    [{ hasNextPage: true, endCursor: '' }, /endCursor: more rows follow, but there is no cursor/],
    [{ hasNextPage: true, endCursor: 1.5 }, /endCursor: it is not text/],
    [{ hasNextPage: true, endCursor: { a: 1 } }, /endCursor: it is not text/],
    [{ hasNextPage: 'true', endCursor: 'a' }, /hasNextPage: it is neither true nor false/],
    [{ hasNextPage: null }, /hasNextPage: it is neither true nor false/],
    [{ endCursor: 'a' }, /data\.all\.pageInfo\.hasNextPage: there is no such field/],
    [null, /data\.all\.pageInfo: it is null/],
    [undefined, /data\.all\.pageInfo: there is no such field/],
  ])('byConnection refuses the page info %j', (pageInfo, message) => {
    expect(connection(pageInfo)).toThrow(message);
  });

  test('byConnection ends only where the API says so', () => {
    expect(connection({ hasNextPage: false, endCursor: 'a' })().next).toBe('end');
    expect(connection({ hasNextPage: true, endCursor: 'a' })().next).toEqual({ cursor: 'a' });
  });

  test('P4 byConnection refuses a cursor that comes again', async () => {
    const server = await serve((_url, nth) => ({
      body: { items: numbered(1, nth), pageInfo: { hasNextPage: true, endCursor: String(nth % 3) } },
    }));
    const source = openListing(listing({ ...common, body: {}, paging: byConnection('') }), server)();
    await expect(source.toArray()).rejects.toMatchObject({ code: 'no-progress' });
    expect(server.requests.length).toBeLessThan(6);
  });

  test.each<[object, RegExp]>([
    [{ id: null, at: 'x' }, /at id of the last row: it is null/],
    [{ at: 'x' }, /at id of the last row: there is no such field/],
    [{ id: 9007199254740993, at: 'x' }, /at id of the last row: it is a number that is not exact/],
    [{ id: { a: 1 }, at: 'x' }, /at id of the last row: it is an object/],
  ])('byKeyset refuses the last row %j', (row, message) => {
    const paging = byKeyset([{ field: 'id', into: 'after[1]' }]);
    expect(() => read(paging, { items: [{ id: 1, at: 'a' }, row] })).toThrow(message);
  });

  test('byKeyset keeps the types of values, and refuses a start that has others', () => {
    const paging = byKeyset([
      { field: 'at', into: 'after[0]' },
      { field: 'id', into: 'after[1]' },
    ]);
    const { next } = read(paging, { items: [{ id: 7, at: '007' }] });
    expect(next).toEqual({ cursor: '["007",7]' });
    const first = { path: '/', query: {}, body: { a: 1 } };
    expect(paging.request(first, { cursor: '["007",7]' }).body).toEqual({ a: 1, after: ['007', 7] });
    for (const cursor of ['x', '[1]', '[1,null]', '{}', '7'])
      expect(() => paging.request(first, { cursor })).toThrow(/startAt is not a list of 2 value\(s\)/);
  });

  test.each([
    ['in the body', { into: 'search_after[0]' }],
    ['in a query parameter', { param: 'after' }],
  ])('D4 byKeyset continues after numbers that no double holds, %s', async (_where, place) => {
    const [first, ...later] = ['1e400', '12345678901234567890', '12345678901234567891', '0.1234567890123456789', '17'];
    const server = await serve((url, _nth, { text }) => {
      const at = url.searchParams.get('after') ?? /^\{"search_after":\[(.*)\]\}$/.exec(text)?.[1];
      const next = at === undefined ? first : later[[first, ...later].indexOf(at)];
      // The text of the same digits is another field.
      return { text: `{"items":[${next === undefined ? '' : `{"id":${next},"id_str":"${next}"}`}]}` };
    });
    const rowsBy = (field: string) => {
      const definition = { ...common, body: {}, isRepeatable: true, paging: byKeyset([{ field, ...place }]) };
      return openListing(listing<Row>(definition), server)().toArray();
    };
    const rows = await rowsBy('id');
    expect(rows.map(({ id }) => String(id))).toEqual([first, ...later]);
    server.requests.length = 0;
    await rowsBy('id_str');
    expect(server.requests[1]?.text).toBe('into' in place ? `{"search_after":["${first}"]}` : '{}');
  });

  test.each([
    ['a short document', ''],
    ['a long one, whose cursor is found before it is parsed', 'x'.repeat(40_000)],
  ])('D4 byCursor sends a number as a number of a body, and text as text, of %s', async (_what, pad) => {
    const cursors = ['17', '12345678901234567890', '0.1234567890123456789', '"98765432109876543210"', '"a"'];
    const server = await serve((_url, nth) => ({
      text: `{"next":${cursors[nth - 1] ?? null},"items":[{"id":${nth},"pad":"${pad}"}],"previous":null}`,
    }));
    await openListing(listing({ ...common, body: {}, isRepeatable: true, paging: byNext }), server)().toArray();
    const sent = server.requests.map(({ text }) => text);
    expect(sent).toEqual(['{}', ...cursors.map((cursor) => `{"page":{"after":${cursor}}}`)]);
  });

  test.each(['1.5e16', '1e21', '-1.5E+16'])(
    'D4 byCursor and byKeyset send the large number %s as one',
    async (number) => {
      for (const [paging, after] of [
        [byNext, (value: number) => ({ page: { after: value } })],
        [byKeyset([{ field: 'id', into: 'after[0]' }]), (value: number) => ({ after: [value] })],
      ] as const) {
        const listed = { ...common, body: {}, isRepeatable: true, paging };
        const server = await serve((_url, nth) => ({
          text: `{"next":${nth === 1 ? number : null},"items":[${nth === 1 ? `{"id":${number}}` : ''}]}`,
        }));
        expect(await openListing(listing<Row>(listed), server)().toArray()).toEqual([{ id: Number(number) }]);
        expect(server.requests[1]?.body).toEqual(after(Number(number)));
      }
    },
  );

  test('D4 byKeyset starts where a position says, with all digits', () => {
    const paging = byKeyset([{ field: 'id', into: 'after' }]);
    const cursor = '[12345678901234567890]';
    const { body } = paging.request({ path: '/', query: {}, body: {} }, { cursor });
    expect(body).toEqual({ after: new ExactNumber('12345678901234567890') });
  });

  test('byKeyset refuses to end by a flag that contradicts the rows', () => {
    const paging = byKeyset([{ field: 'id', into: 'after' }], { more: 'more' });
    expect(() => read(paging, { items: [], more: true })).toThrow(/there is no row to continue after/);
    expect(() => read(paging, { items: [], more: 1 })).toThrow(/at more: it is neither true nor false/);
    expect(read(paging, { items: [{ id: 1 }], more: false }).next).toBe('end');
  });

  test('byHeader ends without the header', () => {
    const paging = byHeader({ header: 'X-Next', into: 'token' });
    expect(read(paging, { items: [] }, { 'x-next': 'abc' }).next).toEqual({ cursor: 'abc' });
    for (const headers of [{}, { 'x-next': '' }]) expect(read(paging, { items: [] }, headers).next).toBe('end');
  });

  test('byLink sends the body again, and refuses an address elsewhere', async () => {
    const items = listing({ ...common, body: { a: 1 }, paging: byLink({ at: 'next' }) });
    const next = ['?p=2', null, 'https://evil.example.com/search?p=2'];
    const server = await serve((_url, nth) => ({ body: { items: numbered(1, nth), next: next[nth - 1] } }));
    await openListing(items, server)().toArray();
    expect(server.requests.map(({ method, body }) => [method, body])).toEqual([
      ['POST', { a: 1 }],
      ['POST', { a: 1 }],
    ]);
    await expect(openListing(items, server)().toArray()).rejects.toMatchObject({
      code: 'decode',
      message: expect.stringContaining('not below the base URL'),
    });
  });

  test.each<[string, Definition<object>['paging'], (cursor: string) => object]>([
    ['byCursor', byNext, (cursor) => ({ body: { items: numbered(1), next: cursor } })],
    [
      'byConnection',
      byConnection('data'),
      (endCursor) => ({ body: { items: numbered(1), data: { pageInfo: { hasNextPage: true, endCursor } } } }),
    ],
    [
      'byHeader',
      byHeader({ header: 'x-next', into: 'token' }),
      (cursor) => ({ body: { items: numbered(1) }, headers: { 'x-next': cursor } }),
    ],
    ['byKeyset', byKeyset([{ field: 'id', into: 'after' }]), (cursor) => ({ body: { items: [{ id: cursor }] } })],
    [
      'byLink',
      byLink({ at: 'next' }),
      (cursor) => ({ body: { items: numbered(1), next: `/api/search?key=${encodeURIComponent(cursor)}` } }),
    ],
  ])('%s refuses a cursor with the API key, which would be stored', async (_kind, paging, said) => {
    const apiKey = 'key-of-a-project-0815';
    const server = await serve(() => said(apiKey));
    const source = openListing(listing({ ...common, body: {}, paging }), { ...server, apiKey })();
    await expect(source.toArray()).rejects.toMatchObject({ code: 'secret-in-cursor' });
  });
});

describe('A3 JSON Lines of a listing', () => {
  const items = listing({ path: '/all', rows: '', columns: ['id'], format: 'jsonLines', paging: byLink() });

  test('are its rows', async () => {
    const server = await serve(() => ({
      text: numbered(500)
        .map((row) => `${JSON.stringify(row)}\n`)
        .join(''),
    }));
    expect(await openListing(items, server)().toArray()).toEqual(numbered(500));
  });

  test('with a malformed line are an error, and none of their rows is emitted', async () => {
    const server = await serve(() => ({ text: '{"id":1}\n{"id":\n{"id":3}\n' }));
    const rows: unknown[] = [];
    const walk = async (): Promise<void> => {
      for await (const row of openListing(items, server)()) rows.push(row);
    };
    await expect(walk()).rejects.toMatchObject({ code: 'decode', details: { line: 2 } });
    expect(rows).toEqual([]);
  });
});

describe('A3 an endpoint', () => {
  const clients: { close(): Promise<void> }[] = [];
  afterEach(async () => Promise.all(clients.splice(0).map((client) => client.close())));

  test('sends method, body and headers of a request, and repeats only one that may be repeated', async () => {
    const server = await serve((_url, nth) => (nth % 2 === 1 ? { status: 503 } : { body: { id: nth } }));
    const client = createClient({ apiKey: 'test-key-1', rateLimit: false, retry: { baseDelay: 1 } }).use({
      name: 'shop',
      setup: ({ endpoint }) => endpoint(server.baseUrl),
    });
    clients.push(client);
    const order = { route: 'shop.order', path: '/orders', query: {}, method: 'POST', body: { sku: 'a' } } as const;
    await expect(client.shop.request(order)).rejects.toMatchObject({ code: 'http' });
    expect(server.requests).toHaveLength(1);
    await client.shop.send({ ...order, path: '/x' });
    const headers = { 'Idempotency-Key': '4711' };
    await expect(client.shop.request({ ...order, headers })).resolves.toEqual({ id: 4 });
    expect(server.requests.slice(2)).toMatchObject([
      { method: 'POST', body: { sku: 'a' }, headers: { 'idempotency-key': '4711' } },
      { method: 'POST', body: { sku: 'a' }, headers: { 'idempotency-key': '4711' } },
    ]);
  });

  test('A8 a missing base URL names its option', () => {
    const api = defineApi({ name: 'shop', sources: { items: listing({ ...common, body: {}, paging: byNext }) } });
    expect(() => Reflect.apply(api, undefined, [{}])).toThrow(/"shop" needs its base URL, shop\(\{ baseUrl/);
  });
});
