import { describe, expect, test } from 'vitest';
import { createClient, exportTo, memoryState } from '../../src/index.js';
import {
  byLink,
  bySince,
  defineApi,
  listing,
  noAuth,
  queryKey,
  type LinkOptions,
  type Listing,
  type ListingDefinition,
} from '../../src/define/index.js';
import { keepParams, lostParams, pageNumberIn } from '../../src/define/pages/lostParams.js';
import { onTestEnd } from '../../../../scripts/testScope.js';
import { recordingSink } from '../rows/sink/recordingSink.js';
import { openListing, serve } from './servedApi.js';

type Row = Record<string, unknown>;
type Definition = Partial<ListingDefinition<Row, object, object>>;
const listingOf = listing as unknown as (definition: unknown) => Listing<Row, object>;

const all = Array.from({ length: 12 }, (_, id) => ({ id, status: id % 2 === 0 ? 'published' : 'draft' }));
const published = all.filter(({ status }) => status === 'published');

/** A server of two rows a page. What its next address has besides the number of the page is up to the test. */
async function serveRows(linkOf: (page: number, url: URL) => string | undefined, isInHeader = false) {
  return serve((url) => {
    const status = url.searchParams.get('status');
    const rows = all.filter((row) => status === null || status === 'all' || row.status === status);
    const page = Number(url.searchParams.get('page') ?? url.searchParams.get('cursor')?.replace(/\D/g, '') ?? 1);
    const next = page * 2 < rows.length ? linkOf(page + 1, url) : undefined;
    const items = rows.slice((page - 1) * 2, page * 2);
    const links = next !== undefined && isInHeader ? { link: `<${next}>; rel="next"` } : {};
    return { body: { items, ...(isInHeader ? {} : { next: next ?? null }) }, headers: links };
  });
}

function itemsOf(options: LinkOptions, definition: Definition = {}): Listing<Row, object> {
  return listingOf({
    path: '/items',
    query: { status: 'published' },
    paging: byLink(options),
    rows: 'items',
    columns: ['id', 'status'],
    ...definition,
  });
}

const kinds: [what: string, linkOf: (page: number, url: URL) => string, isInHeader?: boolean][] = [
  ['a relative address', (page) => `?page=${page}`],
  ['an absolute address', (page, url) => `${url.origin}/api/items?page=${page}`],
  ['a path', (page) => `/api/items?per_page=2&page=${page}`],
  ['a Link header', (page) => `/api/items?page=${page}`, true],
  ['an address with another value', (page) => `?status=all&page=${page}`],
  ['an address with another value in a Link header', (page) => `?page=${page}&status=all`, true],
];

describe('R2 a next address that counts pages and loses the filter', () => {
  test.each(kinds)(
    'R2 is an error that names the parameter and keep: %s',
    async (_what, linkOf, isInHeader = false) => {
      const server = await serveRows(linkOf, isInHeader);
      const { asked } = server;
      const items = itemsOf(isInHeader ? {} : { at: 'next' });
      const walk = openListing(items, { ...server, auth: noAuth })().toArray();
      await expect(walk).rejects.toThrow(/counts \(page=2\).*status="published".*Set keep of byLink\(\) to true/);
      expect(asked).toHaveLength(1);
    },
  );

  test.each(kinds)('R2 gets it with keep: %s', async (_what, linkOf, isInHeader = false) => {
    for (const keep of [true, ['status']]) {
      const server = await serveRows(linkOf, isInHeader);
      const items = itemsOf({ ...(isInHeader ? {} : { at: 'next' }), keep });
      expect(await openListing(items, { ...server, auth: noAuth })().toArray()).toEqual(published);
      for (const target of server.asked) expect(target.match(/status=\w+/g)).toEqual(['status=published']);
    }
  });

  test('R2 is taken as it is with keep: false', async () => {
    const server = await serveRows((page) => `?page=${page}`);
    const rows = await openListing(itemsOf({ at: 'next', keep: false }), { ...server, auth: noAuth })().toArray();
    expect(rows.map(({ status }) => status)).toContain('draft');
  });

  test('R2 only what a list of names has is kept, and a name that the request lacks is a warning', async () => {
    const warnings: string[] = [];
    const server = await serveRows((page) => `?page=${page}`);
    const items = itemsOf(
      { at: 'next', keep: ['status', 'langage'] },
      { query: { status: 'published', language: 'x' } },
    );
    const onWarning = (text: string): void => void warnings.push(text);
    expect(await openListing(items, { ...server, auth: noAuth, onWarning })().toArray()).toEqual(published);
    expect(server.asked.slice(1).some((target) => target.includes('language'))).toBe(false);
    expect(warnings).toEqual([
      expect.stringContaining('names "langage", which the first request has not. Did you mean'),
    ]);
  });

  test('R2 of a cursor is taken as it is', async () => {
    const server = await serveRows((page) => `?cursor=c${page}`);
    const items = itemsOf({ at: 'next' });
    expect(await openListing(items, { ...server, auth: noAuth })().toArray()).not.toEqual([]);
    const kept = itemsOf({ at: 'next', keep: true });
    const again = await serveRows((page) => `?cursor=c${page}`);
    expect(await openListing(kept, { ...again, auth: noAuth })().toArray()).toEqual(published);
  });

  test('R2 a list is kept in the format of the API', async () => {
    const query = { tag: ['a b', 'ü'], status: 'published' };
    for (const [arrays, tags] of [
      ['brackets', 'tag%5B%5D=a+b&tag%5B%5D=%C3%BC'],
      ['comma', 'tag=a+b%2C%C3%BC'],
    ] as const) {
      const server = await serveRows((page) => `?page=${page}`);
      const items = itemsOf({ at: 'next', keep: true }, { query });
      expect(await openListing(items, { ...server, arrays, auth: noAuth })().toArray()).toEqual(published);
      expect(server.asked[1]).toBe(`/items?page=2&${tags}&status=published`);
    }
  });

  test('R2 a page size that an address lacks is kept, too, and one that the server has reduced is not', async () => {
    const pageSize = { param: 'limit', default: 2 };
    for (const [link, sent] of [
      ['', 'page=2&limit=2'],
      ['&limit=1', 'page=2&limit=1'],
      ['&per_page=2', 'page=2&per_page=2'],
    ]) {
      const server = await serveRows((page) => `?status=published&page=${page}${link ?? ''}`);
      const items = itemsOf({ at: 'next', keep: true }, { pageSize });
      expect(await openListing(items, { ...server, auth: noAuth })().toArray()).toEqual(published);
      expect(server.asked[1]).toBe(`/items?status=published&${sent ?? ''}`);
    }
  });

  test('R2 E4 a resumed walk keeps what an uninterrupted one does', async () => {
    let left = 2;
    const paging = { at: 'next', keep: true } as const;
    const server = await serve((url, nth) => {
      if (left-- === 0) return { status: 500 };
      const page = Number(url.searchParams.get('page') ?? 1);
      const rows = url.searchParams.get('status') === 'published' ? published : all;
      return {
        body: { items: rows.slice((page - 1) * 2, page * 2), next: page < 3 ? `?page=${page + 1}` : null, nth },
      };
    });
    const source = openListing(itemsOf(paging, { version: '1' }), { ...server, auth: noAuth })();
    const state = memoryState();
    const sink = recordingSink<Row>();
    const run = () => exportTo(source, sink, { state, commitEvery: 1 }).run();
    await expect(run()).rejects.toMatchObject({ status: 500 });
    left = Infinity;
    await run();
    expect(sink.rows).toEqual(published);
    expect(server.asked.every((target) => target.includes('status=published'))).toBe(true);
  });

  test('R2 keep is part of what a checkpoint must match', () => {
    const infoOf = (options: LinkOptions): string =>
      JSON.stringify(
        openListing(itemsOf(options), { baseUrl: 'https://api.example.com', auth: noAuth })().info.identity,
      );
    const [none, yes, no, names] = [{}, { keep: true }, { keep: false }, { keep: ['status'] }].map(infoOf);
    expect(new Set([none, yes, no, names]).size).toBe(4);
  });

  test('R2 the value from which an increment begins is kept, or missed', async () => {
    const rows = Array.from({ length: 9 }, (_, id) => ({ id, at: 100 + id }));
    const linked = (keep?: boolean) =>
      itemsOf(
        {},
        {
          query: {},
          version: '1',
          paging: bySince({
            param: 'since',
            field: 'at',
            type: 'integer',
            begin: '103',
            paging: byLink({ at: 'next', ...(keep !== undefined && { keep }) }),
          }),
          columns: ['id', 'at'],
        },
      );
    const say = (url: URL) => {
      const page = Number(url.searchParams.get('page') ?? 1);
      const found = rows.filter(({ at }) => at >= Number(url.searchParams.get('since') ?? 0));
      const next = page * 3 < found.length ? `?page=${page + 1}` : null;
      return { body: { items: found.slice((page - 1) * 3, page * 3), next } };
    };
    const kept = await serve(say);
    expect(await openListing(linked(true), { ...kept, auth: noAuth })().toArray()).toEqual(rows.slice(3));
    const lost = await serve(say);
    await expect(openListing(linked(), { ...lost, auth: noAuth })().toArray()).rejects.toThrow('since="103"');
  });

  test('R2 a credential that is added anew is not missed, and a secret value is not shown', async () => {
    const secret = 'sk-live-1234567890';
    const server = await serveRows((page) => `?page=${page}`);
    const api = defineApi({
      name: 'test',
      auth: queryKey('api_key', secret),
      rateLimit: false,
      sources: {
        rows: listing<Row>({ path: '/items', paging: byLink({ at: 'next' }), rows: 'items', columns: ['id'] }),
        echoed: listing<Row>({
          path: '/items',
          query: { owner: secret },
          paging: byLink({ at: 'next' }),
          rows: 'items',
          columns: ['id'],
        }),
      },
    });
    const client = createClient({ apiKey: false, retry: { retries: 0 } }).use(api({ baseUrl: server.baseUrl }));
    onTestEnd(() => client.close());
    expect(await client.test.rows().toArray()).toHaveLength(12);
    const error = await client.test.echoed().toArray().catch(String);
    expect(error).toMatch(/lacks owner="\[hidden\]"/);
    expect(error).not.toContain(secret);
  });

  test('R2 names that are not text are refused', () => {
    for (const keep of [[''], [1], 'status', 1]) expect(() => byLink({ keep } as LinkOptions)).toThrow('keep');
  });
});

/** The address of a next page: what is lost, by name, if it counts pages. */
function lossesIn(query: Record<string, string | number | boolean | readonly string[]>, address: string): string[] {
  const first = { query, sizeParam: 'limit' };
  return pageNumberIn(first, address) === undefined ? [] : lostParams(first, address, '/i').map(({ name }) => name);
}

describe('R2 what an address has lost', () => {
  test.each([
    [{ q: 'a b' }, '/i?q=a+b&page=2'],
    [{ q: 'a b' }, '/i?q=a%20b&page=2'],
    [{ q: 'ü' }, '/i?q=%c3%bc&page=2'],
    [{ q: 'ü' }, '/i?q=u%CC%88&page=2'],
    [{ ids: ['1', '2'] }, '/i?ids[]=2&ids[]=1&page=2'],
    [{ ids: ['1', '2'] }, '/i?ids%5B%5D=1&ids%5B%5D=2&offset=100'],
    [{ ids: ['1', '2'] }, '/i?ids[0]=1&ids[1]=2&page=2'],
    [{ ids: ['1', '2'] }, '/i?ids=1&ids=2&page=2'],
    [{ ids: ['1', '2'] }, '/i?ids=2%2C1&page=2'],
    [{ 'ids[]': ['1', '2'] }, '/i?ids=1,2&page=2'],
    [{ fields: 'id, name' }, '/i?fields=name,id&page=2'],
    [{ 'filter[state]': 'open' }, '/i?filter%5Bstate%5D=OPEN&page[number]=2'],
    [{ isActive: true }, '/i?is_active=True&page=2'],
    [{ isActive: 'true' }, '/i?isActive=1&page=2'],
    [{ size_min: '10' }, '/i?size_min=10.0&page=2'],
    [{ q: '', state: 'open' }, '/i?state=open&page=2'],
    [{ since: '2026-01-01T00:00:00Z' }, '/i?since=2026-01-01T00%3A00%3A00.000Z&page=2'],
    [{ since: '2026-01-01T00:00:00Z' }, '/i?since=2026-01-01T01:00:00%2B01:00&page=2'],
    [{ since: '2026-01-01T00:00:00+00:00' }, '/i?since=2026-01-01T00:00:00+00:00&page=2'],
    [{ since: '2026-01-01' }, '/i?since=2026-01-01T00:00:00&page=2'],
    [{ where: '{"a": 1, "b": [2]}' }, '/i?where={"b":[2],"a":1}&page=2'],
    [{ limit: 100 }, '/i?page=2'],
    [{ limit: 100 }, '/i?per_page=100&page=2'],
    [{ limit: 100 }, '/i?limit=50&offset=50'],
    [{ 'page[size]': 100 }, '/i?page[number]=2'],
    [{ page: 1 }, '/i?page=2'],
    [{ offset: 0, state: 'open' }, '/i?offset=100&state=open'],
    [{ state: 'open' }, '/i?page=2&query=state%3Aopen'],
    [{ state: 'open' }, '/i/open?page=2'],
    [{ state: 'open' }, '/i/open/page/2'],
    [{ state: 'open' }, '/i?page=2&state=open&sort=asc'],
    // A cursor may know the parameters.
    [{ state: 'open' }, '/i?cursor=abc'],
    [{ state: 'open' }, '/i?page_info=eyJsYXN0X2lkIjo0fQ'],
    [{ state: 'open' }, '/i?starting_after=100'],
    [{ state: 'open' }, '/i?Page=1&PageSize=50&PageToken=PAIS123'],
    [{ state: 'open' }, '/i?page=2&search_id=88'],
    [{ state: 'open' }, '/i?page=2&s=9f8a7b6c5d4e3f2a'],
    [{ state: 'open' }, '/query/01gD0000002HU6KIAW-2000'],
    [{ state: 'open' }, '/i?$skiptoken=1234'],
    // With other names, of which filters make use, too.
    [{ from: 0 }, '/i?page=2'],
    [{ from: 0 }, '/i?from=50'],
    [{ max: 10 }, '/i?page=2&per_page=10'],
    [{ rows: 10 }, '/i?start=10&rows=5'],
  ])('R2 is nothing: %j, %s', (query, address) => {
    expect(lossesIn(query, address)).toEqual([]);
  });

  test.each([
    [{ state: 'open' }, '/i?page=2', ['state']],
    [{ state: 'open' }, '/i?p=2', ['state']],
    [{ state: 'open' }, '/i?page[number]=2&page[size]=10', ['state']],
    [{ state: 'open' }, '/i?offset=100&limit=100', ['state']],
    [{ state: 'open' }, '/i?$skip=100&$top=50', ['state']],
    [{ state: 'open' }, '/i?startAt=50&maxResults=50', ['state']],
    [{ state: 'open' }, '/i?start=50', ['state']],
    [{ state: 'open' }, '/i?from=50&size=50', ['state']],
    [{ state: 'open' }, '/i?page=2&sort=asc&format=json', ['state']],
    [{ state: 'open' }, '/i?page=2&state=', ['state']],
    [{ state: 'open' }, '/i?page=2&state=closed', ['state']],
    [{ state: 'open' }, '/i?page=2&state=open&state=closed', ['state']],
    [{ state: 'open' }, '/i/page/2', ['state']],
    [{ ids: ['1', '2'] }, '/i?ids[]=1&page=2', ['ids']],
    [{ archived: false }, '/i?page=2', ['archived']],
    [{ since: '2026-01-01T00:00:00Z' }, '/i?page=2&since=2026-01-01', []],
    [{ since: '2026-01-01T10:00:00Z' }, '/i?page=2&since=2026-01-01', ['since']],
    [{ page: 1, state: 'open', lang: 'en' }, '/i?page=2', ['state', 'lang']],
    [{ q: 'a b' }, '/i?q=a%2520b&page=2', ['q']],
    [{ limit: 100, min: '5' }, '/i?page=2&limit=100', ['min']],
    [{ from: 2020 }, '/i?page=2', ['from']],
    [{ position: 3, index: '7' }, '/i?page=2', ['position', 'index']],
    [{ max: 2020, count: '3', first: 2020 }, '/i?page=2', ['max', 'count', 'first']],
    [{ kind: 'post' }, '/i?sort=postdate&page=2', ['kind']],
    [{ type: '1' }, '/i?api=1&page=2', ['type']],
    [{ status: 'i' }, '/i?page=2', ['status']],
    [{ state: 'open' }, '/i?page=2&request_id=77', ['state']],
    [{ state: 'open' }, '/i?page=2&trace=4bf92f3577b34da6', ['state']],
  ])('R2 is found: %j, %s, %j', (query, address, names) => {
    expect(lossesIn(query as Parameters<typeof lossesIn>[0], address)).toEqual(names);
  });
});

test.each([
  [{ from: 2020, state: 'open' }, 'page=2', { from: 2020, state: 'open' }],
  [{ position: 3, row: '7' }, 'page=2&per_page=10', { position: 3, row: '7' }],
  [{ page: 1, limit: 100 }, 'page=2&per_page=10', {}],
])('R2 keep: true adds what an address has lost: %j, %s', (query, raw, lost) => {
  expect(keepParams(query, raw, true).query).toEqual(lost);
});

describe('R5 an odd address of a next page', () => {
  const say = async (next: string, options: LinkOptions = { at: 'next' }) => {
    const server = await serve(() => ({ body: { items: [{ id: 1, status: 'x' }], next } }));
    const items = itemsOf(options, { query: {} });
    return openListing(items, { ...server, auth: noAuth })()
      .toArray()
      .catch(String);
  };

  test.each([
    ['http://127.0.0.1:443:443/api/items?page=2', 'it has "http://127.0.0.1:443:443/api/items", which is not a URL'],
    ['https://[half/items', 'which is not a URL'],
    [
      '/items?page=2',
      'points to "/items", which is not below the base URL: the key must not go there. Its path does not',
    ],
    ['https://elsewhere.example/api/items?page=2', 'Its origin is not http://127.0.0.1:'],
    ['http://localhost/api/items?page=2', '"http://localhost/api/items", which is not below'],
    ['/api/items?q=a b', `it points to "/api/items", and has a character that can't be sent as it is`],
  ])('R5 is shown, and the error says what is wrong and that at may be a function: %s', async (next, message) => {
    const error = await say(next);
    expect(error).toContain(message);
    expect(error).toContain('let at of byLink() be a function that does, e.g. ({ body }) => …');
    expect(error).not.toContain('Is the base URL right');
  });

  test('R5 can be mended by such a function', async () => {
    const rows = await serve((url) => ({
      body: { items: [{ id: url.search }], next: url.search === '' ? '/items?page=2' : null },
    }));
    const at: LinkOptions['at'] = ({ at }) => (typeof at('next') === 'string' ? `/api${String(at('next'))}` : null);
    const source = openListing(itemsOf({ at }, { query: {} }), { ...rows, auth: noAuth })();
    expect(await source.toArray()).toEqual([{ id: '' }, { id: '?page=2' }]);
  });
});
