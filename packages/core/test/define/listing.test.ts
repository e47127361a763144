import * as v from 'valibot';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { byCursor, graphqlErrors, listing, type ListingDefinition } from '../../src/define/index.js';
import type { StandardSchema } from '../../src/define/standardSchema.js';
import { openListing, serve } from './servedApi.js';

const common = { path: '/items', paging: byCursor({ param: 'cursor', at: 'next?' }) };
const columns = ['id'] as const;

function faultOf(read: () => unknown): unknown {
  try {
    read();
  } catch (error) {
    return error;
  }
  throw new Error('It was accepted.');
}

describe('the rows of an answer', () => {
  const records = (rows: string) => listing({ ...common, columns, rows });

  test.each<[string, unknown, unknown[]]>([
    ['items', { items: [{ id: 1 }] }, [{ id: 1 }]],
    ['data.items', { data: { items: [] } }, []],
    ['', [{ id: 1 }, { id: 2 }], [{ id: 1 }, { id: 2 }]],
    ['[1]', [{ page: 1 }, [{ id: 1 }]], [{ id: 1 }]],
    ['items?', {}, []],
    ['items?', { items: null }, []],
  ])('at %j of %j are %j', (rows, body, found) => {
    const paging = byCursor({ param: 'cursor', at: () => undefined });
    expect(listing({ ...common, paging, columns, rows }).read({ body }).rows).toEqual(found);
  });

  test.each<[string, unknown, string, RegExp]>([
    ['items', { itmes: [{ id: 1 }] }, 'items', /there is no such field/],
    ['items', { items: null }, 'items', /it is null: if it may be, write \?/],
    ['items', { items: { id: 1 } }, 'items', /it is an object, and not a list/],
    ['items?', { items: { id: 1 } }, 'items', /it is an object, and not a list/],
    ['items', { items: [{ id: 1 }, 'x'] }, 'items[1]', /it is text, and not an object/],
    ['items', { items: [[]] }, 'items[0]', /it is a list, and not an object/],
    ['', { items: [] }, '', /it is an object, and not a list/],
    ['items', { items: [], next: {} }, 'next', /it is not text/],
    ['items', { items: [], next: 1.5 }, 'next', /it is not text/],
  ])('at %j of %j are an error at %j', (rows, body, path, message) => {
    const fault = faultOf(() => records(rows).read({ body }, 'test.items'));
    expect(fault).toMatchObject({ code: 'decode', message: expect.stringMatching(message), details: { path } });
    expect(fault).toMatchObject({ message: expect.stringMatching(/^test\.items: the server responded/) });
  });

  test('may be found by a function, which can tell where', () => {
    const found = listing({ ...common, columns, rows: ({ at }) => ({ rows: [at('first'), at('second')], at: '' }) });
    expect(found.read({ body: { first: { id: 1 }, second: { id: 2 } } }).rows).toEqual([{ id: 1 }, { id: 2 }]);
    const placed = listing({ ...common, columns, rows: () => ({ rows: [7], at: 'deep.list' }) });
    expect(faultOf(() => placed.read({ body: { deep: { list: [7] } } }))).toMatchObject({
      details: { path: 'deep.list[0]' },
    });
  });

  test('may be anything but a list of rows under the names that a function uses', () => {
    expect(faultOf(() => records('items').read({ body: { items: { rows: [], at: 'items' } } }))).toMatchObject({
      details: { path: 'items' },
    });
  });

  test('that a function fails to find are an error without what it quotes', () => {
    const failing = listing({
      ...common,
      columns,
      rows: ({ body }) => {
        throw new TypeError(`Can't read ${JSON.stringify(body)}`);
      },
    });
    const fault = faultOf(() => failing.read({ body: { secret: 'sk-live-0123' } }));
    expect(fault).toMatchObject({ code: 'decode', details: { path: '' } });
    expect(JSON.stringify(fault)).not.toContain('sk-live');
  });
});

describe('a total', () => {
  test.each<[unknown, number | undefined]>([
    [0, 0],
    [57, 57],
    ['57', 57],
    [null, undefined],
  ])('%j is %s', (total, count) => {
    const counted = listing({ ...common, columns, rows: 'items', total: 'meta.total' });
    expect(counted.read({ body: { items: [], meta: { total } } }).total).toBe(count);
  });

  test.each([-1, 1.5, 'many', '', true, {}, 1e400])('%j is an error', (total) => {
    const counted = listing({ ...common, columns, rows: 'items', total: () => total });
    expect(faultOf(() => counted.read({ body: { items: [] } }))).toMatchObject({ code: 'decode' });
  });

  test('may stand in a header, and must not be missed by a misspelt path', () => {
    const header = listing({ ...common, columns, rows: 'items', total: ({ headers }) => headers['x-total-count'] });
    expect(header.read({ body: { items: [] }, headers: { 'x-total-count': '12' } }).total).toBe(12);
    expect(header.read({ body: { items: [] } }).total).toBeUndefined();
    const misspelt = listing({ ...common, columns, rows: 'items', total: 'totl' });
    expect(faultOf(() => misspelt.read({ body: { items: [], total: 1 } }))).toMatchObject({
      details: { path: 'totl' },
    });
  });
});

describe('a schema', () => {
  const rows = 'data.items';
  const body = (...items: unknown[]) => ({ data: { items } });

  test.each<[string, StandardSchema<unknown, { id: number }>]>([
    ['Zod', z.object({ id: z.string().transform(Number) })],
    ['Valibot', v.object({ id: v.pipe(v.string(), v.transform(Number)) })],
  ])('of %s makes rows of its output, and keeps what came beside', (_library, schema) => {
    const page = listing({ ...common, rows, schema, version: '1', columns }).read({ body: body({ id: '7', more: 1 }) });
    expect(page.rows).toEqual([{ id: 7 }]);
    expect(page.received).toEqual([{ id: '7', more: 1 }]);
  });

  test.each<[string, StandardSchema<unknown, { tags: { name: string }[] }>]>([
    ['Zod', z.object({ tags: z.array(z.object({ name: z.string() })) })],
    ['Valibot', v.object({ tags: v.array(v.object({ name: v.string() })) })],
  ])('of %s refuses a row with its place in the document, and without its value', (_library, schema) => {
    const tagged = listing({ ...common, rows, schema, version: '1', columns: ['tags'] });
    const wrong = { tags: [{ name: 'ok' }, { name: 4711_0815 }] };
    const fault = faultOf(() => tagged.read({ body: body({ tags: [] }, wrong) }, 'test.items'));
    expect(fault).toMatchObject({
      code: 'decode',
      details: { route: 'test.items', path: 'data.items[1].tags[1].name' },
    });
    expect(JSON.stringify(fault)).not.toContain('47110815');
  });

  test.each<[string, StandardSchema<unknown, { id: string }>]>([
    ['Zod', z.object({ id: z.string().refine(async () => Promise.resolve(true)) })],
    [
      'Valibot',
      v.objectAsync({
        id: v.pipeAsync(
          v.string(),
          v.checkAsync(async () => Promise.resolve(true)),
        ),
      }),
    ],
  ])('of %s that is asynchronous is refused', (_library, schema) => {
    const late = listing({ ...common, rows, schema, version: '1', columns });
    expect(faultOf(() => late.read({ body: body({ id: '1' }) }))).toMatchObject({
      code: 'decode',
      message: expect.stringMatching(/returned no result at once: it is asynchronous/),
    });
  });

  test('that throws is a row of another shape', () => {
    const schema = z.object({ id: z.string().transform((id) => BigInt(id)) });
    const strict = listing({ ...common, rows, schema, version: '1', columns });
    const fault = faultOf(() => strict.read({ body: body({ id: 'no number at all' }) }));
    expect(fault).toMatchObject({ code: 'decode', details: { path: 'data.items[0]' } });
    expect(JSON.stringify(fault)).not.toContain('no number');
    expect(strict.read({ body: body({ id: '7' }) }).rows).toEqual([{ id: 7n }]);
  });

  test('is not needed: a function makes rows, too', () => {
    const decoded = listing({
      ...common,
      rows,
      version: '1',
      decode: (row, path, read) => {
        const { id } = read.record(row, path);
        if (typeof id !== 'number') throw read.fault(`${path}.id`, 'it is no number');
        return { id, twice: 2 * id };
      },
      columns: ['id', 'twice'],
      key: (row) => row.twice.toFixed(),
    });
    expect(decoded.read({ body: body({ id: 2 }) }).rows).toEqual([{ id: 2, twice: 4 }]);
    expect(faultOf(() => decoded.read({ body: body({ id: 2 }, {}) }))).toMatchObject({
      details: { path: 'data.items[1].id' },
      message: expect.stringMatching(/it is no number/),
    });
  });

  test('passes names of the language on as what they are', () => {
    const text = '[{"id":1,"__proto__":{"polluted":true},"constructor":2}]';
    const kept = listing({ ...common, rows: '', columns, paging: byCursor({ param: 'c', at: () => null }) });
    expect(JSON.stringify(kept.read({ body: JSON.parse(text) }).rows)).toBe(text);
    expect({}).not.toHaveProperty('polluted');
  });
});

describe('D4 a listing', () => {
  const row =
    '{"id":12345678901234567890,"price":0.1000000000000000055,"huge":1e400,"tiny":1e-400,"size":2.50,"name":"1e400"}';
  const exact = {
    id: '12345678901234567890',
    price: '0.1000000000000000055',
    huge: '1e400',
    tiny: '1e-400',
    size: 2.5,
    name: '1e400',
  };
  const columns = ['id', 'price', 'huge', 'tiny', 'size', 'name'];
  const paging = byCursor({ param: 'cursor', at: () => undefined });

  test.each<[string, string, Partial<ListingDefinition<Record<string, unknown>, object, object>>]>([
    ['without types', `{"items":[${row}]}`, { rows: 'items' }],
    ['with types', `{"items":[${row}]}`, { rows: 'items', types: { id: 'integer', price: 'number' } }],
    ['with a schema', `{"items":[${row}]}`, { rows: 'items', schema: z.record(z.string(), z.unknown()), version: '1' }],
    [
      'with a decoder',
      `{"items":[${row}]}`,
      { rows: 'items', decode: (row, path, read) => read.record(row, path), version: '1' },
    ],
    ['of JSON Lines', `${row}\n`, { rows: '', format: 'jsonLines' }],
    ['of GraphQL', `{"data":{"items":[${row}]}}`, { rows: 'data.items', responses: graphqlErrors() }],
    ['in a long document', `{"pad":"${'é'.repeat(70_000)}","items":[${row}]}`, { rows: 'items' }],
  ])('keeps all digits of numbers, %s', async (_what, text, part) => {
    const definition = { path: '/items', columns, paging, rows: '', ...part };
    const items = listing(definition as ListingDefinition<Record<string, unknown>, object, object>);
    const server = await serve(() => ({ text }));
    expect(await openListing(items, server)().toArray()).toEqual([exact]);
  });

  test('has as many keys as the API has ids', async () => {
    const ids = ['9007199254740992', '9007199254740993', '12345678901234567890', '12345678901234567891'];
    const server = await serve(() => ({ text: `[${ids.map((id) => `{"id":${id}}`).join()}]` }));
    const items = listing<{ id: number }>({ path: '/items', columns: ['id'], key: ({ id }) => id, paging, rows: '' });
    const rows = await openListing(items, server)().toArray();
    expect(rows.map(({ id }) => String(id))).toEqual(ids);
  });
});
