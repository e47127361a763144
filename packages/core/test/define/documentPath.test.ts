import { describe, expect, test } from 'vitest';
import { documentPath } from '../../src/define/responses/documentPath.js';
import {
  byConnection,
  byCursor,
  byKeyset,
  byLink,
  byPage,
  bySince,
  listing,
  type Paging,
} from '../../src/define/index.js';
import { openListing, serve } from './servedApi.js';
import { documentReader } from '../../src/define/responses/documentReader.js';

const read = documentReader('test.items');
const find = (path: string, document: unknown): unknown => documentPath(path).find(document, read);

describe('every option that is a path takes quoted names', () => {
  const next = 'https://api.example.com/items?page=2';
  test.each<[string, Paging, unknown]>([
    ['byLink', byLink({ at: "['@odata.nextLink']" }), { cursor: '/items?page=2' }],
    ['byCursor', byCursor({ param: 'c', at: "['next.cursor']", more: "['has.more']" }), { cursor: 'abc' }],
    ['byPage', byPage({ param: 'page', pages: "['page.count']" }), { cursor: '2' }],
    ['byKeyset', byKeyset([{ field: "['row.id']", param: 'id' }], { more: "['has.more']" }), { cursor: '[7]' }],
    ['byConnection', byConnection("['a.b']"), { cursor: 'end' }],
  ])('%s, rows and total', (_, paging, found) => {
    const items = listing({
      path: '/items',
      paging,
      rows: "['the.rows']",
      total: "['the.total']",
      columns: ['row.id'],
      ...(paging.fields?.length ? { method: 'POST' as const, body: {} } : {}),
    });
    const body = {
      '@odata.nextLink': next,
      'next.cursor': 'abc',
      'has.more': true,
      'page.count': 3,
      'the.rows': [{ 'row.id': 7 }],
      'the.total': 9,
      'a.b': { pageInfo: { hasNextPage: true, endCursor: 'end' } },
    };
    expect(items.read({ body })).toMatchObject({ rows: [{ 'row.id': 7 }], total: 9, next: found });
  });

  test('places in a body, which are set once, however they are written', async () => {
    const { baseUrl, requests } = await serve((_url, nth) => ({ body: { items: [{ id: nth }].slice(0, 2 - nth) } }));
    const paging = bySince({ into: "filter['updated.at']", field: 'id', type: 'integer' });
    const parts = { method: 'POST', path: '/items', body: {}, rows: 'items', columns: ['id'], paging } as const;
    const items = listing({ ...parts, pageSize: { into: "['page.size']", default: 2, max: 2 } });
    expect(await openListing(items, { baseUrl })().toArray()).toHaveLength(1);
    expect(requests.at(-1)?.body).toEqual({ 'page.size': 2, filter: { 'updated.at': 1 } });
    expect(() =>
      listing({ ...parts, paging: byPage({ into: 'a.b' }), pageSize: { into: "['a']['b']", default: 2 } }),
    ).toThrow('a.b is set twice');
  });
});

describe('a path in a document', () => {
  test.each<[string, unknown, unknown]>([
    ['', [1], [1]],
    ['items', { items: [] }, []],
    ['data.items', { data: { items: [1] } }, [1]],
    ['[1]', [{ page: 1 }, ['row']], ['row']],
    ['[0].rows[1]', [{ rows: ['a', 'b'] }], 'b'],
    ['@odata.nextLink', { '@odata': { nextLink: 'x' } }, 'x'],
    ['_embedded.my-items', { _embedded: { 'my-items': 1 } }, 1],
    ['next', { next: null }, null],
    ['constructor', JSON.parse('{"constructor":1}'), 1],
    ['__proto__.x', JSON.parse('{"__proto__":{"x":2}}'), 2],
    ['items?', {}, undefined],
    ['items?', { items: null }, undefined],
    ['data?.items', {}, undefined],
    ['data?.items', { data: null }, undefined],
    ['data.next?.href', { data: {} }, undefined],
    ['[3]?', [1], undefined],
    ["['@odata.nextLink']", { '@odata.nextLink': 'x' }, 'x'],
    ['["@odata.nextLink"]?', { '@odata.nextLink': 'x' }, 'x'],
    ["['@odata.nextLink']?", {}, undefined],
    ["meta['next.page'].url", { meta: { 'next.page': { url: 'x' } } }, 'x'],
    ["meta['next.page']?.url", { meta: {} }, undefined],
    ["[0]['a[b]']", [{ 'a[b]': 1 }], 1],
    ["['it\\'s \"it\"']", { 'it\'s "it"': 1 }, 1],
    ["['\\u00e9\\\\']", { 'é\\': 1 }, 1],
    ["['']", { '': 1 }, 1],
    ["data['items']", { data: { items: [1] } }, [1]],
  ])('%j leads in %j to %j', (path, document, found) => {
    expect(find(path, document)).toEqual(found);
  });

  test.each<[string, unknown, string, RegExp]>([
    ['itmes', { items: [] }, 'itmes', /there is no such field: if it may be missing, write \? after its name\. Is the/],
    ['data.itmes', { data: { items: [] } }, 'data.itmes', /there is no such field/],
    ['data?.itmes', { data: { items: [] } }, 'data.itmes', /there is no such field/],
    ['data.items?', { date: {} }, 'data', /there is no such field/],
    ['data.items?', { data: null }, 'data', /it is null: if it may be, write \? after its name/],
    ['data.items?', { data: 'x' }, 'data', /it is text, and not an object/],
    ['data.items', { data: [{ items: 1 }] }, 'data', /it is a list, and not an object/],
    ['data[0]', { data: { 0: 1 } }, 'data', /it is an object, and not a list/],
    ['[2]', [1, 2], '[2]', /there is no such field/],
    ["['a.b'].c", { 'a.b': {} }, "['a.b'].c", /there is no such field/],
    ["a['b.c']", { a: {} }, "a['b.c']", /there is no such field/],
    ['items', [], '', /it is a list, and not an object/],
    ['items', null, '', /it is null/],
    ['toString', {}, 'toString', /there is no such field/],
    ['items.length', { items: [] }, 'items', /it is a list, and not an object/],
  ])('%j leads nowhere in %j, which is told at %j', (path, document, at, message) => {
    const asked = (): unknown => find(path, document);
    expect(asked).toThrow(message);
    expect(asked).toThrow(expect.objectContaining({ code: 'decode', details: { route: 'test.items', path: at } }));
  });

  test.each<[path: string, document: unknown, quoted: string]>([
    ['@odata.nextLink', { '@odata.nextLink': 'x' }, "['@odata.nextLink']"],
    ['@odata.nextLink?', { '@odata.nextLink': 'x' }, "['@odata.nextLink']?"],
    ['@odata?.nextLink?', { '@odata.nextLink': 'x' }, "['@odata.nextLink']?"],
    ['@odata?.nextLink?', { '@odata.nextLink': null, '@odata': null }, "['@odata.nextLink']?"],
    ['meta.next.page.url', { meta: { 'next.page': { url: 'x' } } }, "meta['next.page'].url"],
    ['meta.next?.page?.url?', { meta: { 'next.page': { url: 'x' } } }, "meta['next.page']?.url?"],
    ['a.b?.c?', { a: { 'b.c': 1 } }, "a['b.c']?"],
    ['list[0].a?.b?', { list: [{ 'a.b': 1 }] }, "list[0]['a.b']?"],
    ['filter?[0]?', { 'filter[0]': 1 }, "['filter[0]']?"],
    ['more?', { 'more?': true }, "['more?']"],
  ])('%j is refused in %j, where it is one name, and the message has its spelling', (path, document, quoted) => {
    expect(() => find(path, document)).toThrow(`but the document has it as one name: write ${quoted}. `);
    expect(() => find(quoted, document)).not.toThrow();
  });

  test.each([
    '.',
    'a.',
    '.a',
    'a..b',
    'a[',
    'a[x]',
    'a[0]b',
    '?',
    '[0',
    'a??',
    'a.[0]',
    '[-1]',
    "['a",
    "a.['b']",
    "['\\x']",
    "['a'",
  ])('%j is none, which is told at once', (path) => {
    expect(() => documentPath(path)).toThrow(expect.objectContaining({ code: 'config' }));
  });
});

describe('R5 rows in each item of a list', () => {
  const rowsOf = (rows: string, body: unknown): readonly unknown[] =>
    listing({ path: '/items', paging: byLink(), columns: ['id'], rows }).read({ body }).rows;

  test.each<[string, unknown, unknown[]]>([
    ['items[*].row', { items: [{ row: { id: 1 } }, { row: { id: 2 } }] }, [{ id: 1 }, { id: 2 }]],
    ['items[*].row?', { items: [{ row: { id: 1 } }, {}, { row: null }] }, [{ id: 1 }]],
    ['items?[*].row', {}, []],
    ['items[*]', { items: [{ id: 1 }] }, [{ id: 1 }]],
    ['[*].row', [{ row: { id: 1 } }], [{ id: 1 }]],
    ['[*][0]', [[{ id: 1 }, { id: 2 }]], [{ id: 1 }]],
    [
      'groups[*].members[*]',
      { groups: [{ members: [{ id: 1 }, { id: 2 }] }, { members: [] }, { members: [{ id: 3 }] }] },
      [{ id: 1 }, { id: 2 }, { id: 3 }],
    ],
    ['a[*].b?[*].c', { a: [{ b: [{ c: { id: 1 } }] }, {}] }, [{ id: 1 }]],
    ["items[*]['a[*].b']", { items: [{ 'a[*].b': { id: 1 } }] }, [{ id: 1 }]],
  ])('%s', (rows, body, found) => {
    expect(rowsOf(rows, body)).toEqual(found);
  });

  test.each<[string, unknown, string, string]>([
    ['items[*].row', { items: [{ row: { id: 1 } }, {}] }, 'items[1].row', 'there is no such field'],
    ['items[*].row', { items: { row: 1 } }, 'items', 'it is an object, and not a list'],
    ['items[*].row', { items: [null] }, 'items[0]', 'it is null, and not an object'],
    ['items[*].row', {}, 'items', 'there is no such field'],
    [
      'groups[*].members',
      { groups: [{ members: [] }] },
      'groups[0].members',
      'it is a list, and not a row: write [*] after it',
    ],
    ['groups[*].members[*]', { groups: [{ members: null }] }, 'groups[0].members', 'it is null: if it may be, write ?'],
  ])('%s of %j is an error at its place', (rows, body, path, what) => {
    expect(() => rowsOf(rows, body)).toThrow(
      expect.objectContaining({
        code: 'decode',
        details: expect.objectContaining({ path }),
        message: expect.stringContaining(what),
      }),
    );
  });

  test.each(['items[*]row', 'items[*]?', 'items[*].', 'items[*]..row', '[**]'])('%s is no path', (rows) => {
    expect(() => rowsOf(rows, {})).toThrow(expect.objectContaining({ code: 'config' }));
  });

  test.each(['total', 'more', 'next'])('a %s has none', (name) => {
    const paging = byCursor({ param: 'c', at: 'next' });
    const of = {
      total: () => listing({ path: '/', paging, columns: ['id'], rows: '', total: 'items[*].n' }),
      more: () => byCursor({ param: 'c', at: 'next', more: 'items[*].n' }),
      next: () => byCursor({ param: 'c', at: 'items[*].n' }),
    }[name];
    expect(of).toThrow(expect.objectContaining({ code: 'config' }));
  });

  test('a page without rows is not the last one while its outermost list has items', async () => {
    const groups = [[{ members: [{ id: 1 }] }], [{ members: [] }, {}], [{ members: [{ id: 2 }] }], []];
    const server = await serve((_url, nth) => ({ body: { groups: groups[nth - 1] } }));
    const items = listing({
      path: '/items',
      paging: byPage({ param: 'p' }),
      columns: ['id'],
      rows: 'groups[*].members?[*]',
    });
    expect(await openListing(items, server)().toArray()).toEqual([{ id: 1 }, { id: 2 }]);
    expect(server.asked).toHaveLength(4);
  });
});
