import { ConfigError, createSource, exportTo, watch, type Change, type Sink } from '@sluice/core';
import { expect, test } from 'vitest';
import { forkChild } from '../../core/test/node/forkChild.js';
import { SkippingClock } from '../../core/test/rows/watch/skippingClock.js';
import type { MirrorOptions } from '../src/sqlite.js';
import { describeDatabases, type TestDatabase } from './databases.js';
import { changingSource, itemSchema, itemsOf, itemSource, type Item } from './items.js';
import { inTable, Items, mirrored, type WatchOf } from './watched.js';

const range = (from: number, to: number): number[] => Array.from({ length: to - from }, (_, nth) => from + nth);

/** What a reader sees of a generation. */
function shownGeneration(nth: number, sizes: readonly number[]): string {
  const name = `of ${nth}`;
  return JSON.stringify([{ least: name, most: name, rows: String(sizes[nth % sizes.length]) }]);
}

const item = (id: number, name: string): Item => ({ id, name, amount: '9007199254740993' });

describeDatabases('a mirror in $name', ({ open, name: kind }) => {
  const mirror = (database: TestDatabase, options: Partial<MirrorOptions> = {}) =>
    database.mirror<Item>({ table: 'items', key: ['id'], ...options });
  /** One poll, and the table after it. */
  const after = async (
    database: TestDatabase,
    listing: Items,
    { columns, ...options }: WatchOf & Partial<MirrorOptions> & { readonly deletedAt?: boolean } = {},
  ): Promise<string[]> => {
    const { deletedAt = false, ...watching } = options;
    await mirrored(listing, mirror(database, { deletedAt, ...(columns && { columns }) }), watching);
    return inTable(database, deletedAt ? 'id, name, _deleted_at IS NOT NULL AS gone' : 'id, name');
  };

  test('D5 follows what is added, changed and removed, over restarts', async () => {
    const database = await open();
    const listing = new Items([item(1, 'a'), item(2, 'b'), item(3, 'c')]);
    expect(await after(database, listing)).toEqual(['1 a', '2 b', '3 c']);
    listing.set(item(2, 'bb'), item(4, 'd'));
    listing.remove(1);
    expect(await after(database, listing)).toEqual(['2 bb', '3 c', '4 d']);
    expect(await after(database, listing)).toEqual(['2 bb', '3 c', '4 d']);
    listing.remove(2, 3, 4);
    expect(await after(database, listing)).toEqual([]);
    listing.set(item(1, 'a'));
    expect(await after(database, listing)).toEqual(['1 a']);
  });

  test('D5 changes hundreds of rows at once, to text that looks like SQL', { tags: ['slow'] }, async () => {
    const database = await open();
    const listing = new Items(itemsOf(range(1, 1_201)));
    await after(database, listing);
    const names = ["'; DROP TABLE items; --", 'long '.repeat(4_000), "\\'; SELECT 1", '$1 ? "$2"', '$$', '', "''"];
    const renamed = range(1, 1_101).map((id) => item(id, names[id % names.length] ?? ''));
    listing.set(...renamed);
    expect(await after(database, listing)).toEqual(listing.rows.map(({ id, name }) => `${id} ${name}`).toSorted());
  });

  test('D5 takes a generation of several pages as a whole', { tags: ['slow'] }, async () => {
    const database = await open();
    const listing = new Items(itemsOf(range(1, 12_001)));
    expect(await after(database, listing)).toHaveLength(12_000);
    listing.set(...range(1, 11_001).map((id) => item(id, 'renamed')));
    expect((await after(database, listing)).filter((row) => row.endsWith(' renamed'))).toHaveLength(11_000);
  });

  test.each(kind === 'PostgreSQL' ? [1, 3] : [])(
    'D4 refuses a value that a column would cut, also of a row that changes or comes later (row %i)',
    async (id) => {
      const database = await open();
      await database.query('CREATE TABLE items (id numeric, name varchar(4), amount numeric)');
      const listing = new Items([item(1, 'abc '), item(2, 'b')]);
      expect(await after(database, listing)).toEqual(['1 abc ', '2 b']);
      listing.set(item(2, 'bb'), item(id, 'abc   '));
      await expect(after(database, listing)).rejects.toThrow(/name is "abc   ", which items can't store: /);
      expect(await inTable(database)).toEqual(['1 abc ', '2 b']);
      await database.query('ALTER TABLE items ALTER name TYPE text');
      expect(await after(database, listing)).toContain(`${id} abc   `);
    },
  );

  test('D5 begins with an empty listing, too', async () => {
    const database = await open();
    const listing = new Items([]);
    expect(await after(database, listing)).toEqual([]);
    listing.set(item(1, 'a'));
    expect(await after(database, listing)).toEqual(['1 a']);
  });

  test('D5 has the columns and types of the watched rows, and without key columns one for the key', async () => {
    const database = await open();
    await mirrored(new Items([item(7, 'a')]), database.mirror<Item>({ table: 'items' }));
    expect(await database.query('SELECT * FROM items')).toEqual([
      { id: '7', name: 'a', amount: '9007199254740993', _key: '7' },
    ]);
    if (kind === 'SQLite') return;
    const types = await database.query(
      "SELECT attname AS name, format_type(atttypid, atttypmod) AS type FROM pg_attribute WHERE attrelid = 'items'::regclass AND attnum > 0 AND NOT attisdropped",
    );
    expect(types.map(({ name, type }) => `${name} ${type}`)).toEqual([
      'id numeric',
      'name text',
      'amount numeric',
      '_key text',
    ]);
  });

  test('D5 two keys of the watch are never one row, whatever their characters', async () => {
    const database = await open();
    const keys = ['a\0', 'a\uFFFD', 'a\ud800', '#5', '#"a\\u0000"'];
    const rows = keys.map((name) => ({ name }));
    const source = itemSource([rows], {}, { columns: ['name'], key: ({ name }: { readonly name: string }) => name });
    const mirrored = database.mirror<{ readonly name: string }>({ table: 'items' });
    await exportTo(
      watch(source, { every: 1_000, clock: new SkippingClock(), polls: 1, state: mirrored.state }),
      mirrored,
    ).run();
    expect((await database.query('SELECT _key FROM items')).map(({ _key }) => _key).sort()).toEqual(
      [
        String.raw`#"a\u0000"`,
        'a\uFFFD',
        String.raw`#"a\ud800"`,
        '#5',
        JSON.stringify('#"a\\u0000"').replace(/^/, '#'),
      ].sort(),
    );
  });

  test('D5 keeps removed rows with their time if it is told to, until they come back', async () => {
    const database = await open();
    const gone = kind === 'SQLite' ? '1' : 't';
    const here = kind === 'SQLite' ? '0' : 'f';
    const listing = new Items([item(1, 'a'), item(2, 'b')]);
    expect(await after(database, listing, { deletedAt: true })).toEqual([`1 a ${here}`, `2 b ${here}`]);
    listing.remove(1);
    expect(await after(database, listing, { deletedAt: true })).toEqual([`1 a ${gone}`, `2 b ${here}`]);
    listing.set(item(1, 'back'), item(3, 'c'));
    expect(await after(database, listing, { deletedAt: true })).toEqual([
      `1 back ${here}`,
      `2 b ${here}`,
      `3 c ${here}`,
    ]);
    listing.remove(3);
    expect(await after(database, listing, { deletedAt: true, restart: true })).toEqual([
      `1 back ${here}`,
      `2 b ${here}`,
    ]);
  });

  test('D5 lets rows swap what identifies them in the table', async () => {
    const database = await open();
    const listing = new Items([item(1, 'a'), item(2, 'b'), item(3, 'c')]);
    const byName = () => mirrored(listing, database.mirror<Item>({ table: 'items', key: ['name'] }));
    await byName();
    listing.set(item(1, 'b'), item(2, 'a'));
    await byName();
    expect(await inTable(database)).toEqual(['1 b', '2 a', '3 c']);
    listing.set(item(3, 'a'));
    await expect(byName()).rejects.toThrow(/unique/i);
    const twins = new Items([item(1, 'x'), item(2, 'x')]);
    const other = await open();
    await expect(mirrored(twins, other.mirror<Item>({ table: 'items', key: ['name'] }))).rejects.toThrow(
      '1 of 2 rows have the same name as another one. Name the columns that identify a row, as key.',
    );
  });

  test('D5 refuses a table with rows of others, and one of another shape, also on a restart', async () => {
    const database = await open();
    await database.query('CREATE TABLE items (id text, name text, amount text)');
    const listing = new Items([item(1, 'a')]);
    expect(await after(database, listing)).toEqual(['1 a']);
    const other = await open();
    await other.query('CREATE TABLE items (id text, name text, amount text)');
    await other.query("INSERT INTO items VALUES ('1', 'theirs', '1')");
    for (const restart of [false, true])
      await expect(after(other, listing, { restart })).rejects.toThrow(
        "The table items has rows, and they are not this mirror's.",
      );
    expect(await inTable(other)).toEqual(['1 theirs']);
    const shaped = await open();
    await shaped.query('CREATE TABLE items (id text, name text)');
    await expect(after(shaped, listing)).rejects.toThrow('other columns than the rows: amount is missing');
  });

  test('D5 refuses a view, also one that takes rows', async () => {
    const database = await open();
    await database.query('CREATE TABLE others (id text, name text, amount text)');
    await database.query('CREATE VIEW items AS SELECT * FROM others');
    await expect(after(database, new Items([item(1, 'a')]))).rejects.toThrow(
      new ConfigError("items is a view or the like, in which keys can't be made unique. Name a table.", {
        table: 'items',
      }),
    );
    expect(await database.query('SELECT * FROM others')).toEqual([]);
  });

  test('D5 refuses the rows that an export has published, and goes on only with its own settings', async () => {
    const database = await open();
    await exportTo(itemSource([itemsOf([1])]), database.sink<Item>({ table: 'items' })).run();
    await expect(after(database, new Items([item(2, 'b')]))).rejects.toThrow("they are not this mirror's");
    const other = await open();
    await after(other, new Items([item(1, 'a')]));
    await expect(after(other, new Items([item(1, 'a')]), { deletedAt: true })).rejects.toThrow(
      'written with different settings (deletedAt)',
    );
    expect(await inTable(other)).toEqual(['1 a']);
  });

  test('D5 starting over replaces the rows in place, and views and foreign keys survive', async () => {
    const database = await open();
    const listing = new Items([item(1, 'a'), item(2, 'b')]);
    await after(database, listing);
    await database.query('CREATE VIEW item_names AS SELECT name FROM items');
    await database.query(`CREATE TABLE notes (item ${kind === 'SQLite' ? 'TEXT' : 'numeric'} REFERENCES items (id))`);
    await database.query('INSERT INTO notes VALUES (2)');
    listing.remove(1);
    listing.set(item(2, 'bb'), item(3, 'c'));
    expect(await after(database, listing, { restart: true })).toEqual(['2 bb', '3 c']);
    const names = await database.query('SELECT name FROM item_names ORDER BY name');
    expect(names.map(({ name }) => name)).toEqual(['bb', 'c']);
    listing.set(item(3, 'cc'));
    expect(await after(database, listing)).toEqual(['2 bb', '3 cc']);
  });

  test('D5 starting over removes nothing that an incomplete poll, or one that is short of its total, lacks', async () => {
    const database = await open();
    const rows = [item(1, 'a'), item(2, 'b')];
    await after(database, new Items(rows));
    const begin = (page: { readonly isIncomplete?: true; readonly total?: number }) => {
      const mirror = database.mirror<Item>({ table: 'items', key: ['id'] });
      const fetch = () => Promise.resolve({ rows: [item(1, 'c')], next: 'end', ...page } as const);
      const source = createSource<Item>({ name: 'items', identity: null, schema: itemSchema, fetch });
      const clock = new SkippingClock();
      const watched = watch(source, { every: 1_000, clock, polls: 1, confirmations: 1, state: mirror.state });
      return exportTo(watched, mirror, { restart: true }).run();
    };
    for (const page of [{ isIncomplete: true }, { total: 2 }] as const)
      await expect(begin(page)).rejects.toThrow(
        'does not tell which rows of items have been removed. Nothing was written.',
      );
    expect(await inTable(database)).toEqual(['1 a', '2 b']);
    await begin({});
    expect(await inTable(database)).toEqual(['1 c']);
  });

  test('D5 says what to do if its table is gone', async () => {
    const database = await open();
    const listing = new Items([item(1, 'a')]);
    await after(database, listing);
    await database.query('DROP TABLE items');
    await expect(after(database, listing)).rejects.toThrow('The table items, which this mirror has filled, is gone.');
    expect(await after(database, listing, { restart: true })).toEqual(['1 a']);
  });

  test('D5 says what to do if its rows are gone', { tags: ['slow'] }, async () => {
    for (const deletedAt of [false, true]) {
      const database = await open();
      const listing = new Items([item(1, 'a')]);
      await after(database, listing, { deletedAt });
      await database.query('DELETE FROM items');
      await expect(after(database, listing, { deletedAt })).rejects.toThrow(
        'The table items has no rows, and this mirror has left some. Start over with restart',
      );
      expect(await after(database, listing, { deletedAt, restart: true })).toHaveLength(1);
      listing.remove(1);
      await after(database, listing, { deletedAt });
      await database.query('DELETE FROM items');
      expect(await after(database, listing, { deletedAt })).toEqual([]);
    }
  });

  test('D5 takes the changes of a watch only, and no other state', async () => {
    const database = await open();
    const rows = itemSource([itemsOf([1])]);
    const sink: Sink<Item> = mirror(database) as unknown as Sink<Item>;
    await expect(exportTo(rows, sink).run()).rejects.toThrow('A mirror follows the changes of a watch');
    const listing = new Items([item(1, 'a')]);
    await after(database, listing);
    // Its watch begins anew each time, since it has no state: another history than the table's.
    const watched = watch(
      changingSource(() => listing.rows),
      { every: 1_000, clock: new SkippingClock(), polls: 1 },
    );
    const stateless = exportTo<Change<Item>>(watched, mirror(database)).run();
    await expect(stateless).rejects.toThrow(/does not match the position/);
    const keyed = itemSource([[{ _key: 'a' }]], {}, { columns: ['_key'], key: ({ _key }) => _key });
    const clash = database.mirror<{ readonly _key: string }>({ table: 'others' });
    const changes = watch(keyed, { every: 1_000, clock: new SkippingClock(), polls: 1, state: clash.state });
    await expect(exportTo(changes, clash).run()).rejects.toThrow("which is the mirror's own");
  });

  test('D5 names the row and the column of a value that does not fit, and keeps the last generation', async () => {
    const database = await open();
    const listing = new Items([item(1, 'a')]);
    await after(database, listing);
    listing.set(item(2, 'b'), { ...item(3, 'c'), amount: '2.5' });
    await expect(after(database, listing)).rejects.toThrow('amount is "2.5", which is not an integer');
    expect(await inTable(database)).toEqual(['1 a']);
    listing.set(item(3, 'c'));
    await expect(after(database, listing)).rejects.toThrow(/amount is "2\.5", .* Start over with restart\.$/);
    expect(await after(database, listing, { restart: true })).toEqual(['1 a', '2 b', '3 c']);
  });

  test('D5 readers never see half of a generation', { tags: ['slow'] }, async () => {
    const database = await open();
    const sizes = [400, 30, 300];
    const listing = new Items([]);
    /** All rows of a generation have its name. */
    const generation = (nth: number): void => {
      listing.rows = Array.from({ length: sizes[nth % sizes.length] ?? 0 }, (_, id) => item(id, `of ${nth}`));
    };
    generation(0);
    await after(database, listing);
    const sql = 'SELECT min(name) AS least, max(name) AS most, CAST(count(*) AS text) AS rows FROM items';
    const reader = forkChild(new URL('children/readAgain.ts', import.meta.url), database.place, sql);
    expect(await reader.next()).toBe('reading');
    let nth = 0;
    await mirrored(listing, mirror(database), { polls: 12, onPage: () => generation((nth += 1)) });
    // The first generation of a restart is one, too.
    await mirrored(listing, mirror(database), { polls: 3, restart: true, onPage: () => generation((nth += 1)) });
    reader.tell('stop');
    const { reads, seen } = JSON.parse(await reader.next()) as { reads: number; seen: string[] };
    const whole = new Set(range(0, nth + 1).map((of) => shownGeneration(of, sizes)));
    expect(seen.filter((answer) => !whole.has(answer))).toEqual([]);
    expect(reads).toBeGreaterThan(10);
    expect(seen.length).toBeGreaterThan(2);
    expect((await inTable(database)).length).toBe(sizes[nth % sizes.length]);
  });
});
