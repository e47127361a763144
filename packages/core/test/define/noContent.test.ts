import { describe, expect, test } from 'vitest';
import { createClient, exportTo, memoryState, type ClientEvent } from '../../src/index.js';
import {
  byConnection,
  byCursor,
  byHeader,
  byKeyset,
  byLink,
  byOffset,
  byPage,
  bySince,
  defineApi,
  listing,
  noAuth,
  type Listing,
  type Paging,
  type Responses,
} from '../../src/define/index.js';
import { onTestEnd } from '../../../../scripts/testScope.js';
import { recordingSink } from '../rows/sink/recordingSink.js';
import { numbered, serve, type Said } from './servedApi.js';

interface Options {
  readonly paging: Paging;
  readonly until?: 'no-rows' | 'short-page';
  readonly total?: string;
  readonly method?: 'POST';
  readonly body?: object;
  readonly version?: string;
  readonly responses?: Responses;
  readonly ofApi?: Responses;
  readonly retries?: number;
}

async function open(say: (url: URL, nth: number) => Said, { ofApi, retries = 1, ...definition }: Options) {
  const server = await serve(say);
  const rows = listingOf({ path: '/rows', rows: 'items', columns: ['id'], pageSize, ...definition });
  const api = defineApi({
    name: 'shop',
    baseUrl: server.baseUrl,
    auth: noAuth,
    ...(ofApi && { responses: ofApi }),
    sources: { rows },
  });
  const client = createClient({ apiKey: false, rateLimit: false, retry: { retries, baseDelay: 1 } }).use(api());
  onTestEnd(() => client.close());
  const events: ClientEvent[] = [];
  client.events.subscribe((event) => events.push(event));
  return { ...server, client, source: client.shop.rows(), events };
}

type Row = Record<string, unknown>;
/** As JavaScript calls it: the definition is made of parts. */
const listingOf = listing as unknown as (definition: unknown) => Listing<Row, object>;
const pageSize = { param: 'limit', default: 10, max: 10 } as const;

/** Of pages of ten of 40 rows, one says something else. Each says in every way what follows. */
function fourPages(instead: (page: number, nth: number) => Said | undefined) {
  let requests = 0;
  return (url: URL): Said => {
    requests += 1;
    const { page, start } = askedPage(url);
    const isLast = start + 10 >= 40;
    const next = isLast ? null : String(page + 1);
    const well: Said = {
      headers: isLast ? {} : { link: `</api/rows?page=${page + 1}>; rel="next"`, 'x-next': String(page + 1) },
      body: {
        items: numbered(40)
          .slice(start, start + 10)
          .map((row) => ({ ...row, at: 1000 + row.id })),
        next,
        url: isLast ? null : `?page=${page + 1}`,
        more: !isLast,
        last: isLast,
        pages: 4,
        total: 40,
        pageInfo: { hasNextPage: !isLast, endCursor: next },
      },
    };
    return instead(page, requests) ?? well;
  };
}

function askedPage({ searchParams: query }: URL): { readonly page: number; readonly start: number } {
  const [offset, after] = [query.get('offset'), query.get('after')];
  // Each page of offsets begins with the last known row.
  if (offset !== null) return { start: Number(offset), page: Number(offset) / 9 + 1 };
  const page = after === null ? Number(query.get('page') ?? 1) : (Number(after) + 1) / 10 + 1;
  return { page, start: (page - 1) * 10 };
}

const announced: readonly (readonly [string, Options])[] = [
  ['a cursor', { paging: byCursor({ param: 'page', at: 'next' }) }],
  ['a cursor and a flag', { paging: byCursor({ param: 'page', at: 'next', more: 'more' }), until: 'no-rows' }],
  ['a token in a header', { paging: byHeader({ param: 'page', header: 'x-next' }) }],
  ['an address in the body', { paging: byLink({ at: 'url' }) }],
  ['an address in the body, with until,', { paging: byLink({ at: 'url' }), until: 'no-rows' }],
  ['an address in the Link header', { paging: byLink() }],
  ['a number of pages', { paging: byPage({ param: 'page', pages: 'pages' }) }],
  ['a number of pages, with until,', { paging: byPage({ param: 'page', pages: 'pages' }), until: 'short-page' }],
  ['a flag that says that more rows follow', { paging: byPage({ param: 'page', more: 'more' }) }],
  ['a flag that says that it is not the last page', { paging: byOffset({ param: 'offset', last: 'last' }) }],
  ['a larger total', { paging: byOffset({ param: 'offset' }), total: 'total' }],
  ['a flag of a keyset', { paging: byKeyset([{ field: 'id', param: 'after' }], { more: 'more' }) }],
  [
    'a cursor, in increments',
    {
      paging: bySince({
        param: 'since',
        field: 'at',
        type: 'integer',
        paging: byCursor({ param: 'page', at: 'next' }),
      }),
    },
  ],
];

describe('R2 a page without content, which the page before announced by', () => {
  test.each(announced)('R2 %s, is requested again', async (_what, options) => {
    for (const status of [204, 205, 202]) {
      let nth = 0;
      const say = fourPages((page) => (page === 2 && (nth += 1) === 1 ? { status, text: '' } : undefined));
      const { source } = await open(say, options);
      expect((await source.toArray()).map(({ id }) => id)).toEqual(numbered(40).map(({ id }) => id));
    }
  });

  test.each(announced)('R2 %s, is an error if it stays so', async (_what, options) => {
    const say = fourPages((page) => (page === 3 ? { status: 204, text: '' } : undefined));
    const { source, asked } = await open(say, options);
    await expect(source.toArray()).rejects.toMatchObject({
      code: 'http',
      message: expect.stringMatching(
        /responded with 204\. .*no content, although the page before says that this one follows.*responses: \{ 204: 'end' \}/,
      ) as string,
    });
    expect(asked.length).toBeLessThanOrEqual(5);
  });

  test('R2 a GraphQL connection is an error, too', async () => {
    const say = fourPages((_page, nth) => (nth > 1 ? { status: 204, text: '' } : undefined));
    const { source } = await open(say, { paging: byConnection('', { into: 'after' }), method: 'POST', body: {} });
    await expect(source.toArray()).rejects.toThrow('no content, although the page before says');
  });

  test.each(announced)('R2 %s, is an error after a resume, too', async (_what, options) => {
    let isBroken = true;
    const say = fourPages((page) =>
      page === 3 ? (isBroken ? { status: 500, text: '' } : { status: 204, text: '' }) : undefined,
    );
    const { source } = await open(say, { ...options, version: '1' });
    const state = memoryState();
    const sink = recordingSink<Row>();
    const run = () => exportTo(source, sink, { state, commitEvery: 1 }).run();
    await expect(run()).rejects.toMatchObject({ status: 500 });
    isBroken = false;
    await expect(run()).rejects.toMatchObject({ status: 204 });
  });
});

describe('R2 a page without content ends the listing', () => {
  test.each<[string, Options]>([
    ['of page numbers', { paging: byPage({ param: 'page' }) }],
    ['whose number of pages is missing', { paging: byPage({ param: 'page', pages: 'numberOfPages?' }) }],
    ['of the offsets of pages', { paging: byOffset({ param: 'page', first: 1, step: 'page' }) }],
    ['of the last id', { paging: byKeyset([{ field: 'id', param: 'after' }]) }],
    ['of page numbers, with until', { paging: byPage({ param: 'page' }), until: 'no-rows' }],
    ['with a cursor on each page, and until', { paging: byCursor({ param: 'page', at: 'next' }), until: 'no-rows' }],
  ])('R2 %s, which nothing announced', async (_what, options) => {
    const say = fourPages((page) => (page === 3 ? { status: 204, text: '' } : undefined));
    const { source } = await open(say, options);
    expect(await source.toArray()).toHaveLength(20);
  });

  test('R2 if it is the first, which has no rows', async () => {
    for (const [, options] of announced) {
      const { source } = await open(() => ({ status: 204, text: '' }), options);
      expect(await source.toArray()).toEqual([]);
    }
  });

  test('R2 if responses say so, of the listing or the API', async () => {
    const say = fourPages((page) => (page === 3 ? { status: 204, text: '' } : undefined));
    const options = { paging: byCursor({ param: 'page', at: 'next' }) };
    const ofListing = await open(say, { ...options, responses: { 204: 'end' } });
    expect(await ofListing.source.toArray()).toHaveLength(20);
    const ofApi = await open(say, { ...options, ofApi: { 204: 'end' } });
    expect(await ofApi.source.toArray()).toHaveLength(20);
  });
});

test('R2 a page without content whose header names the next one is followed', async () => {
  const headers = { link: '</api/rows?page=3>; rel="next"' };
  const say = fourPages((page) => (page === 2 ? { status: 204, text: '', headers } : undefined));
  const { source } = await open(say, { paging: byLink() });
  expect(await source.toArray()).toHaveLength(30);
  const other = { link: '</api/rows?page=1>; rel="prev"' };
  const none = await open(
    fourPages((page) => (page === 2 ? { status: 204, text: '', headers: other } : undefined)),
    { paging: byLink() },
  );
  await expect(none.source.toArray()).rejects.toMatchObject({ code: 'http', status: 204 });
});

describe('R1 a 202', () => {
  test.each([
    ['without content', { text: '' }],
    ['with a list without rows', { body: { items: [] } }],
    ['with a state', { body: { state: 'running' } }],
  ])('R1 %s says that the page is not ready yet', async (_what, said) => {
    for (const page of [1, 3]) {
      let nth = 0;
      const say = fourPages((asked) => (asked === page && (nth += 1) <= 2 ? { status: 202, ...said } : undefined));
      const { source } = await open(say, { paging: byPage({ param: 'page', pages: 'pages' }), retries: 2 });
      expect(await source.toArray()).toHaveLength(40);
    }
  });

  test('R1 is retried as long as its Retry-After says', async () => {
    const say = fourPages((page, nth) =>
      page === 1 && nth === 1 ? { status: 202, text: '', headers: { 'retry-after': '1' } } : undefined,
    );
    const { source, events } = await open(say, { paging: byCursor({ param: 'page', at: 'next' }) });
    expect(await source.toArray()).toHaveLength(40);
    const delays = events.flatMap((event) => (event.type === 'retry' ? [event.delay] : []));
    expect(delays).toEqual([1_000]);
  });

  test('R1 is a page if responses say so, and an error that names them otherwise', async () => {
    const say = fourPages((page) => (page === 1 ? { status: 202, body: { items: numbered(3), pages: 1 } } : undefined));
    const paging = byPage({ param: 'page', pages: 'pages' });
    for (const options of [{ responses: { 202: 'ok' } }, { ofApi: { 202: 'ok' } }] as const) {
      const { source } = await open(say, { paging, ...options });
      expect(await source.toArray()).toEqual(numbered(3));
    }
    const { source } = await open(say, { paging });
    await expect(source.toArray()).rejects.toThrow(/responded with 202\. .*not ready yet.*responses: \{ 202: 'ok' \}/);
  });

  test('R1 to a request that is not for a page is a success', async () => {
    const { client } = await open(() => ({ status: 202, body: { accepted: true } }), { paging: byLink() });
    expect(await client.shop.get('/jobs')).toEqual({ accepted: true });
  });
});
