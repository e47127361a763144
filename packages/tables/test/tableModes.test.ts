import { exportTo } from '@sluice/core';
import type { RowChanges } from '@sluice/core/kit';
import { expect, test } from 'vitest';
import { Random } from '../../../test/kit/random.js';
import type { TableMode } from '../src/sqlite.js';
import { describeDatabases, type TestDatabase } from './databases.js';
import { itemsOf, itemSource, type Item } from './items.js';

const columns = ['id', 'name', 'amount'] as const;

/** Exports items, of a source with a key or without one. */
async function into(
  database: TestDatabase,
  rows: readonly Item[],
  { mode, key, isKeyless = false }: { mode: TableMode; key?: readonly string[] | undefined; isKeyless?: boolean },
): Promise<RowChanges | undefined> {
  const sink = database.sink<Item>({ table: 'items', mode, ...(key && { key }) });
  const schema = isKeyless ? ({ columns, types: { id: 'integer', amount: 'integer' } } as const) : undefined;
  return (await exportTo(itemSource([rows], {}, schema), sink, { restart: true }).run()).changes;
}

const textOf = ({ id, name, amount }: Readonly<Record<keyof Item, unknown>>): string => `${id} ${name} ${amount}`;

async function rowsOf(database: TestDatabase): Promise<string[]> {
  const found = await database.query('SELECT id, name, amount FROM items');
  return found.map(({ id, name, amount }) => textOf({ id, name, amount })).toSorted();
}

describeDatabases('one table of $name', ({ open }) => {
  test.each<TableMode>(['replace', 'append'])('D3 has each row once when %s comes between merges', async (mode) => {
    const database = await open();
    await into(database, itemsOf([1, 2], 'old'), { mode: 'merge' });
    await into(database, itemsOf(mode === 'append' ? [3] : [1, 2, 3], 'between'), { mode });
    await into(database, itemsOf([1, 2, 3, 4], 'new'), { mode: 'merge' });
    expect(await rowsOf(database)).toEqual(itemsOf([1, 2, 3, 4], 'new').map(textOf));
  });

  test('D3 has each row once when replace by key columns comes between merges', async () => {
    const database = await open();
    await into(database, itemsOf([1, 2, 3], 'old'), { mode: 'merge' });
    await into(database, itemsOf([2, 3, 4], 'between'), { mode: 'replace', key: ['amount'] });
    await into(database, itemsOf([1, 2, 4], 'new'), { mode: 'merge' });
    expect(await rowsOf(database)).toEqual(
      [...itemsOf([1, 2], 'new'), ...itemsOf([3], 'between'), ...itemsOf([4], 'new')].map(textOf),
    );
  });

  test(
    'D3 refuses a merge while rows have no key, and takes it once replace has filled it',
    { tags: ['slow'] },
    async () => {
      const database = await open();
      await into(database, itemsOf([1, 2], 'old'), { mode: 'merge' });
      await into(database, itemsOf([3], 'keyless'), { mode: 'append', isKeyless: true });
      const before = await rowsOf(database);
      await expect(into(database, itemsOf([3], 'new'), { mode: 'merge' })).rejects.toThrow(
        '1 row of the table items has no _key, so the export would add such rows again. Nothing was changed. Remove them, or replace all rows once: replace in mode.',
      );
      expect(await rowsOf(database)).toEqual(before);
      await into(database, itemsOf([2, 3], 'all'), { mode: 'replace' });
      await into(database, itemsOf([3], 'new'), { mode: 'merge' });
      expect(await rowsOf(database)).toEqual([...itemsOf([2], 'all'), ...itemsOf([3], 'new')].map(textOf));
    },
  );

  test('D3 refuses to append a row whose key is there, and says what takes it', async () => {
    const database = await open();
    await into(database, itemsOf([1, 2], 'old'), { mode: 'merge' });
    await expect(into(database, itemsOf([2, 3], 'new'), { mode: 'append' })).rejects.toThrow(
      /^The table items takes no two rows with these values: .*_key.* Nothing was changed\. With merge in mode, rows take the place of those with their keys\.$/,
    );
    expect(await rowsOf(database)).toEqual(itemsOf([1, 2], 'old').map(textOf));
  });

  test('D3 reports how many rows were added, changed and removed', async () => {
    const database = await open();
    const same = itemsOf([1, 2]);
    expect(await into(database, [...same, ...itemsOf([3, 4])], { mode: 'merge' })).toBeUndefined();
    const rows = [...same, ...itemsOf([3], 'new'), ...itemsOf([5, 6, 7])];
    const merged = { before: 4, removed: 0, added: 3, changed: 1 };
    expect(await into(database, rows, { mode: 'merge' })).toEqual(merged);
    const replaced = { before: 7, removed: 5, added: 1, changed: 0 };
    expect(await into(database, [...same, ...itemsOf([8])], { mode: 'replace' })).toEqual(replaced);
    expect(await into(database, itemsOf([9]), { mode: 'replace', isKeyless: true })).toEqual({ before: 3, removed: 2 });
    expect(await into(database, itemsOf([10]), { mode: 'append' })).toBeUndefined();
  });

  // Each column but the name identifies a row, so that one model stands for all keys.
  test.each([1, 2, 3])(
    'D3 equals the model after any modes and keys, or is as it was (seed %i)',
    { tags: ['slow'] },
    async (seed) => {
      const random = new Random(`${seed} modes`);
      const database = await open();
      let model: readonly Item[] | undefined;
      let hasKeyColumn = false;
      let isKeyed = true;
      let taken = 0;
      for (let nth = 0; nth < 12; nth += 1) {
        const mode = nth === 0 ? 'merge' : random.pick<TableMode>(['append', 'merge', 'merge', 'replace', 'replace']);
        const isByKey = mode !== 'append' && random.chance(nth === 0 ? 0.2 : 0.4);
        const key = isByKey ? [random.pick(['id', 'amount'])] : undefined;
        const isKeyless = (mode !== 'merge' || isByKey) && random.chance(0.15);
        const ids = Array.from({ length: 8 }, (_, id) => id).filter(() => random.chance(0.4));
        const rows = itemsOf(ids, `${nth}`);
        const before: readonly Item[] = model ?? [];
        const others = before.filter(({ id }) => !ids.includes(id));
        const failed = await into(database, rows, { mode, key, isKeyless }).then(
          () => undefined,
          (error: unknown) => error,
        );
        const isRight = !isByKey && (mode === 'replace' || (mode === 'merge' && (!model || (hasKeyColumn && isKeyed))));
        if (isRight) expect(failed, `step ${nth}: ${mode}`).toBeUndefined();
        if (failed === undefined) {
          hasKeyColumn = model ? hasKeyColumn : mode === 'merge' && !isByKey;
          isKeyed = (mode === 'replace' || isKeyed) && !(isKeyless && rows.length > 0);
          model = mode === 'append' ? [...before, ...rows] : mode === 'merge' ? [...others, ...rows] : rows;
          taken += 1;
        } else expect(failed).toMatchObject({ code: 'sink' });
        if (model) expect(await rowsOf(database), `step ${nth}: ${mode} ${key}`).toEqual(model.map(textOf).toSorted());
      }
      expect(taken).toBeGreaterThan(3);
    },
  );
});
