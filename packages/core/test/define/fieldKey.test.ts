import { describe, expect, test } from 'vitest';
import { memoryState, type RowKey } from '../../src/index.js';
import { listing, type ListingKey, onePage } from '../../src/define/index.js';
import { openListing, serve } from './servedApi.js';

const common = { path: '/items', paging: onePage(), rows: 'items', columns: ['id'] } as const;

/** The function that watches, tables and parents get. */
async function keyIn(key: ListingKey<Record<string, unknown>>, row: object): Promise<RowKey | undefined> {
  const server = await serve(() => ({ body: { items: [row] } }));
  const source = openListing(listing({ ...common, key }), server)();
  const [first = {}] = await source.toArray();
  return source.info.schema?.key?.(first);
}

describe('the key of a listing', () => {
  test('is a field', async () => {
    expect(await keyIn('id', { id: 'a' })).toBe('a');
    expect(await keyIn('id', { id: 7 })).toBe(7);
    expect(await keyIn('id', { id: 0 })).toBe(0);
  });

  test('of several fields is never that of other values', async () => {
    expect(await keyIn(['a', 'b'], { a: 'x', b: 7 })).toBe('["x","7"]');
    const [one, two] = [
      { a: 'x y', b: 'z' },
      { a: 'x', b: 'y z' },
    ];
    expect(await keyIn(['a', 'b'], one)).not.toBe(await keyIn(['a', 'b'], two));
  });

  test.each([
    ['id', {}, 'items[0]: row 1 lacks its key "id": it is empty'],
    ['id', { id: null }, 'items[0]: row 1 lacks its key "id", which is null: it has "id"'],
    ['id', { id: '' }, 'items[0]: row 1 lacks its key "id", which is an empty text: it has "id"'],
    ['id', { id: 1.5 }, 'The field "id" of a row of test.items is 1.5'],
    [['id', 'of'], { id: 1, of: [] }, 'The field "of" of a row of test.items is a list: as a part of its key'],
  ] as const)('%j of %j is an error that names the field', async (key, row, message) => {
    await expect(keyIn(key, row)).rejects.toThrow(message);
  });

  test('is checked with the definition', () => {
    for (const key of ['', [], ['id', ''], ['id', 7], 7])
      // @ts-expect-error: it names no fields.
      expect(() => listing({ ...common, key })).toThrow('at key: it');
  });

  test('is found by a watch', async () => {
    let price = 1;
    const server = await serve(() => ({ body: { items: [{ id: 'a', of: 1, price: (price += 1) }] } }));
    const items = openListing(listing({ ...common, key: ['of', 'id'] }), server);
    const changes = await items.watch({}, { every: 1, polls: 2, state: memoryState() }).toArray();
    expect(changes).toMatchObject([
      { type: 'initial', key: '["1","a"]' },
      { type: 'changed', key: '["1","a"]' },
    ]);
  });
});
