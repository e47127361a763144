import { describe, expect, test } from 'vitest';
import type { Position } from '../../../src/index.js';
import { byCursor, byPage, listing, type Paging } from '../../../src/define/index.js';
import { openListing, serve } from '../../define/servedApi.js';

const numbers = Array.from({ length: 60 }, (_, id) => ({ id }));

/** Rows of a currency, by page number or by a cursor, which is an offset. */
async function openRates(paging: Paging) {
  const asked: string[] = [];
  const server = await serve(({ searchParams, search }) => {
    asked.push(search);
    const size = Number(searchParams.get('limit'));
    const from = Number(searchParams.get('cursor') ?? size * (Number(searchParams.get('page') ?? 1) - 1));
    const next = from + size < numbers.length ? String(from + size) : null;
    return { body: { items: numbers.slice(from, from + size), next } };
  });
  const rates = openListing(
    listing<{ id: number }, { currency: string }>({
      ...{ path: '/rates', query: { in: '{currency}' }, paging, rows: 'items', columns: ['id'], key: 'id' },
      pageSize: { param: 'limit', default: 20 },
    }),
    server,
  );
  return { rates, asked };
}

async function firstPosition(source: ReturnType<Awaited<ReturnType<typeof openRates>>['rates']>): Promise<Position> {
  for await (const { position } of source.pages({ prefetch: 0 })) return position;
  throw new Error('It has pages.');
}

describe.each([
  ['byPage', byPage({ param: 'page' })],
  ['byCursor', byCursor({ param: 'cursor', at: 'next' })],
])('P7 a position of %s', (_, paging) => {
  test.each([
    ['other parameters', { currency: 'eur' }],
    ['a larger page size', { currency: 'usd', pageSize: 40 }],
    ['a smaller page size', { currency: 'usd', pageSize: 10 }],
  ])('is refused by a walk with %s, which requests nothing', async (_what, given) => {
    const { rates, asked } = await openRates(paging);
    const startAt = await firstPosition(rates({ currency: 'usd' }));
    const { length } = asked;
    const refused = rates(given).pages({ startAt })[Symbol.asyncIterator]().next();
    await expect(refused).rejects.toMatchObject({
      code: 'config',
      message: expect.stringContaining('startAt is a position of test.items with other parameters'),
    });
    expect(asked).toHaveLength(length);
  });

  test('resumes the same walk, also up to another row, and one of a version that had no plan in it', async () => {
    const { rates } = await openRates(paging);
    const { plan, ...older } = await firstPosition(rates({ currency: 'usd' }));
    expect(plan).toMatch(/^[0-9a-z]{6,11}$/);
    for (const [startAt, maxRows] of [
      [{ ...older, plan }, undefined],
      [{ ...older, plan }, 30],
      [older, undefined],
    ] as const) {
      const rows: number[] = [];
      const source = rates({ currency: 'usd', ...(maxRows && { maxRows }) });
      for await (const { items } of source.pages({ startAt: startAt as Position }))
        rows.push(...items.map(({ id }) => id));
      expect(rows).toEqual(numbers.slice(20, maxRows).map(({ id }) => id));
    }
  });
});
