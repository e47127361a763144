import { exportTo, type ExportReport } from '@sluice/core';
import { expect, test } from 'vitest';
import { describeDatabases, type TestDatabase } from './databases.js';
import { itemsOf, itemSource } from './items.js';

const rows = itemsOf([1, 2, 3]);

describeDatabases('a finished export into a table of $name', ({ open, name: kind }) => {
  const text = kind === 'SQLite' ? 'TEXT' : 'numeric';
  const create = `CREATE TABLE items (id ${text}, name text, amount ${text})`;
  const run = async (
    database: TestDatabase,
    mode: 'fail' | 'append',
    restart = false,
  ): Promise<ExportReport & { warnings: readonly string[] }> => {
    const warnings: string[] = [];
    const sink = database.sink({ table: 'items', mode });
    const report = await exportTo(itemSource([rows]), sink, { restart, onWarning: (it) => warnings.push(it) }).run();
    return { ...report, warnings };
  };
  const count = async (database: TestDatabase): Promise<number> =>
    Number((await database.query('SELECT count(*) AS n FROM items'))[0]?.['n']);
  const lost = 'The rows of the finished export are not in items any more, so all rows are exported again.';

  test.each(['fail', 'append'] as const)(
    'D2 of mode %s is exported again where its rows are gone',
    { tags: ['slow'] },
    async (mode) => {
      for (const statements of [
        ['DELETE FROM items'],
        ['DROP TABLE items'],
        ['DROP TABLE items', create],
        ['CREATE TABLE other AS SELECT * FROM items', 'DROP TABLE items', create],
        ['ALTER TABLE items RENAME TO moved', create],
      ]) {
        const database = await open();
        await run(database, mode);
        for (const statement of statements) await database.query(statement);
        const again = await run(database, mode);
        expect({ statements, again }).toMatchObject({ again: { rows: 3, resumedRows: 0, warnings: [lost] } });
        expect(again.finishedAt).toBeUndefined();
        expect(await count(database)).toBe(3);
        expect(await run(database, mode)).toMatchObject({ finishedAt: expect.any(String) as string, warnings: [] });
      }
    },
  );

  test.each([
    ['fail', /^The table items has rows already\./],
    ['append', /^items is not the table to which the finished export has appended: it was dropped and made anew/],
  ] as const)(
    'D2 of mode %s is refused where a table with rows was made in its place',
    { tags: ['slow'] },
    async (mode, refusal) => {
      for (const statements of [
        ['DROP TABLE items', create, "INSERT INTO items VALUES ('7', 'mine', '7')"],
        ['CREATE TABLE copy AS SELECT * FROM items', 'DROP TABLE items', 'ALTER TABLE copy RENAME TO items'],
      ]) {
        const database = await open();
        await run(database, mode);
        for (const statement of statements) await database.query(statement);
        const before = await count(database);
        await expect(run(database, mode)).rejects.toThrow(refusal);
        // Nor does starting over replace rows that are not its own.
        if (mode === 'fail') await expect(run(database, mode, true)).rejects.toThrow(refusal);
        expect(await count(database)).toBe(before);
      }
    },
  );

  test.each(['fail', 'append'] as const)('D2 of mode %s is complete where rows were only changed', async (mode) => {
    const database = await open();
    await run(database, mode);
    for (const statement of [
      "UPDATE items SET name = 'mine'",
      'DELETE FROM items WHERE id = 2',
      "INSERT INTO items VALUES ('9', 'more', '9')",
      'ALTER TABLE items RENAME TO moved',
      'ALTER TABLE moved RENAME TO items',
      kind === 'SQLite' ? 'VACUUM' : 'VACUUM FULL items',
    ]) {
      await database.query(statement.replace('id = 2', "CAST(id AS text) = '2'"));
      if (statement.endsWith('moved')) continue;
      expect({ statement, ...(await run(database, mode)) }).toMatchObject({ finishedAt: expect.any(String) as string });
    }
  });

  test('D2 that had no rows is complete', async () => {
    const database = await open();
    const empty = () => exportTo(itemSource([[]]), database.sink({ table: 'items' })).run();
    await empty();
    expect((await empty()).finishedAt).toBeDefined();
  });
});
