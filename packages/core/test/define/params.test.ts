import * as v from 'valibot';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { byCursor, listing } from '../../src/define/index.js';
import { openListing, serve } from './servedApi.js';
import type { Query } from '../../src/http/query.js';
import type { StandardSchema } from '../../src/define/standardSchema.js';

const common = {
  path: '/items',
  rows: 'items',
  columns: ['id'] as const,
  paging: byCursor({ param: 'cursor', at: 'next?' }),
};

async function setUp(
  params: StandardSchema<object, Record<string, unknown>> | undefined,
  query: (params: never) => Query = (asked) => asked,
) {
  const server = await serve(() => ({ body: { items: [] } }));
  const items = listing<Record<string, unknown>, object, object>({
    ...common,
    ...(params && { params }),
    query: query as (params: object) => Query,
  });
  return { asked: server.asked, items: openListing(items, server) };
}

const schemas: [string, StandardSchema<object, Record<string, unknown>>][] = [
  ['Zod', z.object({ coin: z.string(), days: z.coerce.number().int().min(1).optional() })],
  [
    'Valibot',
    v.object({
      coin: v.string(),
      days: v.optional(v.pipe(v.unknown(), v.transform(Number), v.integer(), v.minValue(1))),
    }),
  ],
];

describe.each(schemas)('parameters that %s checks', (_library, schema) => {
  test('go into the query as the schema makes them, also of text', async () => {
    const { items, asked } = await setUp(schema, ({ coin, days }: { coin: string; days: number }) => ({
      ids: [coin, 'x'],
      seconds: days * 86_400,
    }));
    await items({ coin: 'a b&c', days: '2' } as never).toArray();
    expect(asked).toEqual(['/items?ids%5B%5D=a+b%26c&ids%5B%5D=x&seconds=172800']);
  });

  test.each<[object, string]>([
    [{}, 'coin'],
    [{ coin: 7 }, 'coin'],
    [{ coin: 'a', days: 'many' }, 'days'],
    [{ coin: 'a', days: 0.5 }, 'days'],
  ])('are refused before any request where they are %j', async (given, param) => {
    const { items, asked } = await setUp(schema);
    const asking = (): unknown => items(given);
    expect(asking).toThrow(expect.objectContaining({ code: 'config', details: expect.objectContaining({ param }) }));
    expect(asking).toThrow(new RegExp(`^test\\.items refuses the parameter ${param}: `));
    expect(() => items.watch(given as never, { every: 10 })).toThrow(expect.objectContaining({ code: 'config' }));
    expect(asked).toEqual([]);
  });

  test('are not shown where they are refused', async () => {
    const { items } = await setUp(schema);
    expect(() => items({ coin: 'a', days: 'sk-live-0123' } as never)).not.toThrow(/sk-live/);
    expect(() => items({ coin: 'a', days: 'sk-live-0123' } as never)).toThrow();
  });
});

describe('parameters', () => {
  test('that are misspelt are refused where the schema names all that there are', async () => {
    const schema = z.object({ status: z.string().optional().describe('open or closed'), days: z.number() });
    const { items } = await setUp(schema);
    expect(() => items({ days: 1, satus: 'open' } as never)).toThrow(
      /test\.items has no parameter "satus"\. Did you mean status\?/,
    );
    expect(items.describe().params).toEqual([
      { name: 'status', isRequired: false, type: 'string', description: 'open or closed' },
      { name: 'days', isRequired: true, type: 'number' },
    ]);
  });

  test.each([
    ['may take others', z.looseObject({ a: z.string() })],
    ['has no form in JSON Schema', z.object({ a: z.date().transform(String) })],
    ['is of a library without JSON Schema', v.object({ a: v.string() })],
  ])('are not described where the schema %s', async (_why, schema) => {
    const { items } = await setUp(schema);
    expect(items.describe()).not.toHaveProperty('params');
  });

  test('of a listing that has none are refused', async () => {
    const server = await serve(() => ({ body: { items: [] } }));
    const items = openListing(listing(common), server);
    expect(items.describe().params).toEqual([]);
    expect(() => items({ currency: 'usd' } as never)).toThrow(/has no parameter "currency"\. It has none\./);
    expect(await items({ maxRows: undefined }).toArray()).toEqual([]);
  });

  test('may be checked by the functions themselves, and by a schema that throws', async () => {
    const { items } = await setUp(undefined, ({ days }: { days: number }) => ({ days: Math.floor(days) }));
    expect(() => items({ days: NaN } as never)).toThrow(
      /test\.items can't send "days" in its query, which is a number/,
    );
    const throwing = await setUp(
      v.pipe(
        v.object({ a: v.string() }),
        v.transform(({ a }) => ({ a: String(BigInt(a)) })),
      ),
    );
    expect(() => throwing.items({ a: 'sk-live-0123' } as never)).toThrow(expect.objectContaining({ code: 'config' }));
    expect(() => throwing.items({ a: 'sk-live-0123' } as never)).not.toThrow(/sk-live/);
  });

  test('that are checked asynchronously are refused', async () => {
    const { items } = await setUp(z.object({ a: z.string().refine(async () => Promise.resolve(true)) }));
    expect(() => items({ a: 'x' } as never)).toThrow(/returned no result at once/);
  });

  test.each([[null], [{}], [['a', 1]], [Symbol('x')], [Infinity]])('%s can not be in a query', async (value) => {
    const { items, asked } = await setUp(undefined, () => ({ a: value as never }));
    expect(() => items()).toThrow(/test\.items can't send "a" in its query/);
    expect(asked).toEqual([]);
  });

  test('can not set what paging and page size set', async () => {
    const { items } = await setUp(undefined);
    expect(() => items({ cursor: 'x' } as never)).toThrow(/test\.items sets the query parameter "cursor" twice/);
  });
});
