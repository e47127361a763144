import { describe, expect, test } from 'vitest';
import { exportTo, createClient, memoryState, type Position, type Source } from '../../src/index.js';
import {
  byCursor,
  byKeyset,
  byLink,
  byOffset,
  byPage,
  bySince,
  defineApi,
  graphqlErrors,
  listing,
  noAuth,
  onePage,
  rowOf,
  type Listing,
  type ListingDefinition,
  type Paging,
} from '../../src/define/index.js';
import { onTestEnd } from '../../../../scripts/testScope.js';
import { recordingSink } from '../rows/sink/recordingSink.js';
import { numbered, openListing, serve, type Said } from './servedApi.js';

type Row = Record<string, unknown>;
type Definition = ListingDefinition<Row, object, object>;

/** As JavaScript calls it: the definition is made of parts. */
const listingOf = listing as unknown as (definition: unknown) => Listing<Row, object>;
const number = (url: URL, name: string, otherwise: number): number => Number(url.searchParams.get(name) ?? otherwise);

/** A listing on a server; what the server says is up to the test. */
async function open(
  definition: Partial<Definition> & { readonly paging: Paging },
  say: (url: URL, nth: number) => Said,
) {
  const server = await serve(say);
  const items = listingOf({ path: '/items', rows: 'items', columns: ['id'], ...definition });
  return { ...server, items, source: openListing(items, { ...server, auth: noAuth })() };
}

interface Numbered {
  readonly count: number;
  /** The server sends no more rows than these. */
  readonly clamp?: number;
  /** Behind the last page, it sends that again. */
  readonly repeats?: boolean;
  readonly more?: object;
}

/** A server of numbered pages. */
function pages({ count, clamp = 1_000, repeats = false, more }: Numbered): (url: URL) => Said {
  return (url) => {
    const size = Math.min(number(url, 'limit', 10), clamp);
    const last = Math.max(1, Math.ceil(count / size));
    const asked = number(url, 'page', 1);
    const page = repeats ? Math.min(asked, last) : asked;
    return { body: { items: numbered(count).slice((page - 1) * size, page * size), ...more } };
  };
}

/** A server that gives a cursor with every page, also with the last one. */
function cursors(count: number, size: number, of: (begin: number) => object = () => ({})): (url: URL) => Said {
  return (url) => {
    const begin = number(url, 'after', 0);
    const items = numbered(count).slice(begin, begin + size);
    return { body: { items, next: `${begin + items.length}`, ...of(begin + items.length) } };
  };
}

const pageSize = { param: 'limit', default: 10, max: 100 } as const;
const byNumber = byPage({ param: 'page' });
const always = byCursor({ param: 'after', at: 'next' });

async function positionsOf(source: Source<Row>): Promise<Position[]> {
  const positions: Position[] = [];
  for await (const { position } of source.pages()) positions.push(JSON.parse(JSON.stringify(position)) as Position);
  return positions;
}

async function rowsFrom(source: Source<Row>, startAt: Position): Promise<Row[]> {
  const rows: Row[] = [];
  for await (const { items } of source.pages({ startAt })) rows.push(...items);
  return rows;
}

describe("R2 until: 'short-page'", () => {
  const definition = { paging: byNumber, pageSize, until: 'short-page' } as const;

  test.each([
    [0, 1],
    [3, 2],
    [9, 2],
    [10, 2],
    [13, 3],
    [20, 3],
  ])('R2 ends %i rows after %i requests', async (count, requests) => {
    const { source, asked } = await open(definition, pages({ count }));
    expect(await source.toArray()).toEqual(numbered(count));
    expect(asked).toHaveLength(requests);
  });

  test.each([1, 5, 9, 10, 15, 30, 40, 75, 100, 999])(
    'R2 a short page of %i rows is followed by another request, since servers clamp the page size',
    async (clamp) => {
      const large = { param: 'limit', default: 2_000, max: 2_000 };
      const clamped = await open({ ...definition, pageSize: large }, pages({ count: 2 * clamp + 3, clamp }));
      expect(await clamped.source.toArray()).toEqual(numbered(2 * clamp + 3));
      expect(clamped.asked).toHaveLength(Math.ceil(3 + 3 / clamp));
      const single = await open({ ...definition, pageSize: large }, pages({ count: clamp }));
      expect(await single.source.toArray()).toEqual(numbered(clamp));
      expect(single.asked).toHaveLength(2);
    },
  );

  test.each([400, 404, 416, 422])('R2 a page behind a short one that is refused with %i is none', async (status) => {
    for (const count of [4, 37]) {
      const numberedPages = pages({ count });
      const { source, asked } = await open(definition, (url) =>
        number(url, 'page', 1) > Math.ceil(count / 10)
          ? { status, body: { detail: 'Invalid page.' } }
          : numberedPages(url),
      );
      expect(await source.toArray()).toEqual(numbered(count));
      expect(asked).toHaveLength(Math.ceil(count / 10) + 1);
    }
  });

  test.each([
    ['behind a full page', 20, {}],
    ['of which the total has more', 17, { total: 30 }],
  ])('R2 a refused page %s is an error', async (_, count, more) => {
    const numberedPages = pages({ count, more });
    const { source } = await open({ ...definition, total: 'total?' }, (url) =>
      number(url, 'page', 1) > 2 ? { status: 404, body: {} } : numberedPages(url),
    );
    await expect(source.toArray()).rejects.toMatchObject({ code: 'http', status: 404 });
  });

  test('R2 no page is requested behind a short one if the total says that all rows have come', async () => {
    const { source, asked } = await open({ ...definition, total: 'total' }, pages({ count: 37, more: { total: 37 } }));
    expect(await source.toArray()).toHaveLength(37);
    expect(asked).toHaveLength(4);
    // A total that is the number of rows of its own page says nothing of others.
    const clamped = await open({ ...definition, total: 'total' }, (url) => {
      const page = numbered(37).slice(9 * (number(url, 'page', 1) - 1), 9 * number(url, 'page', 1));
      return { body: { items: page, total: page.length } };
    });
    expect(await clamped.source.toArray()).toHaveLength(37);
  });

  /** Walks listings of these lengths, of each of which the server sends at most 40 rows a page. */
  async function requestsOf(lengths: readonly number[]) {
    const names = lengths.map((length, nth) => `${String(length)}.${String(nth)}`);
    const { source, asked } = await open(
      { ...definition, pageSize: { ...pageSize, default: 100 }, partitions: { of: names }, query: { of: '{of}' } },
      (url) => {
        const rows = numbered(parseInt(url.searchParams.get('of') ?? '', 10));
        const start = 40 * (number(url, 'page', 1) - 1);
        return { body: { items: rows.slice(start, start + 40) } };
      },
    );
    expect(await source.toArray()).toHaveLength(lengths.reduce((sum, length) => sum + length, 0));
    return names.map(
      (name) => asked.filter((path) => new URL(path, 'http://x').searchParams.get('of') === name).length,
    );
  }

  test('R2 a short first page is trusted where a listing has ended at its size, e.g. that of another parent', async () => {
    expect(await requestsOf([7, 3, 3, 7, 3, 5, 7, 5])).toEqual([2, 2, 1, 2, 1, 2, 2, 1]);
    expect(await requestsOf([7, 7, 7, 7, 7])).toEqual([2, 2, 2, 1, 1]);
  });

  test('R2 it is not trusted if it is as long as a page that was followed by rows', async () => {
    expect(await requestsOf([41, 40, 40, 30, 30, 40])).toEqual([3, 2, 2, 2, 1, 2]);
    expect(await requestsOf([40, 40, 41, 90, 40])).toEqual([2, 2, 3, 4, 2]);
  });

  test.each([
    [1, 1],
    [2, 1],
    [2, 5],
    [3, 9],
  ])('R2 page %i may lack %i of its rows, and ends nothing', async (nth, lacking) => {
    const warnings: string[] = [];
    const { items, ...server } = await open(definition, (url) => {
      const page = number(url, 'page', 1);
      const items = numbered(37).slice((page - 1) * 10, page * 10);
      return { body: { items: page === nth ? items.slice(lacking) : items } };
    });
    const onWarning = (text: string): void => void warnings.push(text);
    expect(await openListing(items, { ...server, auth: noAuth, onWarning })().toArray()).toHaveLength(37 - lacking);
    expect(warnings).toEqual([expect.stringContaining('a page that was followed by more rows has fewer than others')]);
  });

  test('R2 pages of different parents may lack rows', async () => {
    const { source } = await open(
      { ...definition, partitions: { of: ['19', '29', '9', '39', '99'] }, query: { of: '{of}' } },
      (url) => {
        const page = number(url, 'page', 1);
        const items = numbered(Number(url.searchParams.get('of'))).slice((page - 1) * 10, page * 10);
        return { body: { items: page === 2 ? items.slice(1) : items } };
      },
    );
    expect(await source.toArray()).toHaveLength(18 + 28 + 9 + 38 + 98);
  });

  test('R2 a short page that comes again is the last one, whose rows come once', async () => {
    const { source, asked } = await open(definition, pages({ count: 23, repeats: true }));
    expect(await source.toArray()).toEqual(numbered(23));
    expect(asked).toHaveLength(4);
  });

  test.each<[string, object]>([
    ['more: true', { paging: byCursor({ param: 'page', at: 'next', more: 'more' }) }],
    ['a next address', { paging: byLink({ at: 'link' }) }],
    ['a number of pages', { paging: byPage({ param: 'page', pages: 'pages' }) }],
    ['a larger total', { paging: byNumber, total: 'total' }],
    ['a flag of a keyset', { paging: byKeyset([{ field: 'id', param: 'id' }], { more: 'more' }) }],
  ])('R2 does not end a listing that states %s', async (_what, states) => {
    // Each page is short.
    const { source } = await open({ ...definition, ...states }, (url) => {
      const page = number(url, 'page', (number(url, 'id', -1) + 1) / 4 + 1);
      const next = `/api/items?page=${String(page + 1)}`;
      const isLast = page >= 4;
      return {
        body: {
          items: page > 4 ? [] : numbered(4, (page - 1) * 4),
          next: String(page + 1),
          link: isLast ? null : next,
          more: !isLast,
          pages: 4,
          total: 16,
        },
      };
    });
    expect(await source.toArray()).toEqual(numbered(16));
  });

  test('R2 a total that only the first page has counts, too', async () => {
    const { source } = await open({ ...definition, total: 'total?' }, (url) => {
      const page = number(url, 'page', 1);
      return { body: { items: page > 3 ? [] : numbered(4, (page - 1) * 4), ...(page === 1 && { total: 12 }) } };
    });
    expect(await source.toArray()).toEqual(numbered(12));
  });

  test('R2 a partial page is never short', async () => {
    const { source } = await open({ ...definition, responses: graphqlErrors({ allowPartial: true }) }, (url) => {
      const page = number(url, 'page', 1);
      if (page === 1) return { body: { data: {}, items: [{ id: 0 }, null], errors: [{ message: 'one is missing' }] } };
      return { body: { items: page === 2 ? numbered(2, 1) : [] } };
    });
    expect(await source.toArray()).toEqual(numbered(3));
  });

  test('R2 counts the items of the list, not what a rows function leaves of them', async () => {
    const rows: Definition['rows'] = ({ at }) => ({
      rows: (at('items') as Row[]).filter(({ id }) => Number(id) % 5 === 0),
      at: 'items',
    });
    const { source, asked } = await open({ ...definition, rows }, pages({ count: 33 }));
    expect(await source.toArray()).toEqual([0, 5, 10, 15, 20, 25, 30].map((id) => ({ id })));
    expect(asked).toHaveLength(5);
  });

  test('R2 counts rows before the filter, and maxRows those after it', async () => {
    const filter = ({ id }: Row): boolean => Number(id) > 21;
    const { source, asked, items, ...server } = await open(
      { ...definition, filter, version: '1' },
      pages({ count: 33 }),
    );
    expect(await source.toArray()).toEqual(numbered(11, 22));
    expect(asked).toHaveLength(5);
    expect(await openListing(items, { ...server, auth: noAuth })({ maxRows: 2 }).toArray()).toEqual(numbered(2, 22));
  });

  test('R2 reads the last row again at an offset, also of an API that gives one row a page', async () => {
    const one = { param: 'limit', default: 1, max: 1 };
    const paging = byOffset({ param: 'skip' });
    const { source } = await open({ ...definition, pageSize: one, paging }, (url) => ({
      body: { items: numbered(5).slice(number(url, 'skip', 0), number(url, 'skip', 0) + 1) },
    }));
    expect(await source.toArray()).toEqual(numbered(5));
  });

  test.each([
    ['P7 a row that is added', 'rows-moved', (rows: Row[]) => void rows.unshift({ id: -1 })],
    ['R2 an offset that is ignored', 'no-progress', (rows: Row[]) => void rows.splice(1)],
  ])('%s between the last row and the one behind it is %s', async (_what, code, change) => {
    const one = { param: 'limit', default: 1, max: 1 };
    const rows = numbered(5);
    let asked = 0;
    const { source } = await open({ ...definition, pageSize: one, paging: byOffset({ param: 'skip' }) }, (url) => {
      if ((asked += 1) === 3) change(rows);
      const at = Math.min(number(url, 'skip', 0), rows.length - 1);
      return { body: { items: rows.slice(at, at + 1) } };
    });
    await expect(source.toArray()).rejects.toMatchObject({ code });
  });

  test('R2 goes with increments, whose pages begin with known rows', async () => {
    const rows = numbered(23).map(({ id }) => ({ id, at: 100 + Math.floor(id / 3) }));
    const warnings: string[] = [];
    const paging = bySince({ param: 'since', field: 'at', type: 'integer' });
    const { items, asked, ...server } = await open({ ...definition, paging }, (url) => ({
      body: { items: rows.filter(({ at }) => at >= number(url, 'since', 0)).slice(0, 10) },
    }));
    const onWarning = (text: string): void => void warnings.push(text);
    expect(await openListing(items, { ...server, auth: noAuth, onWarning })().toArray()).toEqual(rows);
    expect(warnings).toEqual([]);
    expect(asked).toHaveLength(4);
  });

  test.each([
    [{ paging: byNumber, until: 'short-page' }, /at until: 'short-page' needs pageSize with the max of the API/],
    [
      { paging: byNumber, until: 'short-page', pageSize: { param: 'limit', default: 10 } },
      /needs pageSize with the max/,
    ],
    [{ paging: byNumber, until: 'shortpage' }, /Did you mean short-page\?/],
    [{ paging: onePage(), until: 'no-rows' }, /at until: onePage\(\) ends after its page: leave until out/],
  ])('R2 %j is refused', (wrong, message) => {
    const definition = { path: '/items', rows: 'items', columns: ['id'], ...wrong } as Definition;
    expect(() => listing(definition)).toThrow(message);
  });
});

describe("R2 until: 'no-rows'", () => {
  test('R2 ends a listing of which each page has a cursor', async () => {
    const { source, asked } = await open({ paging: always, until: 'no-rows' }, cursors(25, 10));
    expect(await source.toArray()).toEqual(numbered(25));
    expect(asked).toHaveLength(4);
  });

  test.each<[string, Paging]>([
    ['cursor', byCursor({ param: 'scroll', at: 'scroll' })],
    ['address', byLink({ at: 'link' })],
    ['address, with a flag that stays true,', byLink({ at: 'link', more: 'more' })],
  ])('R2 ends one whose API gives one %s for the whole batch', async (_what, paging) => {
    const { source, asked } = await open({ paging, until: 'no-rows' }, (_url, nth) => ({
      body: {
        items: nth > 3 ? [] : numbered(5, (nth - 1) * 5),
        scroll: 'b6c2',
        link: '/api/batch?id=b6c2',
        more: true,
      },
    }));
    expect(await source.toArray()).toEqual(numbered(15));
    expect(asked).toHaveLength(4);
  });

  test('R2 follows an empty page of which the API states more, or a larger total', async () => {
    const empty = (url: URL): Said => {
      const { items, ...rest } = cursors(15, 5)(url).body as { items: Row[]; next: string };
      return { body: { items, ...rest } };
    };
    for (const states of [{ more: true }, { total: 15 }]) {
      const paging = byCursor({ param: 'after', at: 'next', ...('more' in states && { more: 'more' }) });
      const total = 'total' in states ? 'total' : undefined;
      const { source } = await open({ paging, until: 'no-rows', ...(total && { total }) }, (url, nth) => {
        const said = empty(url).body as { items: Row[]; next: string };
        if (nth === 2) return { body: { ...said, ...states, items: [], next: `00${String(number(url, 'after', 0))}` } };
        return { body: { ...said, ...states, ...('more' in states && { more: Number(said.next) < 15 }) } };
      });
      expect(await source.toArray()).toEqual(numbered(15));
    }
  });

  test('R2 without it, the error names it', { tags: ['slow'] }, async () => {
    const { source } = await open({ paging: byCursor({ param: 'after', at: 'next' }) }, (url) => ({
      body: { items: [], next: String(number(url, 'after', 0) + 1) },
    }));
    await expect(source.toArray()).rejects.toThrow("set until: 'no-rows'");
  });
});

describe("R2 until: 'repeated-page'", () => {
  const definition = { paging: byNumber, pageSize, until: 'repeated-page' } as const;

  test.each([
    [23, 4],
    [20, 3],
    [3, 2],
  ])('R2 ends %i rows at the last page when it comes again, after %i requests', async (count, requests) => {
    const { source, asked } = await open(definition, pages({ count, repeats: true }));
    expect(await source.toArray()).toEqual(numbered(count));
    expect(asked).toHaveLength(requests);
  });

  test('R2 a repeated first page is an error, since an ignored parameter looks the same', async () => {
    for (const count of [10, 40]) {
      const { source } = await open(definition, () => pages({ count })(new URL('http://x')));
      const walk = source.toArray();
      await expect(walk).rejects.toMatchObject({ code: 'no-progress' });
      await expect(walk).rejects.toThrow("set until: 'repeated-page' (the only page must also be shorter");
    }
  });

  test('R2 so is one whose size a server may have chosen', async () => {
    const large = { param: 'limit', default: 100, max: 100 };
    const { source } = await open({ ...definition, pageSize: large }, () => ({ body: { items: numbered(20) } }));
    await expect(source.toArray()).rejects.toMatchObject({ code: 'no-progress' });
  });

  test('R2 it is the end if the total agrees', async () => {
    const { source } = await open(
      { ...definition, total: 'total' },
      pages({ count: 10, repeats: true, more: { total: 10 } }),
    );
    expect(await source.toArray()).toEqual(numbered(10));
    const larger = await open(
      { ...definition, total: 'total' },
      pages({ count: 10, repeats: true, more: { total: 40 } }),
    );
    await expect(larger.source.toArray()).rejects.toMatchObject({ code: 'no-progress' });
  });

  test('R2 only the page directly before counts, and all of its rows', async () => {
    const wide = numbered(30).map(({ id }) => ({ id, name: 'x' }));
    // The fingerprint of a page is made of eight rows, and the second is not among them.
    const changed = wide.map((row) => (row.id === 11 ? { ...row, name: 'y' } : row));
    const { source } = await open(
      { ...definition, pageSize: { param: 'limit', default: 10, max: 10 } },
      (_url, nth) => ({
        body: { items: (nth === 3 ? changed : wide).slice(nth === 1 ? 0 : 10, nth === 1 ? 10 : 20) },
      }),
    );
    await expect(source.toArray()).rejects.toMatchObject({ code: 'no-progress' });
    const circle = await open(definition, (_url, nth) => ({ body: { items: numbered(10, (nth % 3) * 10) } }));
    await expect(circle.source.toArray()).rejects.toMatchObject({ code: 'no-progress' });
  });

  test('R2 ends after a resume at any page as well', async () => {
    const { source } = await open(definition, pages({ count: 23, repeats: true }));
    const positions = await positionsOf(source);
    expect(positions).toHaveLength(4);
    for (const position of positions)
      expect(await rowsFrom(source, position)).toEqual(numbered(23).slice(position.rows));
  });
});

describe('R2 until as a function', () => {
  test('R2 ends after the page for which it returns true', async () => {
    const { source, asked } = await open(
      { paging: always, until: ({ at }) => at('end_of_stream') === true },
      cursors(25, 10, (end) => ({ end_of_stream: end >= 25 })),
    );
    expect(await source.toArray()).toEqual(numbered(25));
    expect(asked).toHaveLength(3);
  });

  test('R2 does not end what is stated to have more', async () => {
    const { source } = await open(
      { paging: byPage({ param: 'page', pages: 'pages' }), pageSize, until: () => true },
      pages({ count: 35, more: { pages: 4 } }),
    );
    expect(await source.toArray()).toEqual(numbered(35));
  });

  test('R2 must return true or false', async () => {
    const until = (() => Promise.resolve(true)) as unknown as () => boolean;
    const { source } = await open({ paging: always, until }, cursors(5, 10));
    await expect(source.toArray()).rejects.toThrow(
      'its until function returned an object. It must return true or false',
    );
  });
});

test('R2 until is part of what a checkpoint must match', async () => {
  const infoOf = (until?: Definition['until']) =>
    openListing(
      listing<Row>({ path: '/items', rows: 'items', columns: ['id'], paging: always, ...(until && { until }) }),
      { baseUrl: 'https://api.example.com', auth: noAuth },
    )().info;
  const identities = [undefined, 'no-rows' as const, 'repeated-page' as const, () => true].map((until) =>
    infoOf(until),
  );
  expect(new Set(identities.map(({ identity }) => JSON.stringify(identity))).size).toBe(4);
  expect(new Set(identities.map(({ rowsIdentity }) => JSON.stringify(rowsIdentity))).size).toBe(4);
});

test.each(['short-page', 'no-rows', 'repeated-page'] as const)(
  'R2 E4 an export that ends by %s has each row once, wherever it was interrupted',
  { tags: ['slow'] },
  async (until) => {
    for (let stop = 1; stop <= 5; stop += 1) {
      let left = stop;
      const { source } = await open({ paging: byNumber, pageSize, until, version: '1' }, (url) =>
        left-- === 0 ? { status: 404 } : pages({ count: 23, repeats: until === 'repeated-page' })(url),
      );
      const state = memoryState();
      const sink = recordingSink<Row>();
      const run = () => exportTo(source, sink, { state, commitEvery: 1 }).run();
      await run().catch(() => undefined);
      left = Infinity;
      await run();
      expect(sink.rows).toEqual(numbered(23));
    }
  },
);

describe('R2 requests of 200 parents with three rows each', () => {
  test.each<[number, string, Partial<Definition> & { readonly paging: Paging }]>([
    [201, 'the number of pages', { paging: byPage({ param: 'page', pages: 'pages' }) }],
    [201, 'a flag', { paging: byCursor({ param: 'after', at: 'next', more: 'more' }) }],
    [201, 'the lack of a link', { paging: byLink() }],
    [201, 'onePage', { paging: onePage() }],
    [204, 'a short page, of numbers', { paging: byNumber, pageSize, until: 'short-page' }],
    [204, 'a short page, of offsets', { paging: byOffset({ param: 'skip' }), pageSize, until: 'short-page' }],
  ])('R2 %i where %s ends a listing', { tags: ['slow'] }, async (requests, _what, end) => {
    const { baseUrl, asked } = await serve((url) => {
      const parent = /\/parents\/(\d+)/.exec(url.pathname)?.[1];
      if (parent === undefined) return { body: { items: numbered(200) } };
      const from = number(url, 'page', 1) > 1 ? 3 : number(url, 'skip', 0);
      const items = numbered(3 - from, 1_000 * Number(parent) + from);
      return { body: { items, pages: 1, next: '3', more: false } };
    });
    const common = { rows: 'items', columns: ['id'], key: ({ id }: Row) => String(id), version: '1' };
    const api = defineApi({
      name: 'test',
      auth: noAuth,
      rateLimit: false,
      sources: {
        parents: listing<Row>({ ...common, path: '/parents', paging: onePage() }),
        items: listing({
          ...common,
          each: rowOf({ source: 'parents', params: ({ id }: Row) => ({ parent: String(id) }) }),
          path: '/parents/{parent}',
          ...(end as object as { paging: Paging }),
        }),
      },
    });
    const client = createClient({ apiKey: false }).use(api({ baseUrl }));
    onTestEnd(() => client.close());
    const rows = await client.test.items().toArray();
    expect(rows).toHaveLength(600);
    expect(asked).toHaveLength(requests);
  });
});
