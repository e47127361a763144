import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { createClient, type Json, type Position, type Source } from '../../src/index.js';
import {
  byConnection,
  byCursor,
  byHeader,
  byKeyset,
  byLink,
  byOffset,
  byPage,
  defineApi,
  listing,
  queryKey,
  type MoreOptions,
  type PageSize,
  type Paging,
} from '../../src/define/index.js';
import { numbered, openListing, serve, type Asked, type Said } from './servedApi.js';
import { cursorOf } from '../../src/define/pages/paging.js';

type Row = Record<string, unknown>;

/** How a server pages that fits a kind of paging: what stands at a place, in pages of so many rows. */
interface Fitting {
  readonly paging: Paging;
  readonly pageSize?: PageSize;
  readonly total?: string;
  readonly method?: 'POST';
  readonly body?: Json;
  readonly answer: (url: URL, rows: readonly Row[], body: Asked['body']) => Said;
}

const size = 10;
const number = (url: URL, name: string, otherwise: number): number => Number(url.searchParams.get(name) ?? otherwise);

function pageOf(rows: readonly Row[], page: number): { items: readonly Row[]; pages: number; isLast: boolean } {
  const pages = Math.ceil(rows.length / size);
  return { items: rows.slice((page - 1) * size, page * size), pages, isLast: page >= pages };
}

/** A server that accepts only multiples of the page size as offsets. */
const multiplesOnly: Fitting['answer'] = (url, rows) => {
  const [skip, take] = [number(url, 'skip', 0), number(url, 'take', size)];
  return skip % take === 0 ? { body: { items: rows.slice(skip, skip + take) } } : { status: 400, body: {} };
};

const kinds: Record<string, Fitting> = {
  byCursor: {
    paging: byCursor({ param: 'after', at: 'meta.next' }),
    answer(url, rows) {
      const page = number(url, 'after', 1);
      const { items, isLast } = pageOf(rows, page);
      return { body: { items, meta: { next: isLast ? null : String(page + 1) } } };
    },
  },
  'byCursor with numbers, as next_page has them': {
    paging: byCursor({ param: 'page', at: 'next_page?' }),
    answer(url, rows) {
      const page = number(url, 'page', 1);
      const { items, isLast } = pageOf(rows, page);
      return { body: { items, ...(!isLast && { next_page: page + 1 }) } };
    },
  },
  "byCursor with the last row's id, and a flag": {
    paging: byCursor({ param: 'after', at: ({ at }) => (at('items') as Row[]).at(-1)?.['id'], more: 'has_more' }),
    answer(url, rows) {
      const begin = rows.findIndex(({ id }) => String(id) === url.searchParams.get('after')) + 1;
      return { body: { items: rows.slice(begin, begin + size), has_more: begin + size < rows.length } };
    },
  },
  'byOffset with a total': {
    paging: byOffset({ param: 'skip' }),
    pageSize: { param: 'take', default: size },
    total: 'total',
    answer(url, rows) {
      const skip = number(url, 'skip', 0);
      return { body: { items: rows.slice(skip, skip + number(url, 'take', size)), total: rows.length } };
    },
  },
  'byOffset without a total': {
    paging: byOffset({ param: 'skip' }),
    answer(url, rows) {
      const skip = number(url, 'skip', 0);
      return { body: { items: rows.slice(skip, skip + size) } };
    },
  },
  'byOffset that counts from 1': {
    paging: byOffset({ param: 'startIndex', first: 1 }),
    pageSize: { param: 'count', default: size },
    total: 'totalResults',
    answer(url, rows) {
      // RFC 7644, 3.4.2.4: a value below 1 is 1.
      const start = Math.max(1, number(url, 'startIndex', 1)) - 1;
      return { body: { items: rows.slice(start, start + number(url, 'count', size)), totalResults: rows.length } };
    },
  },
  'byOffset that counts pages': {
    paging: byOffset({ param: 'start', step: 'page' }),
    answer: (url, rows) => ({ body: { items: pageOf(rows, number(url, 'start', 0) + 1).items } }),
  },
  'byOffset that grows by the page size': {
    paging: byOffset({ param: 'skip', step: 'size' }),
    pageSize: { param: 'take', default: size, max: size },
    answer: multiplesOnly,
  },
  'byPage with the number of pages in a header': {
    paging: byPage({ param: 'p', pages: ({ headers }) => headers['x-total-pages'] }),
    answer(url, rows) {
      const { items, pages } = pageOf(rows, number(url, 'p', 1));
      return { body: { items }, headers: { 'X-Total-Pages': String(pages) } };
    },
  },
  'byLink that marks the last link, as Sentry does': {
    paging: byLink(),
    answer(url, rows) {
      const page = number(url, 'cursor', 1);
      const { items, isLast } = pageOf(rows, page);
      const link = (to: number, rel: string, results: boolean) =>
        `<${url.origin}/api/items?cursor=${String(to)}>; rel="${rel}"; results="${String(results)}"; cursor="0:${String(to)}:0"`;
      return {
        body: { items },
        headers: { Link: `${link(page - 1, 'previous', page > 1)}, ${link(page + 1, 'next', !isLast)}` },
      };
    },
  },
  'byPage with the number of pages': {
    paging: byPage({ param: 'p', first: 0, pages: 'pages' }),
    answer(url, rows) {
      const { items, pages } = pageOf(rows, number(url, 'p', 0) + 1);
      return { body: { items, pages } };
    },
  },
  'byPage without one': {
    paging: byPage({ param: 'p' }),
    answer: (url, rows) => ({ body: { items: pageOf(rows, number(url, 'p', 1)).items } }),
  },
  'byLink in a header': {
    paging: byLink(),
    answer(url, rows) {
      const page = number(url, 'p', 1);
      const { items, isLast } = pageOf(rows, page);
      const links = ['</api>; rel="up"', ...(isLast ? [] : [`<?p=${String(page + 1)}&tag=a&tag=b>; rel="next"`])];
      return { body: { items }, headers: { Link: links } };
    },
  },
  'byLink in the body': {
    paging: byLink({ at: 'links.next?.href' }),
    answer(url, rows) {
      const page = number(url, 'p', 1);
      const { items, isLast } = pageOf(rows, page);
      const next = isLast ? null : { href: `${url.origin}/api/other/items?p=${String(page + 1)}` };
      return { body: { items, links: { next } } };
    },
  },
  'byCursor in a body': {
    method: 'POST',
    body: { filter: { tag: 'a' }, page: { size } },
    paging: byCursor({ into: 'page.after', at: 'meta.next' }),
    answer(_url, rows, body) {
      const { after = 1 } = body?.['page'] as { after?: string };
      const { items, isLast } = pageOf(rows, Number(after));
      return { body: { items, meta: { next: isLast ? null : String(Number(after) + 1) } } };
    },
  },
  byConnection: {
    method: 'POST',
    body: { query: 'query …', variables: { first: size, after: null } },
    paging: byConnection('data.all'),
    answer(_url, rows, body) {
      const { after } = body?.['variables'] as { after: string | null };
      const { items, isLast } = pageOf(rows, Number(after ?? 1));
      const pageInfo = { hasNextPage: !isLast, endCursor: items.length === 0 ? null : String(Number(after ?? 1) + 1) };
      return { body: { items, data: { all: { pageInfo } } } };
    },
  },
  'byOffset in a body': {
    method: 'POST',
    paging: byOffset({ into: 'from' }),
    pageSize: { into: 'size', default: size },
    answer(_url, rows, body) {
      const { from = 0, size: take } = body as { from?: number; size: number };
      return { body: { items: rows.slice(from, from + take) } };
    },
  },
  'byPage in a body': {
    method: 'POST',
    paging: byPage({ into: 'paging.number' }),
    answer(_url, rows, body) {
      const { number: page } = (body?.['paging'] ?? { number: 1 }) as { number: number };
      return { body: { items: pageOf(rows, page).items } };
    },
  },
  'byPage with a flag of the last page': {
    paging: byPage({ param: 'page', first: 0, last: 'last' }),
    answer(url, rows) {
      const { items, isLast } = pageOf(rows, number(url, 'page', 0) + 1);
      return { body: { items, last: isLast } };
    },
  },
  'byOffset with a flag of the last page': {
    paging: byOffset({ param: 'startAt', last: 'isLast' }),
    answer(url, rows) {
      const begin = number(url, 'startAt', 0);
      return { body: { items: rows.slice(begin, begin + size), isLast: begin + size >= rows.length } };
    },
  },
  'byLink with a flag of the last page, which has an address, too': {
    paging: byLink({ at: 'after', last: 'end_of_stream' }),
    answer(url, rows) {
      const page = number(url, 'page', 1);
      const { items, isLast } = pageOf(rows, page);
      return { body: { items, after: `/api/items?page=${String(page + 1)}`, end_of_stream: isLast } };
    },
  },
  byHeader: {
    paging: byHeader({ header: 'X-Continuation', param: 'token' }),
    answer(url, rows) {
      const page = number(url, 'token', 1);
      const { items, isLast } = pageOf(rows, page);
      return { body: { items }, headers: isLast ? {} : { 'x-continuation': String(page + 1) } };
    },
  },
  'byKeyset in a query': {
    paging: byKeyset([
      { field: 'group', param: 'after_group' },
      { field: 'id', param: 'after_id' },
    ]),
    answer(url, rows) {
      const group = url.searchParams.get('after_group');
      const id = url.searchParams.get('after_id');
      const begin = rows.findIndex((row) => `g${String(row['id'])}` === group && String(row['id']) === id) + 1;
      return {
        body: { items: rows.slice(begin, begin + size).map((row) => ({ ...row, group: `g${String(row['id'])}` })) },
      };
    },
  },
  'byKeyset in a body, with a flag': {
    method: 'POST',
    paging: byKeyset([{ field: 'id', into: 'search_after[0]' }], { more: 'more' }),
    answer(_url, rows, body) {
      const [id] = (body?.['search_after'] ?? []) as number[];
      const begin = rows.findIndex((row) => row['id'] === id) + 1;
      return { body: { items: rows.slice(begin, begin + size), more: begin + size < rows.length } };
    },
  },
};

/** A listing of rows on a server; `meddle` may change what it says. */
async function open(
  { paging, pageSize, total, method, body, answer }: Fitting,
  rows: readonly Row[],
  meddle: (said: Said, nth: number, url: URL) => Said = (said) => said,
) {
  const server = await serve((url, nth, asked) => meddle(answer(url, rows, asked.body), nth, url));
  const items = listing({
    path: '/items',
    paging,
    rows: 'items',
    columns: ['id'],
    ...(pageSize && { pageSize }),
    ...(method && { method }),
    ...(body !== undefined && { body }),
    ...(total !== undefined && { total }),
  });
  const warnings: string[] = [];
  return { ...server, warnings, source: openListing(items, { ...server, onWarning: (text) => warnings.push(text) })() };
}

async function positionsOf(source: Source<Row>): Promise<Position[]> {
  const positions: Position[] = [];
  for await (const { position } of source.pages()) positions.push(JSON.parse(JSON.stringify(position)) as Position);
  return positions;
}

async function rowsFrom(source: Source<Row>, startAt: Position | string): Promise<Row[]> {
  const rows: Row[] = [];
  for await (const { items } of source.pages({ startAt })) rows.push(...items);
  return rows;
}

/** Rows without what a server adds to them. */
function idsOf(rows: readonly Row[]): Row[] {
  return rows.map(({ id }) => ({ id }));
}

describe.each(Object.entries(kinds))('paging %s', (_name, kind) => {
  test.each([0, 1, 9, 10, 11, 20, 37])('gives all of %i rows', async (count) => {
    const { source, asked } = await open(kind, numbered(count));
    expect(idsOf(await source.toArray())).toEqual(numbered(count));
    expect(asked.length).toBeLessThanOrEqual(Math.ceil(count / (size - 1)) + 2);
  });

  test('P7 goes on from any position that a walk has reached, and P6 from that of a fault', async () => {
    let isBroken = false;
    const { source } = await open(kind, numbered(47), (said, nth) => (isBroken && nth > 3 ? { status: 404 } : said));
    const positions = await positionsOf(source);
    for (const position of positions)
      expect(idsOf(await rowsFrom(source, position))).toEqual(numbered(47 - position.rows, position.rows));
    isBroken = true;
    const failed = await rowsFrom(source, positions[1]!).catch((error: unknown) => error);
    expect(failed).toMatchObject({ position: positions[1] });
  });

  test('P4 a server that gives the same page again and again is an error', async () => {
    let first: Said | undefined;
    const { source, asked } = await open(kind, numbered(40), (said) => (first ??= said));
    await expect(source.toArray()).rejects.toMatchObject({ code: expect.stringMatching(/^(no-progress|rows-moved)$/) });
    expect(asked.length).toBeLessThanOrEqual(3);
  });

  test('P4 a server that goes in a wider circle is an error', async () => {
    const seen: Said[] = [];
    const { source, asked } = await open(kind, numbered(80), (said, nth) => {
      if (nth <= 4) seen.push(said);
      return seen[(nth - 1) % 4] ?? said;
    });
    await expect(source.toArray()).rejects.toMatchObject({ code: expect.stringMatching(/^(no-progress|rows-moved)$/) });
    expect(asked.length).toBeLessThanOrEqual(14);
  });

  test('a document of an unexpected shape is an error, and never the end', async () => {
    const { source } = await open(kind, numbered(40), (said, nth) =>
      nth === 2 ? { body: { message: 'busy' } } : said,
    );
    await expect(source.toArray()).rejects.toMatchObject({
      code: 'decode',
      details: { path: 'items' },
      position: { rows: expect.any(Number) },
    });
  });
});

describe('P5 an empty page in the middle is followed', () => {
  const emptied = (said: Said): Said => ({ ...said, body: { ...(said.body as object), items: [] } });

  test.each(['byCursor', 'byPage with the number of pages', 'byLink in a header', 'byLink in the body'])(
    'by %s',
    async (kind) => {
      const { source } = await open(kinds[kind]!, numbered(37), (said, nth) => (nth === 2 ? emptied(said) : said));
      expect(await source.toArray()).toEqual([...numbered(10), ...numbered(17, 20)]);
    },
  );
});

describe('paging by offset', () => {
  const kind = kinds['byOffset with a total']!;

  test('reads the last row again, so it sends one more row than is new', async () => {
    const { source, asked } = await open(kind, numbered(25));
    await source.toArray();
    expect(asked).toEqual(['/items?take=10', '/items?take=10&skip=9', '/items?take=10&skip=18']);
  });

  test('says that a server ignores the offset if it sends the first page again', async () => {
    let first: Said | undefined;
    const { source } = await open(kind, numbered(40), (said) => (first ??= said));
    await expect(source.toArray()).rejects.toThrow(
      'page 2 has the rows of the first one, so the API ignores the offset (is its parameter right?), or rows were added',
    );
  });

  test.each([
    ['added', [{ id: -1 }, ...numbered(40)]],
    ['removed', numbered(39, 1)],
  ])('P7 notices that a row before was %s', async (_what, later) => {
    const rows = numbered(40);
    const { source } = await open(kind, rows, (said, nth) => {
      if (nth === 1) rows.splice(0, rows.length, ...later);
      return said;
    });
    await expect(source.toArray()).rejects.toMatchObject({ code: 'rows-moved' });
  });

  test.each([
    ["that counts the page's rows", 10],
    ['that is capped', 20],
    ['that is too small', 0],
    ['that is too large', 1_000],
  ])('is not cut short by a total %s', async (_what, total) => {
    const { source } = await open(kind, numbered(45), ({ body }) => ({ body: { ...(body as object), total } }));
    expect(await source.toArray()).toEqual(numbered(45));
  });

  test('works with a server that gives fewer rows than it was asked for', async () => {
    const { source } = await open(kind, numbered(45), ({ body }) => {
      const { items, total } = body as { items: Row[]; total: number };
      return { body: { items: items.slice(0, 4), total } };
    });
    expect(await source.toArray()).toEqual(numbered(45));
  });

  test('works with a server that gives one row a page, however many are asked for', async () => {
    const { paging, answer, pageSize } = kind;
    for (const of of [kind, { paging, answer, ...(pageSize && { pageSize }) }]) {
      const { source } = await open(of, numbered(12), ({ body }) => {
        const { items, total } = body as { items: Row[]; total: number };
        return { body: { items: items.slice(0, 1), total } };
      });
      expect(await source.toArray()).toEqual(numbered(12));
    }
  });

  test("works with a server that gives fewer rows, and counts no more than the page's", async () => {
    const { source } = await open(kind, numbered(25), ({ body }) => {
      const items = (body as { items: Row[] }).items.slice(0, 5);
      return { body: { items, total: items.length } };
    });
    expect(await source.toArray()).toEqual(numbered(25));
  });

  test('works with a server that gives fewer rows, and does not count on', async () => {
    const { source } = await open(kind, numbered(25), ({ body }) => {
      const items = (body as { items: Row[] }).items.slice(0, 5);
      return { body: { items, total: 9 } };
    });
    expect(await source.toArray()).toEqual(numbered(25));
  });

  test('P4 a listing that has rows by its total, and gives none, is an error', async () => {
    const { source } = await open(kind, [], () => ({ body: { items: [], total: 25 } }));
    await expect(source.toArray()).rejects.toMatchObject({ code: 'no-progress' });
  });

  test('compares the row that it reads again with how it came, whatever became of it since', async () => {
    const { source } = await open(kind, numbered(45));
    const seen: unknown[] = [];
    for await (const row of source) seen.push(Object.assign(row, { seen: true }));
    expect(seen).toHaveLength(45);
  });

  test('can not begin at a cursor', async () => {
    const { source } = await open(kind, numbered(45));
    await expect(rowsFrom(source, '20')).rejects.toMatchObject({ code: 'config' });
  });
});

describe('paging by cursor', () => {
  const items = (at: string, more?: string) =>
    listing({
      path: '/items',
      rows: 'items',
      columns: ['id'],
      paging: byCursor({ param: 'after', at, ...(more !== undefined && { more }) }),
    });

  test.each<[unknown, unknown]>([
    ['c', { cursor: 'c' }],
    [' ', { cursor: ' ' }],
    [7, { cursor: '7' }],
    [0, { cursor: '0' }],
    ['', 'end'],
    [null, 'end'],
  ])('with %j goes on: %j', (next, goes) => {
    expect(items('next').read({ body: { items: [], next } }).next).toEqual(goes);
  });

  test.each([false, true, {}, [], 1.5, 9007199254740993])('with %j is an error', (next) => {
    expect(() => items('next').read({ body: { items: [], next } })).toThrow(/at next: it is not text/);
  });

  test('that may be missing ends without one, and else a missing one is an error', () => {
    expect(items('next?').read({ body: { items: [] } }).next).toBe('end');
    expect(() => items('next').read({ body: { items: [] } })).toThrow(/at next: there is no such field/);
    expect(() => items('meta.next?').read({ body: { items: [] } })).toThrow(/at meta: there is no such field/);
  });

  test('believes a flag about the end, and only true or false', () => {
    const flagged = items('next?', 'more');
    expect(flagged.read({ body: { items: [], next: 'c', more: false } }).next).toBe('end');
    expect(flagged.read({ body: { items: [], next: 'c', more: true } }).next).toEqual({ cursor: 'c' });
    expect(() => flagged.read({ body: { items: [], more: true } })).toThrow(/more rows follow, but there is no cursor/);
    expect(() => flagged.read({ body: { items: [], more: 'yes' } })).toThrow(/at more: it is neither true nor false/);
    expect(() => flagged.read({ body: { items: [] } })).toThrow(/at more: there is no such field/);
  });

  test('begins at a cursor of the API', async () => {
    const { source, asked } = await open(kinds['byCursor']!, numbered(45));
    expect(await rowsFrom(source, '4')).toEqual(numbered(15, 30));
    expect(asked).toEqual(['/items?after=4', '/items?after=5']);
  });
});

describe('paging by page numbers', () => {
  test('begins at any page', async () => {
    const { source, asked } = await open(kinds['byPage without one']!, numbered(45));
    expect(await rowsFrom(source, '4')).toEqual(numbered(15, 30));
    expect(asked).toEqual(['/items?p=4', '/items?p=5', '/items?p=6']);
    await expect(rowsFrom(source, 'next')).rejects.toMatchObject({ code: 'config' });
  });

  test.each([null, -1, 'many', 1.5])('with %j pages is an error', (pages) => {
    const items = listing({
      path: '/items',
      rows: 'items',
      columns: ['id'],
      paging: byPage({ param: 'p', pages: 'pages' }),
    });
    expect(() => items.read({ body: { items: [], pages } })).toThrow(/at pages: it is .*not a number of pages/);
  });
});

describe('R2 the number of pages', () => {
  test('R2 as text of digits counts, and where there is none, the first empty page is the end', async () => {
    for (const [pages, requests] of [
      ['3', 3],
      [undefined, 4],
    ] as const) {
      const { source, asked } = await open(
        {
          paging: byPage({ param: 'p', pages: ({ headers }) => headers['x-total-pages'] }),
          answer: (url, rows) => ({
            body: { items: pageOf(rows, number(url, 'p', 1)).items },
            ...(pages !== undefined && { headers: { 'x-total-pages': pages } }),
          }),
        },
        numbered(25),
      );
      expect(await source.toArray()).toEqual(numbered(25));
      expect(asked).toHaveLength(requests);
    }
  });

  test.each([0, 1])('R2 does not count where it is %i on a later page with rows, or none', async (pages) => {
    const { source } = await open(
      {
        paging: byPage({ param: 'p', pages: 'pages?' }),
        answer(url, rows) {
          const page = number(url, 'p', 1);
          return { body: { items: pageOf(rows, page).items, ...(page > pages && { pages }) } };
        },
      },
      numbered(25),
    );
    expect(await source.toArray()).toEqual(numbered(25));
  });
});

describe('R2 offsets that count from 1', () => {
  test('R2 begin at first, which the first request omits', async () => {
    const { source, asked } = await open(kinds['byOffset that counts from 1']!, numbered(25));
    await source.toArray();
    expect(asked).toEqual(['/items?count=10', '/items?count=10&startIndex=10', '/items?count=10&startIndex=19']);
  });

  test('R2 are no offsets of rows: the error says what to write', async () => {
    const { source } = await open(
      { ...kinds['byOffset that counts from 1']!, paging: byOffset({ param: 'startIndex' }) },
      numbered(25),
    );
    await expect(source.toArray()).rejects.toThrow('the API may count rows from 1 (byOffset with first: 1)');
  });

  test.each([
    { first: -1 },
    { first: 1.5 },
    { step: 'pages' as 'page' },
    { step: 'sized' as 'size' },
    { frist: 1 } as object,
  ])('R2 %j is refused', (wrong) => {
    expect(() => byOffset({ param: 'startIndex', ...wrong })).toThrow(/first|Did you mean (page|size)\?/);
  });
});

describe('R2 offsets that grow by the page size', () => {
  const pageSize = { param: 'take', default: size, max: size } as const;
  const bySize = { paging: byOffset({ param: 'skip', step: 'size' }), pageSize };
  const evenOnly = (url: URL, rows: readonly Row[]): readonly Row[] => {
    const skip = number(url, 'skip', 0);
    return rows.slice(skip, skip + size).filter(({ id }) => Number(id) % 2 === 0);
  };

  test('R2 are multiples of it, although the server leaves rows out', async () => {
    const answer: Fitting['answer'] = (url, rows) => ({ body: { items: evenOnly(url, rows) } });
    const { source, asked } = await open({ ...bySize, answer }, numbered(35));
    expect(await source.toArray()).toEqual(numbered(35).filter(({ id }) => Number(id) % 2 === 0));
    expect(asked).toEqual([
      '/items?take=10',
      '/items?take=10&skip=10',
      '/items?take=10&skip=20',
      '/items?take=10&skip=30',
      '/items?take=10&skip=40',
    ]);
  });

  test('R2 continue after an empty page that is not the last one by its total, and count from first', async () => {
    const answer: Fitting['answer'] = (url, rows) => {
      const start = number(url, 'start', 1) - 1;
      const items = start === 10 ? [] : rows.slice(start, start + size);
      return { body: { items, total: rows.length } };
    };
    const paging = byOffset({ param: 'start', step: 'size', first: 1 });
    const { source, asked } = await open({ paging, pageSize, total: 'total', answer }, numbered(25));
    expect(await source.toArray()).toEqual([...numbered(10), ...numbered(5, 20)]);
    expect(asked.map((path) => path.replace('/items?take=10', ''))).toEqual([
      '',
      '&start=11',
      '&start=21',
      '&start=31',
    ]);
  });

  test('R2 do not end at a total that counts only the rows which are listed', async () => {
    const answer: Fitting['answer'] = (url, rows) => ({ body: { items: evenOnly(url, rows), total: 18 } });
    const { source } = await open({ ...bySize, total: 'total', answer }, numbered(35));
    expect(await source.toArray()).toHaveLength(18);
  });

  test('R2 a first page that a server may have cut is reported, since rows would be missed', async () => {
    const answer: Fitting['answer'] = (url, rows) => {
      const skip = number(url, 'skip', 0);
      return { body: { items: rows.slice(skip, skip + 50) } };
    };
    const large = { param: 'take', default: 100, max: 100 };
    const { source, warnings } = await open({ ...bySize, pageSize: large, answer }, numbered(75));
    await source.toArray();
    expect(warnings).toEqual([
      expect.stringContaining('the first page has 50 rows, although 100 were requested. If the API never sends more'),
    ]);
  });

  test('R2 so are pages of one size that is unusual', async () => {
    const answer: Fitting['answer'] = (url, rows) => {
      const skip = number(url, 'skip', 0);
      return { body: { items: rows.slice(skip, skip + 44) } };
    };
    const large = { param: 'take', default: 100, max: 100 };
    const { source, warnings } = await open({ ...bySize, pageSize: large, answer }, numbered(250));
    await source.toArray();
    expect(warnings).toEqual([expect.stringContaining('pages have 44 rows, although 100 were requested.')]);
  });

  test('R2 need the page size, and its max', () => {
    const define = (sizes: object): unknown =>
      listing({ path: '/items', rows: 'items', columns: ['id'], paging: bySize.paging, ...sizes });
    expect(() => define({})).toThrow('invalid at pageSize: its paging needs it, with the max of the API');
    expect(() => define({ pageSize: { param: 'take', default: 10 } })).toThrow('with the max of the API');
    expect(() => define({ pageSize })).not.toThrow();
  });

  test('R2 begin at an offset that somebody gives, and at nothing else', async () => {
    const { source, asked } = await open({ ...bySize, answer: multiplesOnly }, numbered(25));
    expect(await rowsFrom(source, '20')).toEqual(numbered(5, 20));
    expect(asked[0]).toBe('/items?take=10&skip=20');
    await expect(rowsFrom(source, 'next')).rejects.toThrow('startAt is not an offset');
  });
});

describe('paging by link', () => {
  const linked = (link: string | string[], asked: string[] = []) =>
    open(
      { paging: byLink(), answer: () => ({ body: { items: numbered(3) }, headers: { Link: link } }) },
      [],
      (said, nth, url) => {
        asked.push(url.pathname + url.search);
        return nth === 1 ? said : { body: { items: numbered(3, 3) } };
      },
    );

  test.each([
    ['</api/items?page=2>; rel="next"', '/api/items?page=2'],
    ['<?page=2>; rel="next"', '/api/items?page=2'],
    ['<more/2>; rel=next', '/api/more/2'],
    ['</api/deep/../items?x=%2Fa%20b#part>; rel=next', '/api/items?x=%2Fa%20b'],
    ['</api/items?id=1&id=2&x=&x[]=3>; rel=next', '/api/items?id=1&id=2&x=&x[]=3'],
    ['</api/>; rel="next"', '/api/'],
    ['</x>; rel="next"; anchor="#other", </api/items?page=2>; rel=next', '/api/items?page=2'],
  ])('%s is asked for as %s', async (link, next) => {
    const asked: string[] = [];
    const { source } = await linked(link, asked);
    expect(await source.toArray()).toEqual(numbered(6));
    expect(asked).toEqual(['/api/items', next]);
  });

  test('reads several headers as one', async () => {
    const { source } = await linked(['</api/items?page=9>; rel="last"', '</api/items?page=2>; rel="next"']);
    expect(await source.toArray()).toEqual(numbered(6));
  });

  test.each([
    "$filter=name eq 'x'".replaceAll(' ', '%20'),
    "$skiptoken='a'&$top=2&a=b=c",
    'a&&b=&=c&',
    'x=a+b&y=a%20b&z=%2f%2F',
    'x=%FF%zz%',
    'q={"a":[1|2]}<>^`\\',
    'redirect=/a?b=c',
  ])('R5 the query of the next address is sent byte for byte: %s', async (query) => {
    const server = await serve((_url, nth) => ({
      body: { items: numbered(2, nth * 2), next: nth === 1 ? `/api/items?${query}#part` : null },
    }));
    const items = listing({ path: '/items', rows: 'items', columns: ['id'], paging: byLink({ at: 'next' }) });
    const pages = openListing(items, server)().pages();
    const positions = [];
    for await (const { position } of pages) positions.push(position);
    expect(server.asked).toEqual(['/items', `/items?${query}`]);
    expect(JSON.stringify(positions[0])).toContain(JSON.stringify(`/items?${query}`).slice(1, -1));
    await openListing(items, server)().pages({ startAt: positions[0]! })[Symbol.asyncIterator]().next();
    expect(server.asked.at(-1)).toBe(`/items?${query}`);
  });

  test('R5 but for the parameter of the credential', async () => {
    const server = await serve((url, nth) => ({
      body: { items: numbered(2, nth * 2), next: nth === 1 ? `${url.pathname}?a='b'&key=test-key-1&c=d?e` : null },
    }));
    const items = listing({ path: '/items', rows: 'items', columns: ['id'], paging: byLink({ at: 'next' }) });
    const api = defineApi({ name: 'own', auth: queryKey('key', 'test-key-1'), sources: { items } });
    await createClient({ apiKey: false, rateLimit: false })
      .use(api({ baseUrl: server.baseUrl }))
      .own.items()
      .toArray();
    expect(server.asked).toEqual(['/items?key=test-key-1', "/items?a='b'&c=d?e&key=test-key-1"]);
  });

  test.each(['/api/items?q=a b', '/api/items?q=ü', '/api/items?q=a\tb', '/api/a b', '/api/ü', '/api/"x"', '/api/a\\b'])(
    'R5 %j cannot be sent as it is, so it is refused',
    async (next) => {
      const server = await serve(() => ({ body: { items: numbered(2), next } }));
      const items = listing({ path: '/items', rows: 'items', columns: ['id'], paging: byLink({ at: 'next' }) });
      await expect(openListing(items, server)().toArray()).rejects.toMatchObject({
        code: 'decode',
        message: expect.stringContaining("can't be sent as it is"),
      });
      expect(server.asked).toEqual(['/items']);
    },
  );

  test.each(['/api', '/api?page=2', '../api?page=2'])(
    'R5 %s, the base URL itself, cannot be asked for as it is, so it is refused',
    async (next) => {
      const server = await serve(() => ({ body: { items: numbered(2), next } }));
      const items = listing({ path: '/items', rows: 'items', columns: ['id'], paging: byLink({ at: 'next' }) });
      await expect(openListing(items, server)().toArray()).rejects.toMatchObject({
        code: 'decode',
        message: expect.stringContaining(
          'it points to the base URL itself, and requests go below it: take the last part off baseUrl',
        ),
      });
      expect(server.asked).toEqual(['/items']);
    },
  );

  test.each([
    ['https://evil.example/api/items?page=2'],
    ['//evil.example/api/items'],
    ['http://127.0.0.1:9/api/items'],
    ['/apiary/items'],
    ['/items?page=2'],
    ['../items'],
    ['/api/../items'],
    ['data:,items'],
    ['javascript:alert(1)'],
    ['http://'],
  ])('T1 %s is no page of this API: nothing is asked there', async (uri) => {
    const { source, asked } = await linked(`<${uri}>; rel="next"`);
    await expect(source.toArray()).rejects.toMatchObject({ code: 'decode', details: { path: 'the Link header' } });
    expect(asked).toEqual(['/items']);
  });

  test.each(['not a link', '</api/items?page=2>; rel="next', '</api/items?x=a b>; rel=next'])(
    '%s is an error, and not the end',
    async (link) => {
      const { source } = await linked(link);
      await expect(source.toArray()).rejects.toMatchObject({ code: 'decode' });
    },
  );

  test('T1 a place to begin at can lead nowhere else', async () => {
    const { source, asked } = await linked('');
    for (const cursor of ['https://evil.example/x', '//evil.example/x', '/../x', '/%2e%2e/x', 'items', '/x?a b'])
      await expect(rowsFrom(source, cursor)).rejects.toMatchObject({ code: 'config' });
    expect(asked).toEqual([]);
  });

  test('T2 an address that holds the key is neither kept nor shown', async () => {
    const { source } = await linked('</api/items?key=test-key-1>; rel="next"');
    await expect(source.toArray()).rejects.toMatchObject({ code: 'secret-in-cursor' });
    const elsewhere = await linked('<https://test-key-1.example/items>; rel="next"');
    const fault: unknown = await elsewhere.source.toArray().catch((error: unknown) => error);
    expect(fault).toMatchObject({ code: 'decode' });
    expect(JSON.stringify(fault)).not.toContain('test-key-1');
  });
});

test('another kind of paging is an object with four members', async () => {
  const backwards: Paging = {
    identity: 'backwards',
    params: ['before'],
    request: ({ path, query }, at) => ({ path, query: { ...query, before: cursorOf(at) } }),
    next: ({ rows, requested }) =>
      rows.length < (requested ?? 1) ? 'end' : { cursor: String((rows.at(-1) as { id: number }).id) },
  };
  const { source, asked } = await open(
    {
      paging: backwards,
      pageSize: { param: 'limit', default: 4 },
      answer: (url, rows) => {
        const before = number(url, 'before', Infinity);
        return {
          body: {
            items: rows
              .filter(({ id }) => Number(id) < before)
              .slice(-4)
              .reverse(),
          },
        };
      },
    },
    numbered(10),
  );
  expect(await source.toArray()).toEqual(numbered(10).reverse());
  expect(asked).toEqual(['/items?limit=4', '/items?limit=4&before=6', '/items?limit=4&before=2']);
});

describe('pages are told apart by what came, not by what a schema makes of it', () => {
  const fit = kinds['byOffset without a total']!;
  let made = 0;
  const source = async (meddle: (said: Said, nth: number) => Said = (said) => said) => {
    const rows = numbered(25);
    const server = await serve((url, nth) => meddle(fit.answer(url, rows, undefined), nth));
    const items = listing({
      path: '/items',
      paging: fit.paging,
      rows: 'items',
      version: '1',
      schema: z.object({ id: z.number().transform((id) => ({ id: BigInt(id), nth: (made += 1) })) }),
      columns: ['id'],
    });
    return openListing(items, server)();
  };

  test('P7 so rows that are another thing each time, or have no form in JSON, have not moved', async () => {
    const rows = await (await source()).toArray();
    expect(rows.map(({ id }) => id.id)).toEqual(numbered(25).map(({ id }) => BigInt(id)));
  });

  test('P4 and a page that repeats is noticed', async () => {
    const walk = (await source((said, nth) => (nth === 2 ? { body: { items: numbered(11, 9) } } : said))).toArray();
    expect(await walk).toHaveLength(25);
    const first = { body: { items: numbered(10) } };
    await expect((await source(() => first)).toArray()).rejects.toMatchObject({ code: 'rows-moved' });
  });
});

describe('a flag of the last page', () => {
  const read = (paging: Paging, body: object) => listing({ ...common, paging }).read({ body });
  const common = {
    path: '/items',
    rows: 'items',
    columns: ['id'],
    pageSize: { param: 'size', default: 1, max: 100 },
  } as const;
  const address = 'https://api.example.com/items?at=c';
  const pagings = {
    byCursor: [(flag: MoreOptions) => byCursor({ param: 'at', at: 'next?', ...flag }), { cursor: 'c' }],
    byLink: [(flag: MoreOptions) => byLink({ at: 'link?', ...flag }), { cursor: '/items?at=c' }],
    byKeyset: [(flag: MoreOptions) => byKeyset([{ field: 'id', param: 'at' }], flag), { cursor: '["a"]' }],
    byPage: [(flag: MoreOptions) => byPage({ param: 'at', ...flag }), { cursor: '2' }],
    byOffset: [(flag: MoreOptions) => byOffset({ param: 'at', ...flag }), 'by-offset'],
    'byOffset of sizes': [(flag: MoreOptions) => byOffset({ param: 'at', step: 'size', ...flag }), { cursor: '1' }],
    'byOffset of pages': [(flag: MoreOptions) => byOffset({ param: 'at', step: 'page', ...flag }), { cursor: '1' }],
  } as const;

  test.each(Object.entries(pagings))('R2 ends %s, and only true or false is believed', (_, [paging, next]) => {
    const body = { items: [{ id: 'a' }], next: 'c', link: address };
    const last = paging({ last: 'end_of_stream' });
    expect(read(last, { ...body, end_of_stream: true }).next).toBe('end');
    expect(read(last, { ...body, end_of_stream: false }).next).toEqual(next);
    expect(() => read(last, { ...body, end_of_stream: 'yes' })).toThrow(
      'at end_of_stream: it is neither true nor false',
    );
    expect(() => read(last, body)).toThrow('at end_of_stream: there is no such field');
    const more = paging({ more: 'has_more' });
    expect(read(more, { ...body, has_more: false }).next).toBe('end');
    expect(read(more, { ...body, has_more: true }).next).toEqual(next);
    expect(last.identity).not.toEqual(paging({}).identity);
    expect(() => paging({ more: 'a', last: 'b' })).toThrow('give one of them');
  });

  test.each(Object.entries(pagings))(
    'R2 that says that more follow is not overruled by until, with %s',
    (_, [paging]) => {
      const page = listing({ ...common, paging: paging({ last: 'end' }), until: () => true }).read({
        body: { items: [{ id: 'a' }], next: 'c', link: address, end: false },
      });
      expect(page.next).not.toBe('end');
    },
  );

  test('R2 and no address or cursor to continue at is an error', () => {
    expect(() => read(byLink({ at: 'link?', last: 'end' }), { items: [], end: false })).toThrow('there is no address');
    expect(() => read(byCursor({ param: 'at', at: 'next?', last: 'end' }), { items: [], end: false })).toThrow(
      'there is no cursor',
    );
  });

  test('R2 saves the request for a page after the last one', async () => {
    const { source, asked } = await open(kinds['byPage with a flag of the last page']!, numbered(30));
    expect(await source.toArray()).toEqual(numbered(30));
    expect(asked).toHaveLength(3);
  });
});
