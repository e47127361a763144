import { exportTo } from '@sluice/core';
import { expect, test } from 'vitest';
import type { MaxRemoved } from '../src/sqlite.js';
import { describeDatabases, type TestDatabase } from './databases.js';
import { changingSource, itemsOf } from './items.js';

const ids = (count: number, from = 1): number[] => Array.from({ length: count }, (_, nth) => from + nth);

describeDatabases('a replace in a table of $name', ({ open }) => {
  /** Exports items of these ids. Returns how often they were requested. */
  const into = async (
    database: TestDatabase,
    listed: readonly number[],
    { maxRemoved, key, mode = 'replace', restart = false }: Options = {},
  ): Promise<number> => {
    let requests = 0;
    const source = changingSource(
      () => itemsOf(listed),
      () => void (requests += 1),
    );
    const sink = database.sink({ table: 'items', mode, key, ...(mode !== 'fail' && { maxRemoved }) });
    await exportTo(source, sink, { restart }).run();
    return requests;
  };
  interface Options {
    readonly maxRemoved?: MaxRemoved;
    readonly key?: readonly string[];
    readonly mode?: 'fail' | 'replace' | 'history';
    readonly restart?: boolean;
  }
  const count = async (database: TestDatabase, where = ''): Promise<number> =>
    Number((await database.query(`SELECT count(*) AS n FROM items ${where}`))[0]?.['n']);

  test.each([
    ['by key', ['id']],
    ['without a key', undefined],
  ])(
    'D3 that would remove more than half of the rows changes nothing, and says so (%s)',
    { tags: ['slow'] },
    async (_, key) => {
      const database = await open();
      const of = key && { key };
      await into(database, ids(10), of);
      for (const [listed, removed] of [
        [[], 10],
        [ids(4), 6],
      ] as const) {
        // The same command again requests the rows again, and does not repeat what it has staged.
        for (let times = 1; times <= 2; times += 1) {
          await expect(into(database, listed, of)).rejects.toThrow(
            `${removed} of 10 rows would be removed from items, and maxRemoved is 50%. Nothing was changed. If they are really gone, allow it with maxRemoved: '100%'.`,
          );
          expect(await count(database)).toBe(10);
        }
      }
      expect(await into(database, ids(9), of)).toBe(1);
      expect(await count(database)).toBe(9);
      await expect(into(database, [], of)).rejects.toThrow('9 of 9 rows would be removed');
      expect(await into(database, [], { ...of, maxRemoved: '100%' })).toBe(1);
      expect(await count(database)).toBe(0);
      // Nothing can be removed from what is empty.
      await into(database, ids(3), of);
    },
  );

  test.each<[MaxRemoved, number, number]>([
    ['50%', 5, 6],
    ['29%', 2, 3],
    [0.7, 7, 8],
    ['0%', 0, 1],
    [0, 0, 1],
    [1, 1, 2],
    [8, 8, 9],
    [200, 10, Infinity],
    ['100%', 10, Infinity],
  ])('D3 may remove as much as %s of 10 rows says', async (maxRemoved, allowed, refused) => {
    const database = await open();
    const of = { key: ['id'], maxRemoved } as const;
    await into(database, ids(10), of);
    if (refused <= 10)
      await expect(into(database, ids(10 - refused), of)).rejects.toThrow(
        `${refused} of 10 rows would be removed from items, and maxRemoved is ${maxRemoved}.`,
      );
    await into(database, ids(10 - allowed), of);
    expect(await count(database)).toBe(10 - allowed);
  });

  test('D3 guards a table of one row and of two as a watch does', async () => {
    const database = await open();
    const of = { key: ['id'] } as const;
    await into(database, [1, 2], of);
    await expect(into(database, [3], of)).rejects.toThrow('2 of 2 rows would be removed');
    await into(database, [1], of);
    await expect(into(database, [2, 3], of)).rejects.toThrow('1 of 1 rows would be removed');
    expect(await database.query('SELECT id FROM items')).toEqual([{ id: '1' }]);
  });

  test('D3 that starts a finished export over replaces all of its rows', async () => {
    const database = await open();
    await into(database, ids(10), { mode: 'fail' });
    await into(database, [1], { mode: 'fail', restart: true });
    expect(await count(database)).toBe(1);
  });

  test('D9 a history does not end more than half of its rows either', { tags: ['slow'] }, async () => {
    const database = await open();
    const of = { key: ['id'], mode: 'history' } as const;
    const live = 'WHERE _valid_to IS NULL';
    await into(database, ids(10), of);
    // The first walk that lacks them ends nothing.
    await into(database, ids(3), of);
    expect(await count(database, live)).toBe(10);
    for (let times = 1; times <= 2; times += 1)
      await expect(into(database, ids(3), of)).rejects.toThrow('7 of 10 rows would be removed from items');
    expect(await count(database, live)).toBe(10);
    await into(database, ids(3), { ...of, maxRemoved: 7 });
    expect(await count(database, live)).toBe(3);
  });

  test.each(['80', '101%', '-1%', 'half', 1.5, -1, NaN, Infinity])('D3 refuses %s as a limit', async (given) => {
    const database = await open();
    const maxRemoved = given as MaxRemoved;
    expect(() => database.sink({ table: 'items', mode: 'replace', maxRemoved })).toThrow(
      `maxRemoved is ${given}: it must be a share from 0% to 100%, as 50% or 0.5, or a whole number of rows.`,
    );
    expect(() => database.sink({ table: 'items', mode: 'merge', maxRemoved: 5 })).toThrow('Leave out maxRemoved');
  });
});
