// @module-tag slow
import { exportTo } from '@sluice/core';
import { describe, expect, test } from 'vitest';
import { casesOf } from '../../../scripts/testEffort.js';
import { Random } from '../../../test/kit/random.js';
import { databaseKinds, type TestDatabase } from './databases.js';
import { itemSource, type Item } from './items.js';
import { Items, inTable, mirrored } from './watched.js';

const item = (id: number, name: string): Item => ({ id, name, amount: '1' });

/** Each row has a name that no other one has; names wander. */
function wander(rows: readonly Item[], random: Random): Item[] {
  const names = new Map(rows.map(({ id, name }) => [id, name]));
  for (let left = random.int(0, 3); left > 0; left -= 1) {
    const id = random.int(1, 6);
    const name = `s${random.int(1, 6)}`;
    const [owner] = [...names].find(([, taken]) => taken === name) ?? [];
    const own = names.get(id);
    if (random.chance(0.3)) names.delete(id);
    else {
      if (owner !== undefined && own !== undefined && random.chance(0.5)) names.set(owner, own);
      else if (owner !== undefined) names.delete(owner);
      names.set(id, name);
    }
  }
  return [...names].map(([id, name]) => item(id, name));
}

describe.each(databaseKinds)('a mirror in $name whose keys go from row to row', ({ open, name: kind }) => {
  const text = kind === 'SQLite' ? 'TEXT' : 'numeric';
  const by = (database: TestDatabase, key: string | undefined, deletedAt = false) =>
    database.mirror<Item>({ table: 'items', ...(key !== undefined && { key: [key] }), deletedAt });
  const byName = (database: TestDatabase) => by(database, 'name');

  test('D5 has the rows of the listing in random worlds, and what is not removed for certain where its key is free', async () => {
    for (let seed = 1; seed <= casesOf(kind === 'SQLite' ? 24 : 6); seed += 1) {
      const random = new Random(`${kind} ${seed}`);
      const database = await open();
      const listing = new Items([]);
      const deletedAt = random.chance(0.4);
      const options = { confirmations: random.int(1, 3), holdAbove: random.chance(0.3) ? 0.2 : 1 };
      const key = random.pick(['name', 'name', 'id', undefined]);
      // Other tables may have names that no two rows have, too.
      const isUnique = key !== 'name' || random.chance(0.5);
      const own = key === undefined ? ['_key text'] : [];
      if (isUnique && !deletedAt)
        await database.query(
          `CREATE TABLE items (${[`id ${text} UNIQUE`, 'name text UNIQUE NOT NULL', `amount ${text}`, ...own].join(', ')})`,
        );
      for (let poll = 1; poll <= 8; poll += 1) {
        const polls = random.int(1, 2);
        await mirrored(listing, by(database, key, deletedAt), {
          ...options,
          acceptRemovals: random.chance(0.5),
          polls,
          onPage: () => void (listing.rows = wander(listing.rows, random)),
        });
        const rows = await database.query(
          `SELECT id, name FROM items${deletedAt ? ' WHERE _deleted_at IS NULL' : ''} ORDER BY id`,
        );
        const here = rows.map(({ id, name }) => `${id} ${name}`);
        const expected = listing.rows.map(({ id, name }) => `${id} ${name}`);
        expect({ seed, poll, missing: expected.filter((row) => !here.includes(row)) }).toEqual({
          seed,
          poll,
          missing: [],
        });
      }
      const last = listing.rows;
      // Then all that is gone goes.
      await mirrored(listing, by(database, key, deletedAt), { ...options, acceptRemovals: true, polls: 4 });
      const where = deletedAt ? ' WHERE _deleted_at IS NULL' : '';
      const rows = await database.query(`SELECT id, name FROM items${where} ORDER BY id`);
      expect({ seed, rows: rows.map(({ id, name }) => `${id} ${name}`) }).toEqual({
        seed,
        rows: last.map(({ id, name }) => `${id} ${name}`).toSorted(),
      });
    }
  });

  test('D5 a new row takes the key of one that is missing, which comes back when it is in the listing with another key', async () => {
    const database = await open();
    const listing = new Items([item(1, 'a'), item(2, 'b')]);
    const poll = async () => {
      await mirrored(listing, byName(database), { confirmations: 3, acceptRemovals: false, polls: 1 });
      return inTable(database);
    };
    await poll();
    listing.rows = [item(2, 'b'), item(3, 'a')];
    expect(await poll()).toEqual(['2 b', '3 a']);
    listing.rows = [item(1, 'a'), item(2, 'b'), item(3, 'c')];
    expect(await poll()).toEqual(['1 a', '2 b', '3 c']);
    listing.rows = [item(2, 'b'), item(4, 'a'), item(3, 'c')];
    expect(await poll()).toEqual(['2 b', '3 c', '4 a']);
    listing.rows = [item(1, 'd'), item(2, 'b'), item(4, 'a'), item(3, 'c')];
    expect(await poll()).toEqual(['1 d', '2 b', '3 c', '4 a']);
    listing.rows = [item(2, 'b'), item(5, 'd'), item(4, 'a'), item(3, 'c')];
    for (let nth = 0; nth < 4; nth += 1) expect(await poll()).toEqual(['2 b', '3 c', '4 a', '5 d']);
  });

  test('D5 the row with a key is changed in place when another row takes the key, so what refers to it stays', async () => {
    const database = await open();
    await database.query(`CREATE TABLE items (id ${text}, name text PRIMARY KEY, amount ${text})`);
    await database.query('CREATE TABLE notes (item text REFERENCES items (name) ON DELETE CASCADE)');
    const listing = new Items([item(1, 'a'), item(2, 'b'), item(3, 'c'), item(4, 'd')]);
    const poll = () => mirrored(listing, byName(database));
    await poll();
    await database.query("INSERT INTO notes VALUES ('a'), ('b'), ('c'), ('d')");
    listing.rows = [item(5, 'a'), item(2, 'c'), item(3, 'b')];
    await poll();
    expect(await inTable(database)).toEqual(['2 c', '3 b', '5 a']);
    expect((await database.query('SELECT item FROM notes')).map((note) => note['item']).sort()).toEqual([
      'a',
      'b',
      'c',
    ]);
  });

  test.each(['text UNIQUE', 'text UNIQUE NOT NULL', 'varchar(4) UNIQUE NOT NULL'])(
    'D3 D5 rows that stay may swap values of which no two may be the same: name %s',
    async (type) => {
      for (const how of ['mirror', 'merge', 'replace'] as const) {
        const database = await open();
        await database.query(`CREATE TABLE items (id ${text} UNIQUE, name ${type}, amount ${text} UNIQUE NOT NULL)`);
        await database.query(`CREATE TABLE notes (item ${text} REFERENCES items (id) ON DELETE CASCADE)`);
        const rows = (names: readonly string[], amounts: readonly string[]): Item[] =>
          names.map((name, nth) => ({ id: nth + 1, name, amount: amounts[nth] ?? '' }));
        const put = (listing: readonly Item[]) =>
          how === 'mirror'
            ? mirrored(new Items(listing), database.mirror<Item>({ table: 'items', key: ['id'] }))
            : exportTo(itemSource([listing]), database.sink<Item>({ table: 'items', mode: how, key: ['id'] }), {
                restart: true,
              }).run();
        await put(rows(['a', 'b', 'c', 'd'], ['1', '2', '3', '4']));
        await database.query("INSERT INTO notes VALUES ('1'), ('2'), ('3'), ('4')");
        await put(rows(['b', 'a', 'd', 'e'], ['4', '1', '2', '3']));
        expect(await database.query('SELECT id, name, amount FROM items ORDER BY id')).toEqual([
          { id: '1', name: 'b', amount: '4' },
          { id: '2', name: 'a', amount: '1' },
          { id: '3', name: 'd', amount: '2' },
          { id: '4', name: 'e', amount: '3' },
        ]);
        expect(await database.query('SELECT item FROM notes')).toHaveLength(4);
      }
    },
  );

  test('D3 D5 rows of other tables follow a swap of the values that they refer to', async () => {
    for (const how of ['mirror', 'merge', 'replace'] as const) {
      const database = await open();
      await database.query(`CREATE TABLE items (id ${text} PRIMARY KEY, name text UNIQUE, amount ${text})`);
      await database.query('CREATE TABLE notes (nth text, item text REFERENCES items (name) ON UPDATE CASCADE)');
      for (const names of ['ab', 'ba']) {
        const rows = Array.from(names, (name, nth) => item(nth + 1, name));
        if (how === 'mirror') await mirrored(new Items(rows), by(database, 'id'));
        else
          await exportTo(itemSource([rows]), database.sink<Item>({ table: 'items', mode: how, key: ['id'] }), {
            restart: true,
          }).run();
        if (names === 'ab') await database.query("INSERT INTO notes VALUES ('1', 'a'), ('2', 'b')");
      }
      expect(await database.query('SELECT nth, item FROM notes ORDER BY nth')).toEqual([
        { nth: '1', item: 'b' },
        { nth: '2', item: 'a' },
      ]);
    }
  });

  const inAll = ['name text NOT NULL', `amount ${text} NOT NULL`];
  interface Swap {
    readonly what: string;
    readonly columns: readonly string[];
    readonly after?: string;
  }
  const swaps: readonly Swap[] = [
    { what: 'one column', columns: ['name text NOT NULL UNIQUE', `amount ${text} NOT NULL`] },
    { what: 'two columns together', columns: [...inAll, 'UNIQUE (amount, name)'] },
    { what: 'a column and the key', columns: [...inAll, 'UNIQUE (id, name)', 'UNIQUE (name, id)'] },
    {
      what: 'one with a column that only the table has',
      columns: [...inAll, 'area text DEFAULT 1 NOT NULL', 'UNIQUE (area, name)'],
    },
    {
      what: 'those of some rows',
      columns: inAll,
      after: "CREATE UNIQUE INDEX few ON items (name) WHERE name > ''",
    },
  ];
  const inPostgres: readonly Swap[] = [
    { what: 'nulls, too', columns: ['name text', `amount ${text}`, 'UNIQUE NULLS NOT DISTINCT (name)'] },
    {
      what: 'deferrable, and of one letter',
      columns: ["name text UNIQUE DEFERRABLE CHECK (name ~ '^.$')", `amount ${text}`],
    },
  ];

  test.each(kind === 'SQLite' ? swaps : [...swaps, ...inPostgres])(
    'D3 D5 rows swap values of which no two may be the same: $what',
    async ({ columns, after }) => {
      for (const how of ['mirror', 'merge', 'replace'] as const) {
        const database = await open();
        await database.query(`CREATE TABLE items (${[`id ${text} PRIMARY KEY`, ...columns].join(', ')})`);
        if (after !== undefined) await database.query(after);
        await database.query(`CREATE TABLE notes (item ${text} REFERENCES items (id) ON DELETE CASCADE)`);
        for (const names of ['abcd', 'badc', 'bcda']) {
          // In two partitions, where the rows have the same numbers.
          const rows = Array.from(names, (name, nth) => item(nth + 1, name));
          const halves = [rows.slice(0, 2), rows.slice(2)];
          if (how === 'mirror') await mirrored(new Items(rows), by(database, 'id'));
          else
            await exportTo(itemSource(halves), database.sink<Item>({ table: 'items', mode: how, key: ['id'] }), {
              restart: true,
            }).run();
          if (names === 'abcd') await database.query("INSERT INTO notes VALUES ('1'), ('2'), ('3'), ('4')");
          expect((await inTable(database, 'name')).join('')).toBe('abcd');
          expect(await inTable(database)).toEqual(rows.map(({ id, name }) => `${id} ${name}`));
        }
        expect(await database.query('SELECT item FROM notes')).toHaveLength(4);
      }
    },
  );

  test.runIf(kind === 'PostgreSQL').each([
    ['negative ones', 'integer', [10, 20, -1, -2], [20, 10, -1, -2]],
    ['ones that get negative', 'integer', [10, 20, 5, 6], [20, 10, -1, -2]],
    ['ones that get the least', 'integer', [10, 20, -1, -2], [20, 10, -4, -3]],
    ['the least of the type', 'smallint', [10, 20, -32768, -2], [20, 10, -32768, -2]],
    [
      'the least of a bigint',
      'bigint',
      ['1', '2', '-9223372036854775808', '3'],
      ['2', '1', '-9223372036854775808', '3'],
    ],
    ['the least of its digits', 'numeric(3,0)', [10, 20, -999, -1], [20, 10, -999, -1]],
    ['all alike', 'numeric', [-1, -2, -3, -4], [-2, -3, -4, -1]],
  ] as const)('D3 D5 rows swap numbers of a column that has others: %s', async (_, type, before, after) => {
    for (const how of ['mirror', 'merge', 'replace'] as const) {
      const database = await open();
      await database.query(`CREATE TABLE items (id numeric PRIMARY KEY, name text, amount ${type} NOT NULL UNIQUE)`);
      for (const amounts of [before, after]) {
        const rows = amounts.map((amount, nth) => ({ id: nth + 1, name: 'x', amount: String(amount) }));
        if (how === 'mirror') await mirrored(new Items(rows), by(database, 'id'));
        else
          await exportTo(itemSource([rows]), database.sink<Item>({ table: 'items', mode: how, key: ['id'] }), {
            restart: true,
          }).run();
        const found = await database.query('SELECT amount FROM items ORDER BY id');
        expect(found.slice(0, 4).map(({ amount }) => amount)).toEqual(amounts.map(String));
        // It is the greatest to the database, and no number.
        if (amounts === before && how === 'merge' && type.startsWith('numeric'))
          await database.query("INSERT INTO items VALUES (9, 'x', 'NaN')");
      }
    }
  });

  test('D5 rows that swap values of a column that takes no others are named, with the way out', async () => {
    for (const how of ['mirror', 'merge', 'replace'] as const) {
      const database = await open();
      const type = how === 'merge' && kind === 'PostgreSQL' ? 'varchar(1)' : "text CHECK (name NOT LIKE '~%')";
      await database.query(
        `CREATE TABLE items (id ${text} PRIMARY KEY, name ${type} NOT NULL, amount ${text}, CONSTRAINT own UNIQUE (name))`,
      );
      const put = (names: string): Promise<unknown> => {
        const rows = Array.from(names, (name, nth) => item(nth + 1, name));
        return how === 'mirror'
          ? mirrored(new Items(rows), by(database, 'id'))
          : exportTo(itemSource([rows]), database.sink<Item>({ table: 'items', mode: how, key: ['id'] }), {
              restart: true,
            }).run();
      };
      await put('abc');
      await expect(put('bac')).rejects.toThrow(
        /^Rows of items swap values of name, .*: "[12]"; "[12]" \(id\)\. Nothing was changed\. To allow it, /,
      );
      expect(await inTable(database)).toEqual(['1 a', '2 b', '3 c']);
      if (kind === 'SQLite') continue;
      await database.query('ALTER TABLE items DROP CONSTRAINT own, ADD UNIQUE (name) DEFERRABLE');
      await put('bac');
      expect(await inTable(database)).toEqual(['1 b', '2 a', '3 c']);
    }
  });

  test.runIf(kind === 'PostgreSQL')('D3 rows may swap points in time if their constraint is DEFERRABLE', async () => {
    const database = await open();
    await database.query(
      'CREATE TABLE items (id numeric PRIMARY KEY, at timestamptz NOT NULL, CONSTRAINT own UNIQUE (at))',
    );
    const put = (...years: readonly number[]) => {
      const rows = years.map((year, nth) => ({ id: nth + 1, at: `${year}-01-01T00:00:00Z` }));
      const schema = { columns: ['id', 'at'], types: { id: 'integer', at: 'timestamp' } } as const;
      const sink = database.sink<object>({ table: 'items', mode: 'merge', key: ['id'] });
      return exportTo(itemSource<object>([rows], {}, schema), sink).run();
    };
    await put(2001, 2002);
    await expect(put(2002, 2001)).rejects.toThrow('swap values of at, of which no two may be the same');
    await database.query('ALTER TABLE items DROP CONSTRAINT own, ADD UNIQUE (at) DEFERRABLE');
    await put(2002, 2001);
    expect(await database.query('SELECT id, extract(year FROM at) AS year FROM items ORDER BY id')).toEqual([
      { id: '1', year: '2002' },
      { id: '2', year: '2001' },
    ]);
  });

  const unique = ['CREATE UNIQUE INDEX own ON items (name)', 'DROP INDEX own'];
  const deferred = [
    'ALTER TABLE items ADD CONSTRAINT own UNIQUE (name) DEFERRABLE',
    'ALTER TABLE items DROP CONSTRAINT own',
  ];
  test.each([
    ['a new row', [item(1, 'a'), item(3, 'b')], unique],
    ['a row that stays', [item(1, 'b')], unique],
    ['a row that comes back', [item(1, 'a'), item(4, 'b')], unique],
    ['a new row (at the end of the transaction)', [item(1, 'a'), item(3, 'b')], kind === 'SQLite' ? unique : deferred],
  ] as const)(
    'D5 %s that has the value of a row that was removed is an error, with the way out',
    async (_, rows, [add = '', drop = '']) => {
      const database = await open();
      await database.query(
        `CREATE TABLE items (id ${text} PRIMARY KEY, name text NOT NULL, _deleted_at ${kind === 'SQLite' ? 'text' : 'timestamptz'}, amount ${text})`,
      );
      await database.query(add);
      const put = (listing: readonly Item[]) => mirrored(new Items(listing), by(database, 'id', true));
      await put([item(1, 'a'), item(2, 'b'), item(4, 'd')]);
      await put([item(1, 'a')]);
      const error: unknown = await put(rows).catch((found: unknown) => found);
      const [, index = ''] =
        /^items can't take .*? Rows that were removed keep .*: (CREATE .*)$/.exec((error as Error).message) ?? [];
      expect(index).toMatch(/"_deleted_at" IS NULL$/);
      expect(await inTable(database)).toEqual(['1 a', '2 b', '4 d']);
      await database.query(drop);
      await database.query(index);
      const live = async (): Promise<string[]> =>
        (await database.query('SELECT id, name FROM items WHERE _deleted_at IS NULL'))
          .map(({ id, name }) => `${id} ${name}`)
          .sort();
      // Then all that is unique there may wander, too.
      for (const listing of [
        rows,
        [item(5, 'a'), item(1, 'b')],
        [item(5, 'b'), item(1, 'a')],
        [item(2, 'a'), item(5, 'b')],
      ]) {
        await put(listing);
        expect(await live()).toEqual(listing.map(({ id, name }) => `${id} ${name}`).sort());
      }
    },
  );

  test.each(['INSERT', 'UPDATE', 'DELETE'] as const)(
    'D5 a trigger that drops an %s is an error, and the table stays at its last generation',
    async (command) => {
      for (const deletedAt of command === 'DELETE' ? [false] : [false, true]) {
        const database = await open();
        const mirror = () => database.mirror<Item>({ table: 'items', key: ['id'], deletedAt });
        const listing = new Items([item(1, 'a'), item(2, 'b'), item(3, 'c')]);
        await mirrored(listing, mirror());
        if (kind === 'SQLite')
          await database.query(
            `CREATE TRIGGER t BEFORE ${command} ON items WHEN ${command === 'INSERT' ? 'NEW' : 'OLD'}.id > '1' BEGIN SELECT RAISE(IGNORE); END`,
          );
        else {
          await database.query('CREATE FUNCTION t() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NULL; END $$');
          await database.query(
            `CREATE TRIGGER t BEFORE ${command} ON items FOR EACH ROW WHEN (${command === 'INSERT' ? 'NEW' : 'OLD'}.id > 1) EXECUTE FUNCTION t()`,
          );
        }
        if (command === 'INSERT') listing.set(item(4, 'd'));
        else if (command === 'DELETE' || deletedAt) listing.remove(3);
        else listing.set(item(2, 'bb'));
        await expect(mirrored(listing, mirror())).rejects.toThrow(/^The table items has \w+ 0 of 1 rows: a trigger/);
        expect(await inTable(database)).toEqual(['1 a', '2 b', '3 c']);
        await database.query(`DROP TRIGGER t${kind === 'SQLite' ? '' : ' ON items'}`);
        await mirrored(listing, mirror());
        expect(await inTable(database)).toEqual(
          [
            ...listing.rows.map(({ id, name }) => `${id} ${name}`),
            ...(deletedAt && command !== 'INSERT' ? ['3 c'] : []),
          ].toSorted(),
        );
      }
    },
  );
});
