// @module-tag slow
import { exportTo, type ExportOptions, type RowSchema } from '@sluice/core';
import { describe, expect, test } from 'vitest';
import { postgresPrograms } from '../../../test/kit/postgresServer.js';
import { postgres } from '../src/postgres.js';
import type { TableOptions } from '../src/sqlite.js';
import { databaseKinds, openEmptyPostgres, type TestDatabase } from './databases.js';
import { itemsOf, itemSource, type Item } from './items.js';
import { Items, mirrored } from './watched.js';

/** An export of one page into a table that may be there already. */
function into<Row extends object = Item>(
  database: TestDatabase,
  rows: readonly Row[],
  { table = 'items', restart = false, ...options }: Partial<TableOptions> & Pick<ExportOptions, 'restart'> = {},
  schema?: RowSchema<Row>,
) {
  const source = itemSource<Row>([rows], { pageSize: 1_000 }, schema);
  return exportTo(source, database.sink<Row>({ table, ...options }), { restart }).run();
}

describe.each(databaseKinds)('a table of $name that is there', ({ open, name: kind }) => {
  const text = kind === 'SQLite' ? 'TEXT' : 'numeric';
  const createItems = `CREATE TABLE items (id ${text}, name text, amount ${text})`;
  const namesIn = async (database: TestDatabase): Promise<unknown[]> =>
    (await database.query('SELECT name FROM items ORDER BY name')).map(({ name }) => name);

  test('D4 has question marks in its name and in those of its columns', async () => {
    const database = await open();
    const row = { 'a?': '1', '?b?': '2', "it's": '3' };
    for (const mode of ['fail', 'merge', 'replace'] as const)
      await into(
        database,
        [row],
        { table: 'why?', mode, ...(mode !== 'fail' && { key: ['a?'] }) },
        { columns: Object.keys(row) },
      );
    expect(await database.query('SELECT * FROM "why?"')).toEqual([row]);
  });

  test.each(['staged', 'later', 'select', 'Mixed Case'])(
    'D4 takes a table of the name %j in each mode',
    async (table) => {
      const database = await open();
      for (const mode of ['fail', 'merge', 'replace', 'append'] as const)
        await into(database, itemsOf([1, 2], mode), { table, mode, ...(/^[mr]/.test(mode) && { key: ['id'] }) });
      const rows = await database.query(`SELECT name FROM "${table}" ORDER BY name`);
      expect(rows.map(({ name }) => name)).toEqual(['append 1', 'append 2', 'replace 1', 'replace 2']);
    },
  );

  test.each<[string, RegExp]>([
    [
      'CREATE TABLE _sluice (id text, name text)',
      /_sluice in this database is not the table .* it has no target, nth, record\. Rename it/,
    ],
    [
      "CREATE VIEW _sluice AS SELECT 'x' AS target, 'x' AS name, 1 AS nth, 'x' AS record",
      /it is not a table\. Rename it/,
    ],
    ['CREATE VIEW _sluice AS SELECT 1 AS id', /it has no target, name, nth, record\. Rename it/],
    ['CREATE TABLE others (id text); CREATE INDEX _sluice ON others (id)', /_sluice.*\. Rename it/],
  ])('D4 is not written beside something else of the name _sluice: %s', async (sql, said) => {
    const database = await open();
    for (const statement of sql.split('; ')) await database.query(statement);
    await expect(into(database, itemsOf([1]))).rejects.toThrow(said);
    if (!sql.includes('INDEX'))
      await expect(database.sink({ table: 'items' }).state?.load('checkpoint')).rejects.toThrow(said);
  });

  test.each(['append', 'merge'] as const)('D3 fail never replaces rows to which an %s added', async (mode) => {
    const database = await open();
    await database.query(createItems);
    await database.query("INSERT INTO items VALUES ('1', 'theirs', '1')");
    await into(database, itemsOf([2], 'ours'), { mode, ...(mode === 'merge' && { key: ['id'] }) });
    await expect(into(database, itemsOf([3]), { restart: true })).rejects.toThrow('The table items has rows already.');
    expect(await namesIn(database)).toEqual(['ours 2', 'theirs']);
  });

  test.each(['merge', 'replace'] as const)('D3 %s touches no row that is as it was', async (mode) => {
    const database = await open();
    const rows: { id: number; name: string | null; amount: string; more: unknown }[] = [
      { id: 1, name: null, amount: '1', more: { a: [1] } },
      { id: 2, name: 'b', amount: '2', more: null },
      { id: 3, name: 'c', amount: '3', more: 'x' },
    ];
    const schema: RowSchema<(typeof rows)[number]> = {
      columns: ['id', 'name', 'amount', 'more'],
      types: { id: 'integer', amount: 'integer', more: 'json' },
    };
    const put = (given: typeof rows) => into(database, given, { mode, key: ['id'], restart: true }, schema);
    await put(rows);
    await database.query('CREATE TABLE touched (id text)');
    const record = 'INSERT INTO touched VALUES (NEW.id)';
    if (kind === 'SQLite') await database.query(`CREATE TRIGGER t AFTER UPDATE ON items BEGIN ${record}; END`);
    else {
      await database.query(
        `CREATE FUNCTION t() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN ${record}; RETURN NEW; END $$`,
      );
      await database.query('CREATE TRIGGER t AFTER UPDATE ON items FOR EACH ROW EXECUTE FUNCTION t()');
    }
    await put(rows.map((row) => (row.id === 2 ? { ...row, more: 'new' } : row)));
    expect(await database.query('SELECT id FROM touched')).toEqual([{ id: '2' }]);
  });

  test('D3 merge compares rows of a thousand columns', async () => {
    const database = await open();
    const columns = Array.from({ length: 1_000 }, (_, nth) => `c${nth}`);
    const row = (last: string) => Object.fromEntries(columns.map((name) => [name, name === 'c999' ? last : 'x']));
    for (const last of ['old', 'new'])
      await into(database, [row(last)], { mode: 'merge', key: ['c0'], restart: true }, { columns });
    expect(await database.query('SELECT c999 FROM items')).toEqual([{ c999: 'new' }]);
  });

  test('D4 refuses at once what could only fail at the end', async () => {
    const database = await open();
    await database.query(`CREATE TABLE required (id ${text}, name text, amount ${text}, other text NOT NULL)`);
    await database.query(
      `CREATE TABLE defaults (id ${text}, name text, amount ${text}, other text NOT NULL DEFAULT 'x')`,
    );
    const both = ['required', 'defaults'].map((table) => `SELECT id, name, amount FROM ${table}`);
    await database.query(`CREATE VIEW seen AS ${both.join(' UNION ALL ')}`);
    const filled = kind === 'SQLite' ? 'INTEGER PRIMARY KEY NOT NULL' : 'bigserial';
    await database.query(`CREATE TABLE filled (other ${filled}, id ${text}, name text, amount ${text})`);
    let pages = 0;
    const refused = (table: string, options: Partial<TableOptions> = {}, schema?: RowSchema<Item>) =>
      exportTo(
        itemSource([itemsOf([1])], { onPage: () => void (pages += 1) }, schema),
        database.sink<Item>({ table, ...options }),
      )
        .run()
        .then(
          () => 'written',
          (error: unknown) => (error instanceof Error ? error.message : ''),
        );
    expect(await refused('required')).toBe(
      'The table required has other columns than the rows: other must not be null, and the rows lack it. Name another table, or change it.',
    );
    expect(await refused('seen')).toBe('seen takes no rows, since it is a view or the like. Name a table.');
    const json: RowSchema<Item> = { columns: ['id', 'name', 'amount'], types: { name: 'json' } };
    expect(await refused('items', { mode: 'merge', key: ['name'] }, json)).toBe(
      'The key has "name", which is JSON: it has no equality.',
    );
    expect(() => database.sink({ table: '_sluice' })).toThrow(
      'The table can\'t be "_sluice": its name is one of Sluice\'s own.',
    );
    expect(() => database.sink({ table: 'a\0b' })).toThrow('has a NUL character');
    expect(pages).toBe(0);
    for (const table of ['defaults', 'filled']) expect(await refused(table)).toBe('written');
    const wide = { columns: ['id', 'name', 'amount', 'x'.repeat(64)] };
    const twins = { columns: ['id', 'name', 'amount', 'NAME'] };
    if (kind === 'SQLite') {
      expect(await refused('t', {}, twins)).toBe(
        'sqlite takes the columns name and NAME for the same. Name the columns to store without one of them.',
      );
      expect(await refused('t', {}, wide)).toBe('written');
      expect(() => database.sink({ table: 'sqlite_x' })).toThrow('begins with sqlite_');
      await database.query(
        "CREATE TABLE computed (id text AS ('1') STORED, name text, amount text NOT NULL AS (name))",
      );
      expect(await refused('computed')).toMatch(
        /: id is computed by the database; amount is computed by the database\./,
      );
      await database.query('CREATE TABLE more (id text, name text, amount text, both text NOT NULL AS (id || name))');
      expect(await refused('more')).toBe('written');
    } else {
      expect(await refused('t', {}, twins)).toBe('written');
      expect(await refused('t2', {}, wide)).toMatch(
        /its name is longer than the 63 bytes that PostgreSQL keeps of one\.$/,
      );
      for (const [name, fault] of [
        ['xmin', /is that of a column of every table\.$/],
        ['', /its name is empty\.$/],
      ] as const)
        expect(await refused('t2', {}, { columns: ['id', 'name', 'amount', name] })).toMatch(fault);
      expect(() => database.sink({ table: `s.${'é'.repeat(32)}` })).toThrow('longer than the 63 bytes');
      await database.query(
        'CREATE TABLE computed (id numeric GENERATED ALWAYS AS (1) STORED, name text, amount bigint GENERATED ALWAYS AS IDENTITY)',
      );
      expect(await refused('computed')).toMatch(
        /: id is computed by the database; amount is computed by the database\./,
      );
      await database.query(
        'CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN NEW.other = 1; RETURN NEW; END $$',
      );
      await database.query('CREATE TRIGGER f BEFORE INSERT ON required FOR EACH ROW EXECUTE FUNCTION f()');
      expect(await refused('required')).toBe('written');
      await database.query('CREATE VIEW simple AS SELECT * FROM defaults');
      expect(await refused('simple', { mode: 'merge', key: ['id'] })).toBe('written');
    }
  });

  test('D4 takes a dot in the name of a table as the database does', async () => {
    const database = await open();
    const [table, sql] = kind === 'SQLite' ? ['data.2024', '"data.2024"'] : ['own.Items', 'own."Items"'];
    if (kind === 'PostgreSQL') await database.query('CREATE SCHEMA own');
    for (const mode of ['fail', 'merge', 'replace', 'append'] as const)
      await into(database, itemsOf([1], mode), { table, mode, ...(/^[mr]/.test(mode) && { key: ['id'] }) });
    expect(await database.query(`SELECT name FROM ${sql} ORDER BY name`)).toEqual([
      { name: 'append 1' },
      { name: 'replace 1' },
    ]);
  });
});

describe.runIf(postgresPrograms !== undefined)('a table of PostgreSQL with types of its own', () => {
  const schema: RowSchema<Item & { readonly more: unknown }> = {
    columns: ['id', 'name', 'amount', 'more'],
    types: { id: 'integer', amount: 'integer', more: 'json' },
  };
  const rowsOf = (changes: object) => [
    ...Array.from({ length: 700 }, (_, nth) => ({ id: nth, name: 'a', amount: '1', more: {} })),
    { id: 1_000, name: 'b', amount: '2', more: {}, ...changes },
  ];
  const create = 'CREATE TABLE items (id text, name varchar(5), amount smallint, more jsonb)';

  test.each([
    [{ amount: '70000' }, /^Row 701: amount is "70000", which items can't store: .*out of range/],
    [{ name: 'x        ' }, /^Row 701: name is "x        ", which items can't store: /],
    [{ more: { a: '\0' } }, /^Row 701: more is "{.*", which items can't store: .*Unicode escape/],
  ])('D4 names row and column of the value that it refuses: %j', async (changes, sentence) => {
    const database = await openEmptyPostgres();
    await database.query(create);
    await expect(into(database, rowsOf(changes), {}, schema)).rejects.toThrow(sentence);
    expect(await database.query('SELECT 1 FROM items')).toEqual([]);
  });

  test('D3 compares keys and values as these types', async () => {
    const database = await openEmptyPostgres();
    await database.query(create);
    for (const amount of ['2', '3'])
      await into(database, rowsOf({ amount }), { mode: 'merge', key: ['id'], restart: true }, schema);
    expect(await database.query('SELECT amount, more FROM items WHERE amount > 1')).toEqual([
      { amount: '3', more: '{}' },
    ]);
    expect(await database.query('SELECT count(*) AS n FROM items')).toEqual([{ n: '701' }]);
  });

  test('D1 needs rights in its own schema only', async () => {
    const database = await openEmptyPostgres();
    await database.query('CREATE ROLE only_own LOGIN');
    await database.query('CREATE SCHEMA own AUTHORIZATION only_own');
    const url = database.url.replace('tester', 'only_own');
    const source = () => itemSource([itemsOf([1, 2])]);
    for (const mode of ['fail', 'append'] as const)
      await exportTo(source(), postgres<Item>({ url, table: 'own.items', mode }), { commitEvery: 1 }).run();
    expect(await database.query('SELECT id FROM own.items')).toHaveLength(4);
    await expect(exportTo(source(), postgres<Item>({ url, table: 'items' })).run()).rejects.toThrow(
      'the user lacks a right: permission denied for schema public. Grant it',
    );
  });
});

describe.runIf(postgresPrograms !== undefined)('a database of PostgreSQL that is not in UTF8', () => {
  const openIn = (encoding: string) =>
    openEmptyPostgres(`ENCODING '${encoding}' TEMPLATE template0 LC_COLLATE 'C' LC_CTYPE 'C'`);

  test.each([
    ['LATIN1', 'Łódź', 'Ł'],
    ['LATIN1', 'a 漢 b', '漢'],
    ['WIN1252', '😀', '😀'],
    ['EUC_JP', 'ﷺ', 'ﷺ'],
  ])('D4 refuses a character that %s lacks, with row and column: %s', async (encoding, name, character) => {
    const database = await openIn(encoding);
    const rows = itemsOf(Array.from({ length: 1_200 }, (_, nth) => nth));
    await into(database, rows.slice(0, 2));
    rows[1_100] = { id: 1_100, name, amount: '1' };
    await expect(into(database, rows, { table: 'others' })).rejects.toMatchObject({
      message: `Row 1101: name is ${JSON.stringify(name)}, which others can't store: the encoding of its database has no ${character}, and UTF8 has. Change the column, or the value with pipePages(map(…)).`,
      details: { row: 1_101, column: 'name' },
    });
  });

  test('D5 a mirror names the key of a row that it can not add, or change', async () => {
    const database = await openIn('LATIN1');
    const mirror = () => database.mirror<Item>({ table: 'items', key: ['id'] });
    const listing = new Items(itemsOf([1, 2]));
    await mirrored(listing, mirror());
    listing.set({ id: 3, name: '漢', amount: '1' });
    await expect(mirrored(listing, mirror())).rejects.toThrow(
      'The row "3" has a value in name that items can\'t store: the encoding of its database has no 漢, and UTF8 has.',
    );
    listing.remove(3);
    listing.set({ id: 2, name: 'é', amount: '1' });
    await mirrored(listing, mirror(), { restart: true });
    listing.set({ id: 2, name: '漢', amount: '1' });
    listing.set({ id: 1, name: 'ü', amount: '1' });
    await expect(mirrored(listing, mirror())).rejects.toMatchObject({
      message:
        'The row "2" has a value in name that items can\'t store: the encoding of its database has no 漢, and UTF8 has. Change the column, or the value with pipePages(map(…)).',
      details: { column: 'name', table: 'items' },
    });
  });

  test('D4 takes the types of columns also where the session quotes all identifiers', async () => {
    const database = await openEmptyPostgres();
    await database.query(`ALTER DATABASE ${new URL(database.url).pathname.slice(1)} SET quote_all_identifiers = on`);
    const listing = new Items(itemsOf([1, 2]));
    for (const mode of ['mirror', 'history'] as const) {
      const mirror = () => database.mirror<Item>({ table: `items_${mode}`, key: ['id'], mode });
      await mirrored(listing, mirror());
      await mirrored(listing, mirror());
    }
    for (const ids of [[1], [2]]) await into(database, itemsOf(ids), { table: 'items', mode: 'replace', key: ['id'] });
    expect(await database.query('SELECT id FROM items')).toEqual([{ id: '2' }]);
  });

  test('D4 in SQL_ASCII, characters stay as they are', async () => {
    const database = await openIn('SQL_ASCII');
    await into(database, [{ id: 1, name: 'Łódź 漢 😀', amount: '1' }]);
    expect(await database.query('SELECT name FROM items')).toEqual([{ name: 'Łódź 漢 😀' }]);
  });
});
