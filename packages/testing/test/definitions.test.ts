import { createClient } from '@sluice/core';
import {
  byCursor,
  byKeyset,
  byLink,
  byOffset,
  byPage,
  bySince,
  defineApi,
  listing,
  type PageResponse,
  type Paging,
  type Until,
} from '@sluice/core/define';
import type { BodyParser } from '@sluice/core/kit';
import { expect, test } from 'vitest';
import { serveListing, testSource, type ReceivedRequest, type ServedResponse } from '../src/index.js';
import { RecordedSuite } from './recordedSuite.js';

interface Coin {
  readonly id: number;
  readonly at: number;
}

const pageSize = 20;
const coins = Array.from({ length: 70 }, (_, id): Coin => ({ id, at: 1_767_225_600 + id }));

/** An API that can be asked for rows in many ways, and says much about them. */
function respond({ url, rows, limit }: ReceivedRequest<Coin>): ServedResponse {
  const { searchParams: query, pathname } = url;
  const size = limit(query.get('size'));
  const number = Number(query.get('page') ?? 1);
  const from = Number(query.get('from') ?? 0);
  const listed = rows.filter(({ id, at }) => id > Number(query.get('after') ?? -1) && at >= from);
  const start = query.has('offset') ? Number(query.get('offset')) : (number - 1) * size;
  const items = listed.slice(start, start + size);
  if (pathname === '/csv') return { body: ['id,at', ...items.map(({ id, at }) => `${id},${at}`)].join('\n') };
  const next = start + size < listed.length;
  const link = new URL(`${url.pathname}?size=${size}&after=${items.at(-1)?.id ?? ''}`, url);
  return {
    headers: next ? { link: `<${link.href}>; rel="next"` } : {},
    body: {
      items,
      total: listed.length,
      pages: Math.ceil(listed.length / size),
      ...(next && { next: String(items.at(-1)?.id) }),
    },
  };
}

/** Its rows have a field that differs each time, so no page equals another one. */
function respondAnew(request: ReceivedRequest<Coin>): ServedResponse {
  const { items } = respond(request).body as { readonly items: readonly Coin[] };
  return { body: { items: items.map((item) => ({ ...item, served: (served += 1) })) } };
}

let served = 0;

/** It allows seven rows a page, which is no usual number. */
function respondInSevens(request: ReceivedRequest<Coin>): ServedResponse {
  return respondWithLast({ ...request, limit: (requested) => Math.min(request.limit(requested), 7) });
}

/** Above the last page, it sends that again. */
function respondWithLast(request: ReceivedRequest<Coin>): ServedResponse {
  const { url, rows, limit } = request;
  const last = Math.ceil(rows.length / limit(url.searchParams.get('size')));
  if (Number(url.searchParams.get('page') ?? 1) > last) url.searchParams.set('page', String(last));
  const { body } = respond({ ...request, url });
  const { items } = body as { readonly items: readonly Coin[] };
  return {
    body: { items: items.map(({ id, at }) => ({ id, at })), number: Number(url.searchParams.get('page') ?? 1) },
  };
}

interface Definition {
  readonly paging: Paging;
  readonly until?: Until;
  readonly total?: string;
  readonly path?: string;
  readonly rows?: string;
  readonly parse?: BodyParser;
}

const strictCsv = (text: string): readonly Coin[] => {
  const [head, ...lines] = text.split('\n');
  if (head !== 'id,at') throw new Error('This is not the CSV of the API.');
  return lines.map((line) => line.split(',').map(Number)).map(([id = NaN, at = NaN]) => ({ id, at }));
};
const anyCsv = (text: string): readonly Coin[] => {
  const rows = text.split('\n').slice(1);
  return rows.map((line) => line.split(',').map(Number)).map(([id = NaN, at = NaN]) => ({ id, at }));
};
const csv = { path: '/csv', rows: '' };
const pages = byPage({ param: 'page' });
const isShorter = ({ items, requested = 0 }: PageResponse): boolean => items < requested;

interface Tested {
  readonly areRowsStill?: boolean;
  readonly respond?: typeof respond;
}

function suiteOf(
  definition: Definition,
  { areRowsStill = false, respond: serve = respond }: Tested = {},
): RecordedSuite {
  const api = defineApi({
    name: 'coins',
    sources: {
      list: listing<Coin>({
        path: '/coins',
        rows: 'items',
        columns: ['id', 'at'],
        key: ({ id }) => id,
        pageSize: { param: 'size', default: pageSize, max: 100 },
        decode: (row, path, read) => {
          const { id, at } = read.record(row, path);
          return { id: Number(id), at: Number(at) };
        },
        version: '1',
        ...definition,
      }),
    },
  });
  return new RecordedSuite((options) => {
    testSource({
      ...options,
      factory: async () => {
        const served = await serveListing([...coins], serve);
        const atOnce = { rateLimit: false, retry: { retries: 0 } } as const;
        const client = createClient({ apiKey: false, ...atOnce }).use(api({ baseUrl: served.baseUrl }));
        return {
          ...served,
          areRowsStill,
          source: () => client.coins.list(),
          dispose: async () => {
            await client.close();
            await served.close();
          },
        };
      },
    });
  });
}

const still = { areRowsStill: true };

test.each<readonly [string, Definition, Tested]>([
  ['page numbers, where rows never move', { paging: pages }, still],
  ['page numbers and their number', { paging: byPage({ param: 'page', pages: 'pages' }) }, still],
  ['short pages', { paging: pages, until: 'short-page' }, still],
  ['a repeated page', { paging: pages, until: 'repeated-page' }, { ...still, respond: respondWithLast }],
  ['offsets', { paging: byOffset({ param: 'offset' }) }, {}],
  ['offsets and a total', { paging: byOffset({ param: 'offset' }), total: 'total' }, {}],
  ['a cursor', { paging: byCursor({ param: 'after', at: 'next?' }) }, {}],
  ['the last key', { paging: byKeyset([{ field: 'id', param: 'after' }]) }, {}],
  ['links', { paging: byLink() }, {}],
  ['a time', { paging: bySince({ param: 'from', field: 'at', type: 'epoch-seconds' }) }, {}],
  ['CSV', { ...csv, paging: byOffset({ param: 'offset' }), parse: strictCsv }, {}],
])('R14 the suite passes a definition with %s', { tags: ['slow'] }, async (_, definition, tested) => {
  expect(await suiteOf(definition, tested).verdicts()).toEqual({});
});

test.each<readonly [string, Definition, Tested, string, RegExp]>([
  [
    'looks for its next page in the wrong place',
    { paging: byCursor({ param: 'after', at: 'nxt?' }) },
    {},
    'serves two walks at the same time',
    /this one has 1, 1 with rows\. If its API has more: does its paging find the next page\?/,
  ],
  [
    'ends at any page with fewer rows than requested',
    { paging: pages, until: isShorter },
    still,
    'walks all rows where its API allows fewer rows a page than it requests',
    /ended after 10 of 70 rows, without an error: `until` or `paging` .*Use until: 'short-page'/,
  ],
  [
    'ends at a repeated page, with a larger max than that of its API',
    { paging: pages, until: 'repeated-page' },
    { ...still, respond: respondInSevens },
    'fails where its API sends the first page whatever is requested',
    /ends after 7 of 70 rows, without an error: .* Give `pageSize` the max that the API allows/,
  ],
  [
    'has rows that differ each time',
    { paging: pages },
    { ...still, respond: respondAnew },
    'fails where its API sends the first page whatever is requested',
    /rows come twice, without an end: the name that `paging` gives/,
  ],
  [
    'does not end at its last page',
    { paging: pages },
    { ...still, respond: respondAnew },
    'emits no row again where its API sends the last page for ever',
    /its rows come twice, without an end: end the listing with until: 'repeated-page'/,
  ],
  [
    'has page numbers, and rows that move',
    { paging: pages },
    {},
    'misses and repeats no row while a row before it is removed or added',
    /the first row was removed, and {"id":20,.*} was missed\. .*Use byOffset\(\)/,
  ],
  [
    'has offsets of pages, and rows that move',
    { paging: byOffset({ param: 'page', first: 1, step: 'page' }) },
    {},
    'misses and repeats no row while a row before it is removed or added',
    /was missed\. The paging counts rows or pages/,
  ],
  [
    'parses any text as CSV',
    { ...csv, paging: pages, parse: anyCsv },
    still,
    'takes no other document for a page',
    /ends after \d+ of 70 rows, without an error\. Let `parse` throw/,
  ],
])('R14 the suite says what is wrong with a definition that %s', async (_, definition, tested, title, message) => {
  expect(await suiteOf(definition, tested).verdictOf(title)).toMatch(message);
});
