import { expect, test } from 'vitest';
import { z } from 'zod';
import { watch } from '../../../src/index.js';
import { byCursor, listing, type Listing } from '../../../src/define/index.js';
import { openListing, serve } from '../../define/servedApi.js';
import { SkippingClock } from './skippingClock.js';

const paging = byCursor({ param: 'cursor', at: 'next?' });
const columns = ['id'] as const;
const key = ({ id }: { readonly id?: unknown }): number => Number(id);

test.each<[string, Listing<{ id?: unknown }, object>, RegExp]>([
  [
    'schema does not fit',
    listing({
      path: '/items',
      rows: 'items',
      paging,
      key,
      columns,
      schema: z.object({ id: z.string() }),
      version: '1',
    }),
    /items\[0\]/,
  ],
  ['rows are elsewhere', listing({ path: '/items', rows: 'data', paging, key, columns }), /there is no such field/],
  [
    'function of the rows throws a TypeError',
    listing({
      path: '/items',
      paging,
      key,
      columns,
      rows: () => {
        throw new TypeError('x is not a function');
      },
    }),
    /x is not a function/,
  ],
  [
    'key returns nothing',
    listing({ path: '/items', rows: 'items', paging, columns, key: () => undefined as never }),
    /row 1 lacks its key, since key returned undefined: it has "id"/,
  ],
])('C9 a watch whose %s ends at its first poll', async (_, items, message) => {
  const { baseUrl, asked } = await serve(() => ({ body: { items: [{ id: 1 }] } }));
  const source = openListing(items, { baseUrl })();
  await expect(watch(source, { every: 1_000, clock: new SkippingClock(), polls: 3 }).toArray()).rejects.toThrow(
    message,
  );
  expect(asked).toHaveLength(1);
});
