// @module-tag slow
import { exportTo, type ExportOptions, type ExportReport } from '@sluice/core';
import pg from 'pg';
import { describe, expect, test } from 'vitest';
import { postgresPrograms } from '../../../test/kit/postgresServer.js';
import { postgres, type TableOptions } from '../src/postgres.js';
import { databaseKinds, openEmptyPostgres, type TestDatabase } from './databases.js';
import { itemsOf, itemSource, type Item } from './items.js';
import { Items, mirrored } from './watched.js';

/** What a table does by itself, and how an export into it ends. */
interface Case {
  readonly does: string;
  readonly options: Partial<TableOptions>;
  /** Statements that make the table. It has the rows 1 to 3 afterwards, unless they say otherwise. */
  readonly sql: readonly string[];
  readonly rows?: readonly Item[];
  readonly refused: string;
}

const six = itemsOf([1, 2, 3, 4, 5, 6], 'new');
const byKey = { key: ['id'] } as const;
const three = "INSERT INTO items VALUES ('1', 'old 1', '1'), ('2', 'old 2', '2'), ('3', 'old 3', '3')";

const inSqlite: readonly Case[] = [
  {
    does: 'ignores rows with a value that it has (a clause of a column)',
    options: { mode: 'append' },
    sql: ['CREATE TABLE items (id TEXT UNIQUE ON CONFLICT IGNORE, name TEXT, amount TEXT)', three],
    refused: 'has added 3 of 6 rows',
  },
  {
    does: 'ignores rows without a value',
    options: { mode: 'append' },
    sql: ['CREATE TABLE items (id TEXT, name TEXT NOT NULL ON CONFLICT IGNORE, amount TEXT)', three],
    rows: [...six, { id: 7, name: null as unknown as string, amount: '1' }],
    refused: 'has added 6 of 7 rows',
  },
  {
    does: 'replaces rows by those with the same value (a clause of the table)',
    options: { mode: 'append' },
    sql: ['CREATE TABLE items (id TEXT, name TEXT, amount TEXT, UNIQUE (id) ON CONFLICT REPLACE)', three],
    refused: 'has kept 6 of 9 rows',
  },
  {
    does: 'replaces rows of other keys by those that are merged',
    options: { mode: 'merge', ...byKey },
    sql: [
      'CREATE TABLE items (id TEXT, name TEXT UNIQUE ON CONFLICT REPLACE, amount TEXT)',
      "INSERT INTO items VALUES ('8', 'new 5', '8'), ('9', 'new 6', '9')",
    ],
    refused: 'has kept 6 of 8 rows',
  },
  {
    does: 'raises IGNORE when a row is added',
    options: { mode: 'append' },
    sql: [
      'CREATE TABLE items (id TEXT, name TEXT, amount TEXT)',
      "CREATE TRIGGER t BEFORE INSERT ON items WHEN NEW.id > '4' BEGIN SELECT RAISE(IGNORE); END",
      three,
    ],
    refused: 'has added 4 of 6 rows',
  },
  {
    does: 'raises IGNORE when a row is changed',
    options: { mode: 'merge', ...byKey },
    sql: [
      'CREATE TABLE items (id TEXT PRIMARY KEY, name TEXT, amount TEXT)',
      "CREATE TRIGGER t BEFORE UPDATE ON items WHEN OLD.id = '2' BEGIN SELECT RAISE(IGNORE); END",
      three,
    ],
    refused: 'has changed 2 of 3 rows',
  },
  {
    does: 'raises IGNORE when a row is removed',
    options: { mode: 'replace', ...byKey },
    sql: [
      'CREATE TABLE items (id TEXT PRIMARY KEY, name TEXT, amount TEXT)',
      'CREATE TRIGGER t BEFORE DELETE ON items BEGIN SELECT RAISE(IGNORE); END',
      three,
    ],
    rows: itemsOf([2, 3]),
    refused: 'has removed 0 of 1 rows',
  },
  {
    does: 'removes rows after they were added',
    options: { mode: 'append' },
    sql: [
      'CREATE TABLE items (id TEXT, name TEXT, amount TEXT)',
      "CREATE TRIGGER t AFTER INSERT ON items WHEN NEW.id > '5' BEGIN DELETE FROM items WHERE id = NEW.id; END",
      three,
    ],
    refused: 'has kept 8 of 9 rows',
  },
  {
    does: 'removes a row and an older one, and adds others in their place',
    options: { mode: 'append' },
    sql: [
      'CREATE TABLE items (id TEXT, name TEXT, amount TEXT)',
      three,
      "CREATE TRIGGER t AFTER INSERT ON items WHEN NEW.id = '5' BEGIN DELETE FROM items WHERE id = '5' OR name = 'old 1'; INSERT INTO items VALUES ('z', 'audit', '1'); END",
    ],
    refused: 'has kept 8 of 9 rows',
  },
  {
    does: 'replaces a row by as many others',
    options: { mode: 'append' },
    sql: [
      'CREATE TABLE items (id TEXT, name TEXT, amount TEXT)',
      three,
      "CREATE TRIGGER t AFTER INSERT ON items WHEN NEW.id = '6' BEGIN DELETE FROM items WHERE id = '6'; INSERT INTO items VALUES ('z', NULL, NULL); END",
    ],
    refused: 'has kept 5 of 6 rows',
  },
  {
    does: 'has a clause that replaces a row of the export by a later one, and adds another',
    options: { mode: 'append' },
    sql: [
      'CREATE TABLE items (id TEXT, name TEXT, amount TEXT UNIQUE ON CONFLICT REPLACE)',
      three,
      "CREATE TRIGGER t AFTER INSERT ON items WHEN NEW.id = '8' BEGIN INSERT INTO items VALUES ('z', 'audit', NULL); END",
    ],
    rows: [...six, { id: 7, name: 'a', amount: '5' }, { id: 8, name: 'b', amount: '5' }],
    refused: 'has kept 7 of 8 rows',
  },
  {
    does: 'changes a row and removes an older one, so that nothing tells whether it is there',
    options: { mode: 'append' },
    sql: [
      'CREATE TABLE items (id TEXT, name TEXT, amount TEXT)',
      three,
      "CREATE TRIGGER t AFTER INSERT ON items WHEN NEW.id = '5' BEGIN UPDATE items SET name = 'x' WHERE id = '5'; DELETE FROM items WHERE name = 'old 1'; END",
    ],
    refused: 'has kept 8 of 9 rows',
  },
  {
    does: 'removes a row that it has already',
    options: { mode: 'append' },
    sql: [
      'CREATE TABLE items (id TEXT, name TEXT, amount TEXT)',
      "INSERT INTO items VALUES ('6', 'new 6', '90071992547409936'), ('7', 'old 7', '7')",
      'CREATE TRIGGER t AFTER INSERT ON items WHEN (SELECT count(*) FROM items WHERE id = NEW.id) > 1 BEGIN DELETE FROM items WHERE rowid = NEW.rowid; END',
    ],
    refused: 'has kept 7 of 8 rows',
  },
  {
    does: 'gives rows another key',
    options: { mode: 'merge', ...byKey },
    sql: [
      'CREATE TABLE items (id TEXT, name TEXT, amount TEXT)',
      "CREATE TRIGGER t AFTER INSERT ON items WHEN NEW.id = '6' BEGIN UPDATE items SET id = 'x' WHERE id = '6'; END",
      three,
    ],
    refused: 'has kept 5 of 6 rows',
  },
];

const createItems = 'CREATE TABLE items (id numeric, name text, amount numeric)';
const trigger = (when: string, body: string): string[] => [
  `CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN ${body} END $$`,
  `CREATE TRIGGER t ${when} EXECUTE FUNCTION f()`,
];
const inPostgres: readonly Case[] = [
  {
    does: 'has a trigger that drops rows that are added',
    options: { mode: 'append' },
    sql: [createItems, ...trigger('BEFORE INSERT ON items FOR EACH ROW WHEN (NEW.id > 4)', 'RETURN NULL;'), three],
    refused: 'has added 4 of 6 rows',
  },
  {
    does: 'has a trigger that drops changes',
    options: { mode: 'merge', ...byKey },
    sql: [createItems, ...trigger('BEFORE UPDATE ON items FOR EACH ROW WHEN (OLD.id = 2)', 'RETURN NULL;'), three],
    refused: 'has changed 2 of 3 rows',
  },
  {
    does: 'has a trigger that keeps rows',
    options: { mode: 'replace' },
    sql: [createItems, ...trigger('BEFORE DELETE ON items FOR EACH ROW', 'RETURN NULL;'), three],
    refused: 'has removed 0 of 3 rows',
  },
  {
    does: 'has a trigger that removes rows after they were added',
    options: { mode: 'append' },
    sql: [createItems, three, ...trigger('AFTER INSERT ON items', 'DELETE FROM items WHERE id > 5; RETURN NULL;')],
    refused: 'has kept 8 of 9 rows',
  },
  ...[
    ['and adds another', "INSERT INTO items VALUES (100, 'audit', 1);", 'has kept 8 of 9 rows'],
    ['and changes another', "UPDATE items SET name = 'x' WHERE name = 'old 2';", 'has kept 7 of 9 rows'],
    ['and adds as many', 'INSERT INTO items VALUES (100), (101);', 'has kept 5 of 6 rows'],
    ['and adds more', 'INSERT INTO items VALUES (100), (101), (102);', 'has kept 5 of 6 rows'],
  ].map(([what = '', body = '', refused = '']) => ({
    does: `has a trigger that removes a row and an older one, ${what}`,
    options: { mode: 'append' } as const,
    sql: [
      createItems,
      three,
      ...trigger(
        'AFTER INSERT ON items FOR EACH ROW WHEN (NEW.id = 5)',
        `DELETE FROM items WHERE id = 5 OR name = 'old 1'; ${body} RETURN NULL;`,
      ),
    ],
    refused,
  })),
  {
    does: 'has a trigger that removes a row that it has already',
    options: { mode: 'append' },
    sql: [
      createItems,
      "INSERT INTO items VALUES (6, 'new 6', 90071992547409936), (7, 'old 7', 7)",
      ...trigger(
        'AFTER INSERT ON items FOR EACH ROW',
        'DELETE FROM items WHERE ctid = (SELECT max(ctid) FROM items WHERE id = NEW.id HAVING count(*) > 1); RETURN NULL;',
      ),
    ],
    refused: 'has kept 7 of 8 rows',
  },
  {
    does: 'is a view that hides a row, whose table gets another',
    options: { mode: 'append' },
    sql: [
      'CREATE TABLE all_items (id numeric, name text, amount numeric)',
      'CREATE VIEW items AS SELECT * FROM all_items WHERE id <> 5',
      three,
      ...trigger(
        'AFTER INSERT ON all_items FOR EACH ROW WHEN (NEW.id = 5)',
        'INSERT INTO items VALUES (100); RETURN NULL;',
      ),
    ],
    refused: 'has kept 5 of 6 rows',
  },
  {
    does: 'has a trigger that removes rows at the end of the transaction',
    options: { mode: 'append' },
    sql: [
      createItems,
      three,
      'CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN DELETE FROM items WHERE id > 5; RETURN NULL; END $$',
      'CREATE CONSTRAINT TRIGGER t AFTER INSERT ON items DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION f()',
    ],
    refused: 'has kept 8 of 9 rows',
  },
  {
    does: 'has a trigger that gives rows another key',
    options: { mode: 'merge', ...byKey },
    sql: [createItems, ...trigger('BEFORE INSERT ON items FOR EACH ROW', 'NEW.id = NEW.id + 10; RETURN NEW;')],
    refused: 'has kept 0 of 6 rows',
  },
  {
    does: 'has a partition with such a trigger',
    options: { mode: 'append' },
    sql: [
      `${createItems} PARTITION BY RANGE (id)`,
      'CREATE TABLE few PARTITION OF items FOR VALUES FROM (0) TO (5)',
      'CREATE TABLE more PARTITION OF items FOR VALUES FROM (5) TO (100)',
      ...trigger('AFTER INSERT ON more FOR EACH ROW', 'DELETE FROM more WHERE id > 5; RETURN NULL;'),
      three,
    ],
    refused: 'has kept 8 of 9 rows',
  },
  {
    does: 'has a rule that adds nothing',
    options: { mode: 'append' },
    sql: [createItems, three, 'CREATE RULE r AS ON INSERT TO items WHERE NEW.id > 4 DO INSTEAD NOTHING'],
    refused: 'has added 4 of 6 rows',
  },
  {
    does: 'has a rule that adds rows to another table',
    options: { mode: 'append' },
    sql: [
      createItems,
      three,
      'CREATE TABLE others (LIKE items)',
      'CREATE RULE r AS ON INSERT TO items DO INSTEAD INSERT INTO others VALUES (NEW.*)',
    ],
    refused: 'has kept 3 of 9 rows',
  },
  {
    does: 'has a rule that changes nothing',
    options: { mode: 'merge', ...byKey },
    sql: [createItems, three, 'CREATE RULE r AS ON UPDATE TO items DO INSTEAD NOTHING'],
    refused: 'has changed 0 of 3 rows',
  },
  {
    does: 'has a rule that marks rows instead of removing them',
    options: { mode: 'replace' },
    sql: [createItems, three, 'CREATE RULE r AS ON DELETE TO items DO INSTEAD UPDATE items SET name = NULL'],
    refused: 'has removed 0 of 3 rows',
  },
  {
    does: 'is a view with a filter',
    options: { mode: 'append' },
    sql: [
      'CREATE TABLE all_items (id numeric, name text, amount numeric)',
      'CREATE VIEW items AS SELECT * FROM all_items WHERE id < 5',
      three,
    ],
    refused: 'has kept 7 of 9 rows',
  },
  {
    does: 'is a view whose trigger drops rows',
    options: { mode: 'append' },
    sql: [
      'CREATE TABLE all_items (id numeric, name text, amount numeric)',
      'CREATE VIEW items AS SELECT DISTINCT * FROM all_items',
      'CREATE FUNCTION g() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN OLD; END $$',
      'CREATE TRIGGER u INSTEAD OF UPDATE OR DELETE ON items FOR EACH ROW EXECUTE FUNCTION g()',
      ...trigger(
        'INSTEAD OF INSERT ON items FOR EACH ROW',
        'IF NEW.id > 4 THEN RETURN NULL; END IF; INSERT INTO all_items VALUES (NEW.*); RETURN NEW;',
      ),
    ],
    refused: 'has added 4 of 6 rows',
  },
];

/** Lets something happen when the first page is staged. */
async function afterFirstPage(exporting: ReturnType<typeof exportTo>, change: () => Promise<unknown>): Promise<void> {
  for await (const { pages } of exporting) if (pages === 1) await change();
}

function into(
  database: Pick<TestDatabase, 'sink'>,
  rows: readonly Item[],
  { restart = false, ...options }: Partial<TableOptions> & Pick<ExportOptions, 'restart'> = {},
): Promise<ExportReport> {
  const source = itemSource([rows], { pageSize: 2 });
  return exportTo(source, database.sink<Item>({ table: 'items', ...options }), { commitEvery: 1, restart }).run();
}

async function contentOf({ query }: TestDatabase): Promise<string[]> {
  const rows = await query('SELECT id, name FROM items ORDER BY id, name');
  return rows.map(({ id, name }) => `${id} ${name}`);
}

describe.each(databaseKinds)('a table of $name', ({ open, name: kind }) => {
  const text = kind === 'SQLite' ? 'TEXT' : 'numeric';

  test.each(kind === 'SQLite' ? inSqlite : inPostgres)(
    'D3 is never said to have the rows that it dropped, and is as it was: it $does',
    async ({ options, sql, rows = six, refused }) => {
      const database = await open();
      for (const statement of sql) await database.query(statement);
      const before = await contentOf(database);
      // Once more: the same command, while nothing is mended, says the same.
      for (let attempt = 1; attempt <= 2; attempt += 1) {
        await expect(into(database, rows, options)).rejects.toThrow(
          `The table items ${refused}: a trigger, rule, policy or conflict clause of its own does not take the others.`,
        );
        expect(await contentOf(database)).toEqual(before);
      }
    },
  );

  test('D3 replace leaves no row that a trigger adds again when it is removed', async () => {
    const database = await open();
    await database.query(`CREATE TABLE items (id ${text}, name text, amount ${text})`);
    const again = 'INSERT INTO items VALUES (OLD.id, OLD.name, OLD.amount)';
    if (kind === 'SQLite') await database.query(`CREATE TRIGGER t AFTER DELETE ON items BEGIN ${again}; END`);
    else
      for (const sql of trigger('AFTER DELETE ON items FOR EACH ROW', `${again}; RETURN NULL;`))
        await database.query(sql);
    await database.query(three);
    for (const key of [undefined, ['id']])
      await expect(
        into(database, itemsOf([3, 4]), { mode: 'replace', restart: true, ...(key && { key }) }),
      ).rejects.toThrow(/^The table items has [45] rows instead of 2: a trigger, rule, .* adds others\./);
    expect(await contentOf(database)).toEqual(['1 old 1', '2 old 2', '3 old 3']);
  });

  test.each(['append', 'merge'] as const)(
    'D3 %s takes all rows where a trigger removes only older ones',
    async (mode) => {
      for (const kept of [9, 7, 6, 5]) {
        const database = await open();
        await database.query(
          `CREATE TABLE items (nth ${kind === 'SQLite' ? 'INTEGER PRIMARY KEY' : 'serial'}, id ${text}, name text, amount ${text})`,
        );
        await database.query(three.replace('items', 'items (id, name, amount)'));
        const prune = `DELETE FROM items WHERE nth <= (SELECT max(nth) FROM items) - ${kept}`;
        if (kind === 'SQLite') await database.query(`CREATE TRIGGER t AFTER INSERT ON items BEGIN ${prune}; END`);
        else for (const sql of trigger('AFTER INSERT ON items', `${prune}; RETURN NULL;`)) await database.query(sql);
        const rows = itemsOf([11, 12, 13, 14, 15, 16], 'new');
        const run = into(database, rows, { mode, ...(mode === 'merge' && byKey) });
        if (kept < 6) {
          await expect(run).rejects.toThrow(`The table items has kept ${mode === 'merge' ? '5 of 6' : '5 of 9'} rows`);
          expect(await contentOf(database)).toHaveLength(3);
          continue;
        }
        await run;
        const content = await contentOf(database);
        expect(content).toHaveLength(kept);
        expect(content.filter((row) => row.includes('new'))).toHaveLength(6);
      }
    },
  );

  test('D3 append takes all rows where a trigger removes all older ones before, and adds others', async () => {
    for (const audit of ['', "INSERT INTO items VALUES ('100', 'audit', '1'), ('101', 'audit', '1');"]) {
      const database = await open();
      await database.query(`CREATE TABLE items (id ${text}, name text, amount ${text})`);
      await database.query(three);
      const prune = `DELETE FROM items WHERE name LIKE 'old%'; ${audit}`;
      // An audit within would have the trigger fire for its own rows.
      const when = kind === 'SQLite' ? "WHEN NEW.id = '1'" : 'FOR EACH ROW WHEN (NEW.id = 1)';
      if (kind === 'SQLite') await database.query(`CREATE TRIGGER t BEFORE INSERT ON items ${when} BEGIN ${prune} END`);
      else
        for (const sql of trigger(`BEFORE INSERT ON items ${when}`, `${prune} RETURN NEW;`)) await database.query(sql);
      await into(database, six, { mode: 'append' });
      const content = await contentOf(database);
      expect(content.filter((row) => row.includes('new'))).toHaveLength(6);
      expect(content).toHaveLength(audit === '' ? 6 : 8);
    }
  });

  test('D3 append takes all rows where a trigger changes them, and adds others', async () => {
    const database = await open();
    await database.query(`CREATE TABLE items (id ${text}, name text, amount ${text})`);
    await database.query(three);
    const change =
      "UPDATE items SET name = replace(name, 'new', 'NEW'); INSERT INTO items VALUES ('100', 'AUDIT', '1');";
    if (kind === 'SQLite')
      await database.query(`CREATE TRIGGER t AFTER INSERT ON items WHEN NEW.id = '6' BEGIN ${change} END`);
    else
      for (const sql of trigger('AFTER INSERT ON items FOR EACH ROW WHEN (NEW.id = 6)', `${change} RETURN NULL;`))
        await database.query(sql);
    await into(database, six, { mode: 'append' });
    const content = await contentOf(database);
    expect(content).toHaveLength(10);
    expect(content.filter((row) => row.includes('NEW'))).toHaveLength(6);
  });

  test('D3 has triggers that add and change other things, and takes all rows', async () => {
    const database = await open();
    await database.query(`CREATE TABLE items (id ${text}, name text, amount ${text})`);
    await database.query('CREATE TABLE log (id text)');
    if (kind === 'SQLite')
      await database.query('CREATE TRIGGER t AFTER INSERT ON items BEGIN INSERT INTO log VALUES (NEW.id); END');
    else
      for (const sql of trigger(
        'BEFORE INSERT ON items FOR EACH ROW',
        'INSERT INTO log VALUES (NEW.id); NEW.name = upper(NEW.name); RETURN NEW;',
      ))
        await database.query(sql);
    for (const mode of ['append', 'merge', 'replace'] as const)
      await into(database, itemsOf([1, 2], mode), { mode, ...(mode !== 'append' && byKey) });
    expect(await contentOf(database)).toEqual(['1 replace 1', '2 replace 2']);
    expect(await database.query('SELECT id FROM log')).toHaveLength(2);
  });

  test.each(['merge', 'replace'] as const)(
    'D3 that has a key twice is refused by %s before anything is fetched or changed, and children stay',
    async (mode) => {
      const database = await open();
      await database.query(`CREATE TABLE items (nth ${text} UNIQUE, id ${text}, name text, amount ${text})`);
      await database.query(`CREATE TABLE notes (item ${text} REFERENCES items (nth) ON DELETE CASCADE)`);
      await database.query(
        "INSERT INTO items VALUES ('1', '1', 'a', '1'), ('2', '1', 'b', '1'), ('3', NULL, 'c', '1'), ('4', NULL, 'd', '1')",
      );
      await database.query("INSERT INTO notes VALUES ('1'), ('2')");
      const before = await contentOf(database);
      let pages = 0;
      const source = itemSource([six], { onPage: () => void (pages += 1) });
      await expect(exportTo(source, database.sink<Item>({ table: 'items', mode, ...byKey })).run()).rejects.toThrow(
        'The table items has 2 rows with the same key (id "1"), which can\'t be told apart. Nothing was changed.',
      );
      expect(pages).toBe(0);
      expect(await contentOf(database)).toEqual(before);
      expect(await database.query('SELECT item FROM notes')).toHaveLength(2);
    },
  );

  test('D3 that gets a key twice during the export is refused at its end', async () => {
    const database = await open();
    await database.query(`CREATE TABLE items (id ${text}, name text, amount ${text})`);
    await database.query(three);
    const exporting = exportTo(itemSource([six]), database.sink<Item>({ table: 'items', mode: 'replace', ...byKey }));
    await expect(afterFirstPage(exporting, () => database.query(three))).rejects.toThrow(
      'has 2 rows with the same key (id ',
    );
    expect(await contentOf(database)).toHaveLength(6);
  });

  test('D3 replace without a key is refused where rows of other tables would go with all rows', async () => {
    const database = await open();
    await database.query(`CREATE TABLE items (id ${text} PRIMARY KEY, name text, amount ${text})`);
    await database.query(`CREATE TABLE notes (item ${text} REFERENCES items (id) ON DELETE CASCADE)`);
    await database.query(three);
    await database.query("INSERT INTO notes VALUES ('2'), ('3')");
    await expect(into(database, six, { mode: 'replace' })).rejects.toThrow(
      /^Other tables refer to items, .* Name the columns that identify a row, as key\.$/,
    );
    await into(database, itemsOf([2, 4]), { mode: 'replace', ...byKey });
    expect(await contentOf(database)).toEqual(['2 item 2', '4 item 4']);
    expect(await database.query('SELECT item FROM notes')).toEqual([{ item: '2' }]);
  });

  test.each(['replace', 'mirror'] as const)(
    'D3 D5 %s takes no row that stays with one that it refers to',
    async (how) => {
      const created = (onDelete: string): string =>
        `CREATE TABLE items (id ${text} PRIMARY KEY, name text, amount ${text} REFERENCES items (id) ON DELETE ${onDelete}, note text)`;
      const tree = (...rows: readonly (readonly [id: number, of: number | null])[]): Item[] =>
        rows.map(([id, of]) => ({ id, name: 'x', amount: of === null ? (null as unknown as string) : String(of) }));
      const grown = tree([1, null], [2, 1], [3, 2], [4, null], [5, 4]);
      const of = async ({ query }: TestDatabase) =>
        (await query('SELECT id, amount, note FROM items ORDER BY id')).map((row) => Object.values(row).join(' '));
      const put = (database: TestDatabase, rows: readonly Item[]) =>
        how === 'mirror'
          ? mirrored(new Items(rows), database.mirror<Item>({ table: 'items', ...byKey }))
          : into(database, rows, { mode: 'replace', ...byKey, restart: true });
      const before = ['1  a', '2 1 a', '3 2 a', '4  a', '5 4 a'];
      const family = await open();
      await family.query(created('CASCADE'));
      await put(family, grown);
      await put(family, tree([4, null], [5, 4]));
      expect(await of(family)).toEqual(['4  ', '5 4 ']);
      await expect(put(family, tree([5, 4]))).rejects.toThrow(
        'A row of items that stays would go with one that it refers to and that is removed, since a foreign key',
      );
      // The child of the row that goes stays as it is; goes to another parent; has another one that is new.
      for (const listing of [
        tree([2, 1], [3, 2], [4, null], [5, 4]),
        tree([2, 4], [3, 2], [4, null], [5, 4]),
        tree([6, null], [2, 6], [3, 2], [4, null], [5, 4]),
      ]) {
        const database = await open();
        await database.query(created('CASCADE'));
        await put(database, grown);
        await database.query("UPDATE items SET note = 'a'");
        await expect(put(database, listing)).rejects.toThrow(
          /^2 rows of items that stay would go with rows that they refer to .*NO ACTION DEFERRABLE INITIALLY DEFERRED/,
        );
        expect(await of(database)).toEqual(before);
        const other = await open();
        await other.query(created('NO ACTION DEFERRABLE INITIALLY DEFERRED'));
        await put(other, grown);
        await other.query("UPDATE items SET note = 'a'");
        if (listing[0]?.amount === '1') await expect(put(other, listing)).rejects.toThrow(/foreign key/i);
        else await put(other, listing);
        const kept = listing.filter(({ id }) => id < 6).map(({ id, amount }) => `${id} ${amount ?? ''} a`);
        expect(await of(other)).toEqual(
          listing[0]?.amount === '1' ? before : [...kept, ...(listing.length > 4 ? ['6  '] : [])],
        );
      }
    },
  );

  test('D2 a staging table that somebody emptied is noticed, by the run that fills it and by the next one', async () => {
    const database = await open();
    const stage =
      kind === 'SQLite'
        ? "SELECT name FROM sqlite_schema WHERE type = 'table' AND name GLOB '_sluice_*'"
        : "SELECT relname AS name FROM pg_class WHERE relkind = 'r' AND relname LIKE '\\_sluice\\_%'";
    for (const fate of ['goes on', 'ends']) {
      const source = itemSource([six], {
        pageSize: 2,
        async onPage(_, page) {
          if (page !== 2) return;
          const [found] = await database.query(stage);
          await database.query(`DELETE FROM "${found?.['name']}" WHERE id = '1'`);
          if (fate === 'ends') throw new Error('The API is gone.');
        },
      });
      const run = (restart: boolean) =>
        exportTo(source, database.sink<Item>({ table: 'items' }), { commitEvery: 1, restart }).run();
      if (fate === 'ends') await expect(run(true)).rejects.toThrow('The API is gone.');
      await expect(run(false)).rejects.toThrow(/has staged [46] rows, and [35] are there: somebody changed/);
    }
    await exportTo(itemSource([six], { pageSize: 2 }), database.sink<Item>({ table: 'items' }), {
      restart: true,
    }).run();
    expect(await contentOf(database)).toHaveLength(6);
  });

  test.each(['merge', 'replace'] as const)(
    'D3 %s takes those keys for the same that the table takes for it',
    async (mode) => {
      const types = ['TEXT COLLATE NOCASE', 'TEXT COLLATE RTRIM'];
      const folded = ['text COLLATE nocase', 'varchar(9) COLLATE nocase', 'citext'];
      const rows = [
        { id: 1, name: 'a', amount: '1' },
        { id: 1, name: 'A', amount: '2' },
        { id: 3, name: 'b ', amount: '3' },
        { id: 3, name: 'b', amount: '4' },
      ];
      for (const type of kind === 'SQLite' ? types : folded) {
        const database = await open();
        if (kind === 'PostgreSQL') {
          await database.query(
            "CREATE COLLATION nocase (provider = icu, locale = 'und-u-ks-level2', deterministic = false)",
          );
          const known = await database.query("SELECT 1 FROM pg_available_extensions WHERE name = 'citext'");
          if (known.length === 0 && type === 'citext') continue;
          await database.query('CREATE EXTENSION IF NOT EXISTS citext');
        }
        await database.query(`CREATE TABLE items (id ${text}, name ${type}, amount ${text})`);
        await database.query(`CREATE TABLE notes (item ${text})`);
        const isTrimmed = type.endsWith('RTRIM');
        await database.query(`INSERT INTO items VALUES ('9', '${isTrimmed ? 'b   ' : 'B'}', '9')`);
        await into(database, rows, { mode, key: ['name'] });
        const found = (await database.query('SELECT amount FROM items ORDER BY amount')).map(({ amount }) => amount);
        expect({ type, found }).toEqual({ type, found: isTrimmed ? ['1', '2', '4'] : ['2', '3', '4'] });
        const twin = isTrimmed ? 'b     ' : 'B';
        await database.query(`INSERT INTO items VALUES ('8', '${twin}', '9')`);
        await expect(
          into(database, [...rows, ...itemsOf([5])], { mode, key: ['name'], restart: true }),
        ).rejects.toThrow('has 2 rows with the same key (name "');
      }
    },
  );
});

describe.runIf(postgresPrograms !== undefined)('a table of PostgreSQL', () => {
  test.each([
    ['UPDATE', 'USING (id <> 2) WITH CHECK (true)', 'merge', 'has changed 2 of 3 rows'],
    ['DELETE', 'USING (id <> 2)', 'replace', 'has removed 2 of 3 rows'],
    ['SELECT', 'USING (id < 5)', 'append', 'has kept 7 of 9 rows'],
  ] as const)('D3 whose policies hide rows from %s is refused', async (command, policy, mode, refused) => {
    const database = await openEmptyPostgres();
    await database.query(createItems);
    await database.query(three);
    await database.query('ALTER TABLE items ENABLE ROW LEVEL SECURITY');
    for (const each of ['SELECT', 'INSERT', 'UPDATE', 'DELETE']) {
      const all = each === 'INSERT' ? 'WITH CHECK (true)' : 'USING (true)';
      await database.query(`CREATE POLICY ${each}_items ON items FOR ${each} ${each === command ? policy : all}`);
    }
    const role = `only_some_${command}`.toLowerCase();
    await database.query(`CREATE ROLE ${role} LOGIN`);
    for (const on of ['SCHEMA public', 'items']) await database.query(`GRANT ALL ON ${on} TO ${role}`);
    const url = database.url.replace('tester', role);
    const sink = postgres<Item>({ url, table: 'items', mode, ...(mode === 'merge' && byKey) });
    await expect(exportTo(itemSource([six]), sink).run()).rejects.toThrow(`The table items ${refused}`);
  });

  test('D3 append takes all rows where one trigger changes them, and another removes older ones', async () => {
    const database = await openEmptyPostgres();
    await database.query(createItems);
    await database.query(three);
    const [upper = '', before = ''] = trigger(
      'BEFORE INSERT ON items FOR EACH ROW',
      'NEW.name = upper(NEW.name); RETURN NEW;',
    );
    await database.query(upper);
    await database.query(before);
    await database.query(
      'CREATE FUNCTION prune() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN DELETE FROM items WHERE id = 1; RETURN NULL; END $$',
    );
    await database.query('CREATE TRIGGER prune AFTER INSERT ON items EXECUTE FUNCTION prune()');
    await into(database, itemsOf([11, 12], 'new'), { mode: 'append' });
    expect(await contentOf(database)).toEqual(['2 old 2', '3 old 3', '11 NEW 11', '12 NEW 12']);
  });

  test.each(['append', 'merge'] as const)('D3 %s takes all rows while others remove old ones', async (mode) => {
    const database = await openEmptyPostgres();
    await database.query(createItems);
    await database.query(three);
    for (const sql of trigger('AFTER INSERT ON items', 'PERFORM pg_advisory_xact_lock_shared(7); RETURN NULL;'))
      await database.query(sql);
    const other = new pg.Client({ connectionString: database.url });
    await other.connect();
    try {
      await other.query('SELECT pg_advisory_lock(7)');
      const run = into(database, itemsOf([11, 12, 13], 'new'), { mode, ...(mode === 'merge' && byKey) });
      const waiting = "SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND objid = 7 AND NOT granted";
      while ((await other.query(waiting)).rows.length === 0);
      await other.query("DELETE FROM items WHERE id = '2'");
      await other.query('SELECT pg_advisory_unlock(7)');
      await run;
    } finally {
      await other.end();
    }
    expect(await contentOf(database)).toEqual(['1 old 1', '3 old 3', '11 new 11', '12 new 12', '13 new 13']);
  });

  test.each([
    ['altered', 'ALTER TABLE items ALTER name TYPE varchar(4)'],
    ['made again', 'DROP TABLE items; CREATE TABLE items (id numeric, name varchar(4), amount numeric)'],
    [
      'partitioned',
      'DROP TABLE items; CREATE TABLE items (id numeric, name varchar(4), amount numeric) PARTITION BY LIST (id)',
    ],
  ])('D4 that is %s during the export cuts no text', async (_, sql) => {
    const database = await openEmptyPostgres();
    await database.query(createItems);
    const rows = [...itemsOf([1, 2, 3], ''), { id: 4, name: 'abcd  ', amount: '1' }];
    const source = itemSource([rows], {
      async onPage(_, page) {
        if (page === 1) for (const each of sql.split('; ')) await database.query(each);
      },
    });
    const sink = database.sink<Item>({ table: 'items', mode: 'append' });
    await expect(exportTo(source, sink).run()).rejects.toThrow(
      'Row 4: name is "abcd  ", which items can\'t store: it would be cut.',
    );
    expect(await contentOf(database)).toEqual([]);
  });

  test.each([
    ['amount', 'smallint', 'numeric', '99999'],
    ['amount', 'numeric(4,0)', 'bigint', '99999'],
    ['amount', 'integer', 'text', '9007199254740993'],
    ['name', 'varchar(4)', 'varchar(5)', 'abcde'],
    ['name', 'varchar(4)', 'text COLLATE "C"', 'abcde'],
  ])(
    'D4 whose column was altered as an error said takes the rest: %s from %s to %s',
    async (column, from, to, value) => {
      for (const mode of ['append', 'merge'] as const) {
        const database = await openEmptyPostgres();
        await database.query(createItems.replace(new RegExp(`${column} \\w+`), `${column} ${from}`));
        const rows = itemsOf([1, 2, 3, 4, 5, 6, 7], 'a').map((row) => ({ ...row, name: 'a', amount: String(row.id) }));
        const given = rows.map((row) => (row.id === 5 ? { ...row, [column]: value } : row));
        const fetched: number[] = [];
        const run = () =>
          exportTo(
            itemSource([given], { pageSize: 2, onPage: (_, page) => void fetched.push(page) }),
            database.sink<Item>({ table: 'items', mode, ...(mode === 'merge' && byKey) }),
            { commitEvery: 1, prefetch: 0 },
          ).run();
        const refused = `Row 5: ${column} is "${value}"`;
        await expect(run()).rejects.toThrow(refused);
        await expect(run()).rejects.toThrow(refused);
        fetched.length = 0;
        await database.query(`ALTER TABLE items ALTER ${column} TYPE ${to}`);
        await run();
        expect(fetched[0]).toBeGreaterThan(0);
        expect(await database.query(`SELECT id, ${column} FROM items ORDER BY id`)).toEqual(
          given.map((row) => ({ id: String(row.id), [column]: row[column as 'name'] })),
        );
      }
    },
  );

  test.each([
    ['name', 'text', 'varchar(5)'],
    ['name', 'varchar(9)', 'varchar(5)'],
    ['amount', 'numeric', 'smallint'],
    ['amount', 'text', 'numeric(4,0)'],
    ['amount', 'bigint', 'integer'],
  ])(
    'D4 whose column %s was altered from %s to %s, which rows that were fetched do not fit, says so',
    async (column, from, to) => {
      const database = await openEmptyPostgres();
      await database.query(`${createItems.replace(new RegExp(`${column} \\w+`), `${column} ${from}`)}`);
      const given = [1, 2, 3, 4, 5, 6].map((id) => ({ id, name: 'abcdef', amount: '99999999999' }));
      const doNotFit = `The column ${column} of items was altered during the export: unless it is altered back, rows that were fetched before do not fit.`;
      let isThere = false;
      const fetched: number[] = [];
      const warnings: string[] = [];
      const run = (mode: 'append' | 'merge') => {
        const source = itemSource([given], {
          pageSize: 2,
          onPage(_, page) {
            fetched.push(page);
            if (!isThere && page === 2) throw new Error('The API is gone.');
          },
        });
        const sink = database.sink<Item>({ table: 'items', mode, ...(mode === 'merge' && byKey) });
        const onWarning = (warning: string) => void warnings.push(warning);
        return exportTo(source, sink, { commitEvery: 1, prefetch: 0, onWarning }).run();
      };
      for (const mode of ['append', 'merge'] as const) {
        isThere = false;
        await expect(run(mode)).rejects.toThrow('The API is gone.');
        isThere = true;
        await database.query(`ALTER TABLE items ALTER ${column} TYPE ${to} USING NULL`);
        fetched.length = 0;
        if (mode === 'append') {
          for (let attempt = 1; attempt <= 2; attempt += 1)
            await expect(run(mode)).rejects.toThrow(`${doNotFit} Start over with restart: nothing was changed.`);
          fetched.length = 0;
        } else {
          await expect(run(mode)).rejects.toThrow(`Row 1: ${column} is "${given[0]?.[column as 'name']}", which items`);
          expect(warnings).toEqual([
            `${doNotFit} So the interrupted run can't be resumed. Its 4 rows are exported again.`,
          ]);
        }
        await database.query(`ALTER TABLE items ALTER ${column} TYPE ${from}`);
        await run(mode);
        expect(fetched[0]).toBe(mode === 'append' ? 2 : 0);
        expect(await contentOf(database)).toHaveLength(6);
      }
    },
  );

  test('D3 whose key takes other texts for equal than when the export began is refused', async () => {
    const database = await openEmptyPostgres();
    await database.query(createItems);
    await database.query("CREATE COLLATION nocase (provider = icu, locale = 'und-u-ks-level2', deterministic = false)");
    const alter = 'ALTER TABLE items ALTER name TYPE text COLLATE nocase';
    const source = itemSource([six]);
    const sink = () => database.sink<Item>({ table: 'items', mode: 'merge', key: ['name'] });
    await expect(afterFirstPage(exportTo(source, sink()), () => database.query(alter))).rejects.toThrow(
      'The key of items was altered during the export',
    );
    await exportTo(source, sink(), { restart: true }).run();
    expect(await contentOf(database)).toHaveLength(6);
  });

  test.each([
    ['itself', 'CREATE UNLOGGED TABLE items (id numeric, name text, amount numeric)'],
    ['a partition', `${createItems} PARTITION BY LIST (id); CREATE UNLOGGED TABLE p PARTITION OF items DEFAULT`],
    [
      'what a view is made of',
      `${createItems.replace('TABLE items', 'UNLOGGED TABLE t')}; CREATE VIEW items AS SELECT * FROM t`,
    ],
  ])('D2 whose rows a crash would remove is refused: %s is UNLOGGED', async (what, sql) => {
    const database = await openEmptyPostgres();
    for (const each of sql.split('; ')) await database.query(each);
    const refused = 'The table items is UNLOGGED, or a part of it is';
    for (const mode of ['fail', 'append'] as const)
      await expect(into(database, six, { mode })).rejects.toThrow(refused);
    if (what !== 'itself') return;
    const mirror = database.mirror<Item>({ table: 'items', ...byKey });
    await expect(mirrored(new Items(six), mirror)).rejects.toThrow(refused);
    await database.query('ALTER TABLE items SET LOGGED');
    await mirrored(new Items(six), mirror);
    expect(await contentOf(database)).toHaveLength(6);
  });
});
