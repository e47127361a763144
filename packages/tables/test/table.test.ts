import {
  createSource,
  exportTo,
  memoryState,
  PaginationError,
  SinkError,
  SluiceError,
  type ExportOptions,
} from '@sluice/core';
import { describe, expect, test } from 'vitest';
import type { TableOptions } from '../src/sqlite.js';
import { databaseKinds, type TestDatabase } from './databases.js';
import { itemsOf, itemSource, type Item, type ItemsOptions } from './items.js';

const range = (from: number, to: number): number[] => Array.from({ length: to - from }, (_, nth) => from + nth);

interface ExportOf extends Omit<TableOptions, 'table'>, ItemsOptions, Omit<ExportOptions, 'state'> {
  readonly signal?: AbortSignal;
}

describe.each(databaseKinds)('a table of $name', ({ open, name: kind }) => {
  const exported = (
    database: TestDatabase,
    partitions: readonly (readonly Item[])[],
    { mode, key, pageSize, onPage, signal, ...options }: ExportOf = {},
  ) => {
    const source = itemSource(partitions, { ...(pageSize && { pageSize }), ...(onPage && { onPage }) });
    const sink = database.sink<Item>({ table: 'items', ...(mode && { mode }), ...(key && { key }) });
    return exportTo(source, sink, options).run(signal ? { signal } : {});
  };
  const ids = async (database: TestDatabase): Promise<number[]> =>
    (await database.query('SELECT id FROM items')).map(({ id }) => Number(id)).sort((a, b) => a - b);
  const names = async (database: TestDatabase): Promise<unknown[]> =>
    (await database.query('SELECT name FROM items')).map(({ name }) => name).sort();

  test('D1 is there only when all rows are, and nothing is left beside it but the ledger', async () => {
    const database = await open();
    const tables =
      kind === 'SQLite'
        ? 'SELECT name FROM sqlite_schema'
        : "SELECT relname AS name FROM pg_class WHERE relkind IN ('r', 'i') AND relnamespace = 'public'::regnamespace";
    const seen: string[] = [];
    const { rows } = await exported(database, [itemsOf(range(0, 7)), itemsOf(range(10, 14))], {
      concurrency: 2,
      commitEvery: 1,
      async onPage(_, page) {
        if (page > 0) seen.push(...(await database.query(tables)).map(({ name }) => String(name)));
      },
    });
    expect(rows).toBe(11);
    expect(seen).not.toContain('items');
    expect(await ids(database)).toEqual([...range(0, 7), ...range(10, 14)]);
    const left = (await database.query(tables))
      .map(({ name }) => String(name))
      // An index without entries tells SQLite's table from one that is made later.
      .filter((name) => !/autoindex|pkey|_sluice_made_/.test(name));
    expect(left.sort()).toEqual(['_sluice', 'items']);
  });

  test('D1 refuses state beside its own', async () => {
    const database = await open();
    expect(() =>
      exportTo(itemSource([itemsOf([1])]), database.sink<Item>({ table: 'items' }), { state: memoryState() }),
    ).toThrow(/keeps its own checkpoints/);
  });

  test('D1 resumes after an error with the rows of an undisturbed export', async () => {
    const database = await open();
    const partitions = [itemsOf(range(0, 20)), itemsOf(range(20, 40))];
    let pages = 0;
    const onPage = (): void => {
      pages += 1;
      if (pages === 7) throw new Error('The API is gone.');
    };
    await expect(exported(database, partitions, { commitEvery: 1, concurrency: 2, onPage })).rejects.toThrow('gone');
    const { resumedRows } = await exported(database, partitions, { concurrency: 2 });
    expect(resumedRows).toBeGreaterThan(0);
    expect(await ids(database)).toEqual(range(0, 40));
  });

  test('D2 running a finished plan again requests nothing and changes nothing', async () => {
    const database = await open();
    await exported(database, [itemsOf([1, 2])]);
    let pages = 0;
    const again = await exported(database, [itemsOf([3])], { onPage: () => void (pages += 1) });
    expect(again.finishedAt).toBeDefined();
    expect([pages, await ids(database)]).toEqual([0, [1, 2]]);
  });

  test('D3 two keys of the source are never one row, whatever their characters', { tags: ['slow'] }, async () => {
    const database = await open();
    const keys = [5, '5', '#5', '##5', '#"#5"', '', '#', 'a\0', 'a\uFFFD', 'a\ud800', '#"a\\u0000"', -1, '-1'];
    const rows = keys.map((key, nth) => ({ id: nth, key }));
    const schema = { columns: ['id'], key: ({ key }: (typeof rows)[number]) => key };
    for (const restart of [false, true])
      await exportTo(
        itemSource([rows], {}, schema),
        database.sink<(typeof rows)[number]>({ table: 'items', mode: 'merge' }),
        {
          restart,
        },
      ).run();
    const found = await database.query('SELECT id, _key FROM items');
    expect(found.map(({ id }) => Number(id)).sort((a, b) => a - b)).toEqual(range(0, keys.length));
    expect(found.filter(({ id }) => ['0', '1', '2', '7'].includes(String(id))).map(({ _key }) => _key)).toEqual([
      '#5',
      '5',
      '#"#5"',
      String.raw`#"a\u0000"`,
    ]);
  });

  test('D3 merge refuses a key that could be that of another row', async () => {
    const database = await open();
    const schema = { columns: ['id'], key: () => 2 ** 53 };
    const source = itemSource([[{ id: 'a' }]], {}, schema);
    await expect(
      exportTo(source, database.sink<{ id: string }>({ table: 'items', mode: 'merge' })).run(),
    ).rejects.toThrow('Row 1: its key in the source is 9007199254740992, and must be text or a whole number.');
    const cut = itemSource([[{ id: 'a' }, { id: 'b\0' }]], {}, { columns: ['id'] });
    await expect(
      exportTo(cut, database.sink<{ id: string }>({ table: 'items', mode: 'merge', key: ['id'] })).run(),
    ).rejects.toThrow('Row 2: id, which is a part of its key, has a character that no table can store: "b\\u0000".');
  });

  test('D2 running a finished plan again writes a table that was dropped since', async () => {
    const database = await open();
    await exported(database, [itemsOf([1, 2])]);
    await database.query('DROP TABLE items');
    await exported(database, [itemsOf([1, 2])]);
    expect(await ids(database)).toEqual([1, 2]);
  });

  test(
    'D2 an export that was published, and could not be marked as finished, is in the way of no other one',
    { tags: ['slow'] },
    async () => {
      const database = await open();
      for (const nth of [1, 2]) {
        const sink = database.sink<Item>({ table: 'items', mode: 'append' });
        const { state } = sink;
        const save = state?.save.bind(state);
        const cutAtTheEnd = (name: string, record: object): Promise<void> | undefined =>
          'finishedAt' in record ? Promise.reject(new SinkError('The connection was lost.')) : save?.(name, record);
        Object.assign(state ?? {}, { save: cutAtTheEnd });
        // Another number of partitions is another plan.
        const { isDone } = await exportTo(itemSource(Array.from({ length: nth }, () => itemsOf([nth]))), sink).run();
        expect(isDone).toBe(true);
      }
      expect(await ids(database)).toEqual([1, 2, 2]);
      // That of the last plan is still known.
      expect(await exported(database, [itemsOf([5]), itemsOf([5])], { mode: 'append' })).toMatchObject({ rows: 2 });
      expect(await ids(database)).toEqual([1, 2, 2]);
    },
  );

  test(
    'D3 fail refuses a table with rows of others, and replaces its own on a restart',
    { tags: ['slow'] },
    async () => {
      const database = await open();
      await exported(database, [itemsOf([1, 2])]);
      await exported(database, [itemsOf([5])], { restart: true });
      expect(await ids(database)).toEqual([5]);
      await database.query("INSERT INTO items VALUES ('6', 'theirs', '1')");
      await expect(exported(database, [itemsOf([7])], { restart: true })).rejects.toThrow(
        'The table items has rows already.',
      );
      expect(await ids(database)).toEqual([5, 6]);
      await database.query("DELETE FROM items WHERE name = 'theirs'");
      await exported(database, [itemsOf([7])], { restart: true });
      expect(await ids(database)).toEqual([7]);
      const other = await open();
      await other.query('CREATE TABLE items (id text, name text, amount text)');
      await other.query("INSERT INTO items VALUES ('1', 'theirs', '1')");
      for (const restart of [false, true])
        await expect(exported(other, [itemsOf([3])], { restart })).rejects.toThrow('The table items has rows already.');
      expect(await names(other)).toEqual(['theirs']);
    },
  );

  test('D4 fields that are not columns are left out, or with freeze refused', async () => {
    const database = await open();
    const source = createSource<object>({
      name: 'test.grown',
      identity: null,
      schema: { columns: ['id', 'name'] },
      fetch: () => Promise.resolve({ rows: [{ id: '1' }, { id: '2', note: 'new' }], next: 'end' }),
    });
    const into = (schema?: 'freeze' | 'discard') =>
      exportTo(source, database.sink<object>({ table: 'grown', columns: ['id'], ...(schema && { schema }) })).run();
    await expect(into('freeze')).rejects.toThrow(
      'Row 2 has the field "note", which is not a column of the source. Declare the column, or say in schema that new fields are left out (discard).',
    );
    await into();
    expect(await database.query('SELECT * FROM grown ORDER BY id')).toEqual([{ id: '1' }, { id: '2' }]);
  });

  test('D3 append keeps what is there', async () => {
    const database = await open();
    await exported(database, [itemsOf([1, 2])]);
    await exported(database, [itemsOf([2, 3])], { mode: 'append' });
    expect(await ids(database)).toEqual([1, 2, 2, 3]);
  });

  test.each([1, 3])(
    'D3 merge replaces rows by key, and the last one of the plan wins (concurrency %i)',
    async (concurrency) => {
      const database = await open();
      await exported(database, [itemsOf([1, 2, 3], 'old')], { mode: 'merge', key: ['id'] });
      // Each row differs, since pages with the same rows are a loop.
      const each = (rows: Item[]): Item[] => rows.map((row, nth) => ({ ...row, amount: String(nth) }));
      const partitions = [
        each(itemsOf([2, 4, 2], 'first')),
        each(itemsOf([4, 5], 'second')),
        each(itemsOf([6, 6], 'third')),
      ];
      await exported(database, partitions, { mode: 'merge', key: ['id'], concurrency, pageSize: 1 });
      expect(await names(database)).toEqual(['first 2', 'old 1', 'old 3', 'second 4', 'second 5', 'third 6']);
    },
  );

  test('D3 merge without key columns has a column for the key of the source', async () => {
    const database = await open();
    await exported(database, [itemsOf([1, 2], 'old')], { mode: 'merge' });
    await exported(database, [itemsOf([2, 3], 'new')], { mode: 'merge', restart: true });
    expect(await database.query('SELECT name, _key FROM items ORDER BY name')).toEqual([
      { name: 'new 2', _key: '#2' },
      { name: 'new 3', _key: '#3' },
      { name: 'old 1', _key: '#1' },
    ]);
  });

  test('D3 merge refuses a row without its key, and names it', async () => {
    const database = await open();
    const rows = [
      { id: 1, name: 'a', amount: '1' },
      { id: null, name: 'b', amount: '2' },
    ] as unknown as Item[];
    await expect(exported(database, [rows], { mode: 'merge', key: ['id'] })).rejects.toThrow('Row 2 has no id');
  });

  test('D3 replace has the new rows only, and keeps views and foreign keys', async () => {
    const database = await open();
    await exported(database, [itemsOf([1, 2, 3], 'old')], { mode: 'replace', key: ['id'] });
    await database.query('CREATE VIEW item_names AS SELECT name FROM items');
    await database.query(`CREATE TABLE notes (item ${kind === 'SQLite' ? 'TEXT' : 'numeric'} REFERENCES items (id))`);
    await database.query('INSERT INTO notes VALUES (2)');
    await exported(database, [itemsOf([2, 4], 'new')], { mode: 'replace', key: ['id'], restart: true });
    const seen = await database.query('SELECT name FROM item_names ORDER BY name');
    expect(seen).toEqual([{ name: 'new 2' }, { name: 'new 4' }]);
    // The row that a note refers to would go.
    const refused = exported(database, [itemsOf([9])], { mode: 'replace', key: ['id'], restart: true });
    await expect(refused).rejects.toThrow(/foreign key/i);
    expect(await names(database)).toEqual(['new 2', 'new 4']);
  });

  test('D3 an export that fails leaves the table as it was', { tags: ['slow'] }, async () => {
    const database = await open();
    await exported(database, [itemsOf([1, 2], 'old')], { mode: 'replace' });
    const onPage = (_: number, page: number): void => {
      if (page === 2) throw new Error('The API is gone.');
    };
    const rows = itemsOf(range(10, 30), 'new');
    const failing = exported(database, [rows], { mode: 'replace', restart: true, commitEvery: 1, onPage });
    await expect(failing).rejects.toThrow('gone');
    expect(await names(database)).toEqual(['old 1', 'old 2']);
    await exported(database, [rows], { mode: 'replace' });
    expect(await ids(database)).toEqual(range(10, 30));
  });

  test('D4 says which columns of a table are others', async () => {
    const database = await open();
    await database.query('CREATE TABLE items (id real, name text)');
    await expect(exported(database, [itemsOf([1])])).rejects.toThrow(
      /The table items has other columns than the rows: id is (REAL|real) and should be (TEXT|numeric); amount is missing\./,
    );
  });

  test('D4 names the row and the column of a value that does not fit, and writes nothing', async () => {
    const database = await open();
    const rows = [...itemsOf([1]), { id: 2, name: 'b', amount: '2.5' }];
    await expect(exported(database, [rows])).rejects.toThrow('Row 2: amount is "2.5", which is not an integer');
    await expect(ids(database)).rejects.toThrow();
  });

  test('D4 takes any name of a table and of a column', async () => {
    const database = await open();
    const columns = ['select', 'a "b"', 'Ünï; DROP TABLE x', ...range(0, 997).map((nth) => `c${nth}`)];
    const row = Object.fromEntries(columns.map((name) => [name, `v ${name}`]));
    const source = itemSource([[row]], {}, { columns });
    await exportTo(source, database.sink({ table: 'order "by"' })).run();
    expect(await database.query('SELECT * FROM "order ""by"""')).toEqual([row]);
  });

  test(
    'D8 a second writer of a table is refused, and told whose it is; one of another table is not',
    { tags: ['slow'] },
    async () => {
      const database = await open();
      const outcomes: unknown[] = [];
      await exported(database, [itemsOf(range(0, 6))], {
        async onPage(_, page) {
          if (page !== 1) return;
          const other = exportTo(itemSource([itemsOf([1])]), database.sink<Item>({ table: 'others' })).run();
          outcomes.push((await other).rows);
          if (kind === 'PostgreSQL')
            outcomes.push(await exported(database, [itemsOf([1])]).catch((error: unknown) => error));
        },
      });
      expect(outcomes[0]).toBe(1);
      if (kind === 'SQLite') return;
      const [, refused] = outcomes;
      expect(SluiceError.is(refused, 'lock') && refused.message).toMatch(
        /The table items is being written by sluice \d+/,
      );
    },
  );

  test('D2 a run that another one took over ends, and its rows are not written', { tags: ['slow'] }, async () => {
    const database = await open();
    const rows = itemsOf(range(0, 9));
    const taken = exported(database, [rows], {
      commitEvery: 1,
      async onPage(_, page) {
        if (page !== 2) return;
        // As a run does that was let in while this one was paused.
        await database.query(`UPDATE _sluice SET record = '"another run"' WHERE target = 'items' AND name = ''`);
      },
    });
    await expect(taken).rejects.toThrow('Another run has taken over the table items');
    await exported(database, [rows]);
    expect(await ids(database)).toEqual(range(0, 9));
  });

  test(
    'D2 a run that resumes rows which another one has published meanwhile says that it was taken over',
    { tags: ['slow'] },
    async () => {
      const database = await open();
      const rows = itemsOf(range(0, 9));
      const interrupt = (_: number, page: number): void => {
        if (page === 2) throw new Error('The API is gone.');
      };
      await expect(exported(database, [rows], { commitEvery: 1, onPage: interrupt })).rejects.toThrow('gone');
      const sink = database.sink<Item>({ table: 'items' });
      const tables = kind === 'SQLite' ? 'SELECT name FROM sqlite_schema' : 'SELECT tablename AS name FROM pg_tables';
      const late = exportTo(itemSource([rows]), {
        ...sink,
        async open(context) {
          // Its connection is lost, and until it has another one, the other run takes over and publishes.
          await database.query(`UPDATE _sluice SET record = '"another run"' WHERE target = 'items' AND name = ''`);
          const staging = (await database.query(tables)).find(({ name }) => /^_sluice_[0-9a-f]+$/.test(String(name)));
          await database.query(`ALTER TABLE ${String(staging?.['name'])} RENAME TO items`);
          return sink.open(context);
        },
      });
      await expect(late.run()).rejects.toThrow('Another run has taken over the table items');
    },
  );

  test('D2 takes back the rows of a partition whose cursor expired', { tags: ['slow'] }, async () => {
    const database = await open();
    let expired = 0;
    const onPage = (partition: number, page: number): void => {
      if (partition !== 1 || page !== 2 || expired > 0) return;
      expired += 1;
      throw new PaginationError('cursor-refused', 'The cursor expired.', { details: { partition } });
    };
    const partitions = [itemsOf(range(0, 9)), itemsOf(range(10, 19))];
    await exported(database, partitions, { onPage, onExpired: 'restart-partition', commitEvery: 1, concurrency: 2 });
    expect(expired).toBe(1);
    expect(await ids(database)).toEqual([...range(0, 9), ...range(10, 19)]);
  });
});
