import { describe, expect, test } from 'vitest';
import { createClient } from '../../src/index.js';
import {
  byCursor,
  byHeader,
  byLink,
  defineApi,
  listing,
  noAuth,
  onePage,
  type Paging,
} from '../../src/define/index.js';
import type { ApiResponse } from '../../src/kit.js';
import { onTestEnd } from '../../../../scripts/testScope.js';
import { numbered, openListing, serve } from './servedApi.js';

type Row = Record<string, unknown>;

const items = listing<Row>({ path: '/items', paging: onePage(), rows: 'items', columns: ['id'] });

function read(body: object, headers: ApiResponse['headers'] = {}) {
  return items.read({ body: { items: numbered(3), ...body }, headers });
}

describe('R2 onePage', () => {
  test('R2 requests one page', async () => {
    const server = await serve(() => ({ body: { items: numbered(3) } }));
    expect(await openListing(items, server)().toArray()).toEqual(numbered(3));
    expect(server.asked).toEqual(['/items']);
  });

  test.each<[string, object]>([
    ['next', { next: 'https://api.example.com/items?page=2' }],
    ['next', { next: '?page=2' }],
    ['next_page', { next_page: 2 }],
    ['nextPageToken', { nextPageToken: 'abc' }],
    ['@odata.nextLink', { '@odata.nextLink': 'https://api.example.com/items?$skip=100' }],
    ['nextRecordsUrl', { nextRecordsUrl: '/query/01g-2000' }],
    ['has_more', { has_more: true }],
    ['has_more', { has_more: 'true' }],
    ['is_truncated', { is_truncated: true }],
    ['isLast', { isLast: false }],
    ['last', { last: false }],
    ['last', { last: 'false' }],
    ['end_of_stream', { after_url: 'https://api.example.com/items?cursor=2', end_of_stream: false }],
    ['offset', { offset: 'itrAbC/rec20' }],
    ['total_pages', { total_pages: 2 }],
    ['total_pages', { total_pages: '12' }],
    ['pagination.pages', { pagination: { page: 1, pages: 4 } }],
    ['paging.next', { paging: { next: { after: '100' } } }],
    ['links.next', { links: { next: '/items?page=2' } }],
    ['_links.next', { _links: { next: { href: '/items?page=2' } } }],
    ['meta.pagination.next_page', { meta: { pagination: { next_page: 2 } } }],
    ['response_metadata.next_cursor', { response_metadata: { next_cursor: 'dXNlcg==' } }],
    ['continue', { continue: { rccontinue: '2026|1', continue: '-||' }, batchcomplete: '' }],
    ['query-continue', { 'query-continue': { allpages: { apcontinue: 'B' } } }],
    ['pages.next', { pages: { type: 'pages', next: { page: 2, starting_after: 'abc' }, page: 1, per_page: 3 } }],
    ['LastEvaluatedKey', { Count: 3, LastEvaluatedKey: { id: { S: '3' } } }],
    ['data.lastEvaluatedKey', { data: { lastEvaluatedKey: 'abc' } }],
    ['data.pageInfo.hasNextPage', { data: { pageInfo: { hasNextPage: true, endCursor: 'c' } } }],
  ])('R2 a response that names a next page at %s is an error', (place, body) => {
    expect(() => read(body)).toThrow(`at ${place}: it names a next page, but paging is onePage()`);
  });

  test('R2 so is one that names it in a header', () => {
    expect(() => read({}, { link: '</items?page=2>; rel="next"' })).toThrow('at the Link header: it names a next page');
    expect(() => read({}, { 'x-next-page': '2' })).toThrow('at the header x-next-page: it names a next page');
    expect(() => read({}, { 'x-total-pages': '2' })).toThrow('at the header x-total-pages: it names a next page');
  });

  test.each<[object]>([
    [{ next: null }],
    [{ next: '' }],
    [{ next_page: 0 }],
    [{ next_page: '' }],
    [{ has_more: false }],
    [{ has_more: 'false' }],
    [{ isLast: true }],
    [{ after_url: 'https://api.example.com/items?cursor=2', end_of_stream: true }],
    [{ offset: '0' }],
    [{ timezone: 'Europe/Zurich', offset: '+02:00' }],
    [{ offset: 'UTC-3' }],
    [{ total_pages: 1 }],
    [{ total_pages: '1' }],
    [{ links: { next: null, self: '/items' } }],
    [{ _links: { next: { href: null } } }],
    [{ paging: {} }],
    [{ next: 'launch' }],
    [{ next: { name: 'launch' } }],
    [{ page_count: 300 }],
    [{ pages: 300 }],
    [{ pagination: { pages: 1 } }],
    [{ item: { next_page: 2 } }],
  ])('R2 %j names none', (body) => {
    expect(read(body).next).toBe('end');
  });

  test('R2 rows may have fields of these names', () => {
    const page = items.read({ body: { items: [{ id: 1, next: '/items/2', has_more: true }] } });
    expect(page.next).toBe('end');
  });

  test('R2 the link of a last page names none', () => {
    expect(read({}, { link: '</items?c=2>; rel="next"; results="false"; cursor="0:2:0"' }).next).toBe('end');
  });

  test('R2 a page of exactly the requested size is a warning, and another one is not', async () => {
    const warnings: string[] = [];
    const sized = listing<Row>({
      path: '/items',
      paging: onePage(),
      rows: 'items',
      columns: ['id'],
      pageSize: { param: 'limit', default: 3 },
    });
    const { baseUrl } = await serve(() => ({ body: { items: numbered(3) } }));
    const api = defineApi({ name: 'test', auth: noAuth, rateLimit: false, sources: { sized } });
    const client = createClient({ apiKey: false }).use(api({ baseUrl }));
    client.events.subscribe((event) => {
      if (event.type === 'warning') warnings.push(event.message);
    });
    onTestEnd(() => client.close());
    const source = client.test.sized;
    expect(await source({ pageSize: 4 }).toArray()).toEqual(numbered(3));
    expect(warnings).toEqual([]);
    expect(await source().toArray()).toEqual(numbered(3));
    expect(warnings).toEqual([expect.stringContaining('the only page has exactly the 3 rows that were requested')]);
  });

  test.each<[Paging, object, string?]>([
    [
      byCursor({ param: 'after', at: 'meta.nxt?' }),
      { meta: {} },
      'If so, correct paging: meta.nxt is missing; otherwise',
    ],
    [byCursor({ param: 'after', at: 'meta.next?' }), { meta: { next: null } }],
    [byCursor({ param: 'after', at: 'meta.next?' }), { meta: { next: 'c' } }],
    [byCursor({ param: 'after', at: 'next?', last: 'isLast' }), { isLast: true }],
    [byHeader({ param: 'after', header: 'x-nxt' }), {}, 'correct paging: cursor is missing;'],
    [byLink({ at: 'nxt?' }), {}, 'correct paging: nxt is missing;'],
    [byLink({ at: 'next' }), { next: '' }],
    [byLink(), {}, 'correct paging: the Link header is missing;'],
  ])('R2 a full first page without a trace of a next one is a warning: %j after %j', async (paging, first, place) => {
    const warnings: string[] = [];
    const { baseUrl } = await serve(({ searchParams }) => ({
      body: searchParams.has('after') ? { items: numbered(1), meta: { next: null } } : { items: numbered(3), ...first },
    }));
    const pageSize = { param: 'limit', default: 3 };
    const sized = listing<Row>({ path: '/items', paging, rows: 'items', columns: ['id'], pageSize });
    const api = defineApi({ name: 'test', auth: noAuth, rateLimit: false, sources: { sized } });
    const client = createClient({ apiKey: false }).use(api({ baseUrl }));
    onTestEnd(() => client.close());
    client.events.subscribe((event) => {
      if (event.type === 'warning') warnings.push(event.message);
    });
    for await (const row of client.test.sized()) expect(row).toHaveProperty('id');
    expect(warnings).toEqual(place === undefined ? [] : [expect.stringContaining(place)]);
  });

  test.each<[string | undefined, object, object, string?]>([
    ['total', { total: 4 }, {}],
    ['meta.totalCount', { meta: { totalCount: 40 } }, {}],
    ['the header x-total-count', {}, { 'x-total-count': '4' }],
    [undefined, { total: 3, meta: { total: 99.5 } }, { 'x-total-count': '3' }],
    ['total', { total: '60' }, {}],
    [undefined, { total: 'four', order: { total: 4 } }, { 'x-total-count': 'many' }],
    [undefined, { total: 4 }, {}, 'total'],
  ])('R2 a larger total is a warning, at %s of %j and %j', async (place, body, headers, total) => {
    const warnings: string[] = [];
    const { baseUrl } = await serve(() => ({ body: { items: numbered(3), ...body }, headers: { ...headers } }));
    const given = total === undefined ? {} : { total };
    const all = listing<Row>({ path: '/items', paging: onePage(), rows: 'items', columns: ['id'], ...given });
    const api = defineApi({ name: 'test', auth: noAuth, rateLimit: false, sources: { all } });
    const client = createClient({ apiKey: false }).use(api({ baseUrl }));
    client.events.subscribe((event) => {
      if (event.type === 'warning') warnings.push(event.message);
    });
    onTestEnd(() => client.close());
    expect(await client.test.all().toArray()).toEqual(numbered(3));
    expect(warnings).toEqual(
      place === undefined ? [] : [expect.stringContaining(`the only page has 3 rows, and says at ${place} that there`)],
    );
  });

  async function warningsOf(body: object, query = {}): Promise<string[]> {
    const warnings: string[] = [];
    const { baseUrl } = await serve(() => ({ body: { items: numbered(3), ...body } }));
    const source = openListing(
      listing<Row>({ path: '/items', query, paging: onePage(), rows: 'items', columns: ['id'] }),
      { baseUrl, auth: noAuth, onWarning: (text) => void warnings.push(text) },
    );
    expect(await source().toArray()).toEqual(numbered(3));
    return warnings;
  }

  test.each<[string, object]>([
    ['bookmark', { bookmark: 'g1AAA' }],
    ['_scroll_id', { _scroll_id: 'abc', took: 3, timed_out: false }],
    ['scroll_id', { scroll_id: 'abc' }],
    ['cursor', { cursor: 'abc' }],
    ['meta.cursor', { meta: { cursor: { id: 3 } } }],
    ['token', { token: 88 }],
    ['continuation', { continuation: { row: 'abc' } }],
    ['resumptionToken', { resumptionToken: 'abc' }],
    ['pageKey', { pageKey: 'abc' }],
    ['paging.cursors.after', { paging: { cursors: { before: 'a', after: 'b' } } }],
    ['data.after', { data: { after: 't3_abc', before: null } }],
    ['search_after', { search_after: 'abc' }],
    ['marker', { marker: '3', limit: 3 }],
    ['exclusiveStartKey', { exclusiveStartKey: { id: '3' } }],
    ['next_batch', { next_batch: 's72595' }],
    ['nextRow', { nextRow: 'abc' }],
    ['more', { more: 12 }],
    ['next', { next: { from: 'abc' } }],
  ])('R2 what may be where a next page begins is a warning: %s of %j', async (place, body) => {
    expect(await warningsOf(body)).toEqual([
      expect.stringContaining(`the only page has at ${place} what may be where`),
    ]);
  });

  test.each<[string, string, object]>([
    ['users.list', 'users.next_cursor', { users: { list: numbered(3), next_cursor: 'abc' } }],
    ['d.results', 'd.__next', { d: { results: numbered(3), __next: 'https://api.example.com/items?$skiptoken=3' } }],
    [
      'data.repo.issues.nodes',
      'data.repo.issues.pageInfo.hasNextPage',
      { data: { repo: { issues: { nodes: numbered(3), pageInfo: { hasNextPage: true } } } } },
    ],
  ])('R2 a next page that is named in the object that has the list, %s, is an error', async (rows, place, body) => {
    const { baseUrl } = await serve(() => ({ body }));
    const definition = { path: '/items', paging: onePage(), rows, columns: ['id'] };
    const source = openListing(listing<Row>(definition), { baseUrl, auth: noAuth })();
    await expect(source.toArray()).rejects.toThrow(`at ${place}: it names a next page`);
  });

  test.each<[object, object?]>([
    [{ links: { self: '/items', first: '/items', last: '/items', prev: null } }],
    [{ created_after: '2026-01-01', updated_before: '2026-02-01', since: 5 }],
    [{ cursor: null, bookmark: '', continue: {} }],
    [{ next_cursor: null, cursor: 'abc' }],
    [{ has_more: false, cursor: 'abc', scroll_id: 'abc' }],
    [{ data: { pageInfo: { hasNextPage: false, endCursor: 'c' } } }],
    [{ isLast: true, token: 'abc' }],
    [{ nextSyncToken: 'abc', sync_token: 'abc', '@odata.deltaLink': 'https://api.example.com/delta?t=1' }],
    [{ access_token: 'abc', token_type: 'bearer', csrf_token: 'abc', request_id: 'abc' }],
    [{ next_update_at: '2026-01-01', nextRunTime: 5, next_check: 'soon', nextBillingDate: '2026-02-01' }],
    [{ cursor: 'abc' }, { cursor: 'abc' }],
    [{ count: 3, limit: 10, offset: 0, page: 1, total: 3, success: true, status: 'ok' }],
    [{ item: { cursor: 'abc', token: 'abc' }, owner: { bookmark: 'abc' } }],
    [{ items: [{ id: 0, token: 'a', next_id: 1, cursor: 'abc' }, { id: 1 }, { id: 2 }].map(({ id }) => ({ id })) }],
  ])('R2 %j has no such place, with the query %j', async (body, query) => {
    expect(await warningsOf(body, query)).toEqual([]);
  });

  test('R2 byLink() warns if the first page has no Link header and names a next page', async () => {
    const warnings: string[] = [];
    const bodies = [{ next: '/items?page=2' }, { next: null }, { items: numbered(3) }];
    for (const body of bodies) {
      const { baseUrl } = await serve(() => ({ body: { items: numbered(3), ...body } }));
      const all = listing<Row>({ path: '/items', paging: byLink(), rows: 'items', columns: ['id'] });
      const api = defineApi({ name: 'test', auth: noAuth, rateLimit: false, sources: { all } });
      const client = createClient({ apiKey: false }).use(api({ baseUrl }));
      client.events.subscribe((event) => {
        if (event.type === 'warning') warnings.push(event.message);
      });
      onTestEnd(() => client.close());
      expect(await client.test.all().toArray()).toEqual(numbered(3));
    }
    expect(warnings).toEqual([expect.stringContaining('has no Link header, so the listing ends, but it names a next')]);
  });
});
