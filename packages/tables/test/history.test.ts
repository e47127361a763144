import { ConfigError, createSource, exportTo, NetworkError, watch } from '@sluice/core';
import { expect, test } from 'vitest';
import { postgresPrograms } from '../../../test/kit/postgresServer.js';
import { SkippingClock } from '../../core/test/rows/watch/skippingClock.js';
import { readHistory } from '../src/postgres.js';
import type { HistoryPoll, MirrorOptions } from '../src/sqlite.js';
import { describeDatabases, openEmptyPostgres, type TestDatabase, type TextRow } from './databases.js';
import { itemSource, type Item } from './items.js';
import { Items, mirrored, msOf, type WatchOf } from './watched.js';

const item = (id: number, name: string): Item => ({ id, name, amount: '9007199254740993' });

describeDatabases('a history in $name', ({ open, name: kind }) => {
  const poll = (
    database: TestDatabase,
    listing: Items,
    {
      columns,
      keyColumns: key = ['id'],
      ...watching
    }: WatchOf & Pick<Partial<MirrorOptions>, 'columns'> & { readonly keyColumns?: readonly string[] } = {},
  ) => mirrored(listing, database.mirror<Item>({ table: 'items', mode: 'history', key, columns }), watching);
  /** All versions in short: `1 a 1-2 changed` of a row that was a from the first generation to the second. */
  const versions = async (database: TestDatabase): Promise<string[]> => {
    const rows = await database.query(
      'SELECT v.id AS id, v.name, v._generation AS began, p.generation AS until, v._ended AS ended FROM items v LEFT JOIN items_polls p ON p.at = v._valid_to ORDER BY v.id, v._generation',
    );
    return rows.map(({ id, name, began, until, ended }) =>
      `${id} ${name} ${began}-${until ?? ''} ${ended ?? ''}`.trim(),
    );
  };

  test('D9 has each version of a row: from when, until when, and how it ended', async () => {
    const database = await open();
    const listing = new Items([item(1, 'a'), item(2, 'b')]);
    await poll(database, listing);
    listing.set(item(2, 'bb'), item(3, 'c'));
    await poll(database, listing);
    listing.remove(1);
    await poll(database, listing);
    listing.set(item(1, 'a'), item(2, 'b'));
    await poll(database, listing);
    expect(await versions(database)).toEqual([
      '1 a 1-3 removed',
      '1 a 4-',
      '2 b 1-2 changed',
      '2 bb 2-4 changed',
      '2 b 4-',
      '3 c 2-',
    ]);
    expect(await database.query('SELECT id, name FROM items_now ORDER BY id')).toMatchObject([
      { id: '1', name: 'a' },
      { id: '2', name: 'b' },
      { id: '3', name: 'c' },
    ]);
  });

  test('D9 has a row for each poll that succeeded, also if it changed nothing, and says which were incomplete', async () => {
    const database = await open();
    const clock = new SkippingClock();
    let poll = 0;
    const source = createSource<Item>({
      name: 'items',
      identity: null,
      schema: { columns: ['id', 'name', 'amount'], key: ({ id }) => id },
      fetch() {
        poll += 1;
        if (poll === 3) return Promise.reject(new NetworkError('The API is gone.'));
        const rows = poll < 4 ? [item(1, 'a'), item(2, 'b')] : [item(1, 'aa')];
        return Promise.resolve({ rows, next: 'end', ...(poll === 4 && { isIncomplete: true as const }) });
      },
    });
    const sink = database.mirror<Item>({ table: 'items', mode: 'history', key: ['id'] });
    const options = { every: 60_000, clock, polls: 5, confirmations: 1, acceptRemovals: true, state: sink.state };
    await exportTo(watch(source, options), sink).run();
    const polls = await database.query('SELECT generation, at, complete FROM items_polls ORDER BY generation');
    const began = msOf(polls[0]?.['at']);
    expect(
      polls.map(({ generation, at, complete }) => [generation, msOf(at) - began, /^[1t]/.test(complete ?? '')]),
    ).toEqual([
      ['1', 0, true],
      ['2', 60_000, true],
      // The third one failed, so there is a gap.
      ['3', expect.any(Number), false],
      ['4', expect.any(Number), true],
    ]);
    expect(msOf(polls[2]?.['at']) - began).toBeGreaterThan(119_999);
    expect(await versions(database)).toEqual(['1 a 1-3 changed', '1 aa 3-', '2 b 1-4 removed']);
  });

  test('D9 begun again, ends nothing that an incomplete poll, or one that is short of its total, lacks', async () => {
    const database = await open();
    const rows = [item(1, 'a'), item(2, 'b')];
    await poll(database, new Items(rows));
    const sink = () => database.mirror<Item>({ table: 'items', mode: 'history', key: ['id'] });
    const begin = (page: { readonly isIncomplete?: true; readonly total?: number }, restart: boolean) => {
      const mirror = sink();
      const source = createSource<Item>({
        name: 'items',
        identity: null,
        schema: {
          columns: ['id', 'name', 'amount'],
          types: { id: 'integer', amount: 'integer' },
          key: ({ id }) => id,
        },
        fetch: () => Promise.resolve({ rows: rows.slice(0, 1), next: 'end', ...page }),
      });
      const clock = new SkippingClock();
      const watched = watch(source, { every: 1_000, clock, polls: 1, confirmations: 1, state: mirror.state });
      return exportTo(watched, mirror, { restart }).run();
    };
    await begin({ total: 2 }, false);
    const polls = await database.query('SELECT complete FROM items_polls ORDER BY generation');
    expect(polls.map(({ complete }) => /^[1t]/.test(complete ?? ''))).toEqual([true, false]);
    for (const page of [{ isIncomplete: true }, { total: 2 }] as const)
      await expect(begin(page, true)).rejects.toThrow(
        'does not tell which rows of items have been removed. Nothing was written.',
      );
    expect(await versions(database)).toEqual(['1 a 1-', '2 b 1-']);
    await begin({}, true);
    expect(await versions(database)).toEqual(['1 a 1-', '2 b 1-3 removed']);
  });

  test('D9 refuses another key than its versions have', { tags: ['slow'] }, async () => {
    const database = await open();
    await poll(database, new Items([item(1, 'a')]));
    for (const restart of [false, true])
      await expect(poll(database, new Items([item(1, 'a')]), { keyColumns: ['id', 'name'], restart })).rejects.toThrow(
        restart ? 'told apart by id, and not by id, name' : 'different settings (key)',
      );
    expect(await versions(database)).toEqual(['1 a 1-']);
    const exported = (key: readonly string[]) =>
      exportTo(itemSource([[item(1, 'a')]]), database.sink<Item>({ table: 'nights', mode: 'history', key })).run();
    await exported(['id', 'name']);
    await expect(exported(['id'])).rejects.toThrow('told apart by id, name, and not by id');
  });

  test('D9 no version ends before it begins, whatever the clock does', async () => {
    const database = await open();
    const clock = new SkippingClock();
    const listing = new Items([item(1, 'a')]);
    await poll(database, listing, { clock });
    for (const name of ['b', 'c', 'd']) {
      clock.offset -= 3_600_000;
      listing.set(item(1, name));
      await poll(database, listing, { clock });
    }
    const times = (await database.query('SELECT _valid_from, _valid_to FROM items ORDER BY _generation')).map(
      ({ _valid_from: from, _valid_to: to }) => [msOf(from), to === null ? undefined : msOf(to)],
    );
    const [start = 0] = times[0] ?? [];
    expect(times).toEqual([
      [start, start + 1],
      [start + 1, start + 2],
      [start + 2, start + 3],
      [start + 3, undefined],
    ]);
    expect(start).toBe(Date.UTC(2030, 0, 1));
  });

  test('D9 goes on when it starts over: only rows that differ get a version, and rows that are gone end', async () => {
    const database = await open();
    const listing = new Items([item(1, 'a'), item(2, 'b'), item(3, 'c')]);
    await poll(database, listing);
    listing.set(item(2, 'bb'), item(4, 'd'));
    listing.remove(3);
    await poll(database, listing, { restart: true });
    await poll(database, listing);
    expect(await versions(database)).toEqual(['1 a 1-', '2 b 1-2 changed', '2 bb 2-', '3 c 1-2 removed', '4 d 2-']);
    expect(await database.query('SELECT generation FROM items_polls ORDER BY generation')).toHaveLength(3);
  });

  test('D9 writes no version if no column of the table changed, and none for a hundred unchanged rows', async () => {
    const database = await open();
    const listing = new Items(Array.from({ length: 100 }, (_, id) => item(id, 'same')));
    const columns = ['id', 'name'];
    await poll(database, listing, { columns });
    listing.set({ ...item(5, 'same'), amount: '7' });
    await poll(database, listing, { columns });
    for (const name of ['down', 'up', 'down']) {
      listing.set(item(6, name));
      await poll(database, listing, { columns });
    }
    const [found] = await database.query('SELECT count(*) AS rows, max(_generation) AS last FROM items');
    expect(found).toEqual({ rows: '103', last: '5' });
  });

  test('D9 an ignored column is written with the next version', async () => {
    const database = await open();
    const listing = new Items([item(1, 'a')]);
    await poll(database, listing, { ignore: ['amount'] });
    listing.set({ ...item(1, 'a'), amount: '7' });
    await poll(database, listing, { ignore: ['amount'] });
    listing.set({ ...item(1, 'b'), amount: '8' });
    await poll(database, listing, { ignore: ['amount'] });
    const found = await database.query('SELECT name, amount FROM items ORDER BY _generation');
    expect(found.map(({ name, amount }) => `${name} ${amount}`)).toEqual(['a 9007199254740993', 'b 8']);
  });

  test(
    'D9 begun again, compares only the columns of the table that the watch compares',
    { tags: ['slow'] },
    async () => {
      const ignoring: WatchOf[] = [{ ignore: ['amount'] }, { project: ['name.first', 'name'] }];
      for (const watching of ignoring) {
        const database = await open();
        const listing = new Items([item(1, 'a'), item(2, 'b')]);
        await poll(database, listing, watching);
        listing.set({ ...item(1, 'a'), amount: '7' }, { ...item(2, 'bb'), amount: '7' });
        await poll(database, listing, { ...watching, restart: true });
        await poll(database, listing, watching);
        expect(await versions(database)).toEqual(['1 a 1-', '2 b 1-2 changed', '2 bb 2-']);
      }
      const database = await open();
      const listing = new Items([item(1, 'a')]);
      const watching = { ignore: ['amount'], columns: ['id', 'amount'] };
      await poll(database, listing, watching);
      listing.set({ ...item(1, 'b'), amount: '7' });
      await poll(database, listing, watching);
      expect(await database.query('SELECT amount FROM items')).toEqual([{ amount: '9007199254740993' }]);
    },
  );

  test('D9 writes no version for values that are equal in another notation', { tags: ['slow'] }, async () => {
    const database = await open();
    const notations = [
      { at: '2030-01-31T00:00:00Z', ratio: '1.5', more: { b: [{ d: 1, c: 2 }], a: 'x' }, note: { b: 1, a: 2 } },
      { at: '2030-01-31T00:00:00.000Z', ratio: '1.50', more: { a: 'x', b: [{ c: 2, d: 1 }] }, note: { a: 2, b: 1 } },
      {
        at: '2030-01-31T02:00:00.000000+02:00',
        ratio: 1.5,
        more: { a: 'x', b: [{ c: 2, d: 1 }] },
        note: { b: 1, a: 2 },
      },
      { at: '2030-01-31T00:00:00.000001Z', ratio: 1.5, more: { a: 'x', b: [{ d: 1, c: 2 }] }, note: { a: 2, b: 1 } },
    ] as const;
    type Noted = (typeof notations)[number];
    const source = (row: Noted) =>
      createSource<Noted>({
        name: 'items',
        identity: null,
        schema: {
          columns: ['at', 'ratio', 'more', 'note'],
          types: { at: 'timestamp', ratio: 'number', more: 'json' },
          key: () => 1,
        },
        fetch: () => Promise.resolve({ rows: [row], next: 'end' }),
      });
    const polled = (row: Noted, restart = false) => {
      const mirror = database.mirror<Noted>({ table: 'items', mode: 'history' });
      const watched = watch(source(row), { every: 1_000, polls: 1, confirmations: 1, state: mirror.state });
      return exportTo(watched, mirror, { restart }).run();
    };
    const exported = (row: Noted) =>
      exportTo(source(row), database.sink<Noted>({ table: 'nights', mode: 'history' })).run();
    const count = async (table: string) => (await database.query(`SELECT 1 FROM ${table}`)).length;
    for (const [nth, row] of notations.entries()) {
      await polled(row);
      for (const again of notations.slice(0, nth === 3 ? 0 : 3)) await polled(again, true);
      await exported(row);
      expect([await count('items'), await count('nights')]).toEqual(nth < 3 ? [1, 1] : [2, 2]);
    }
  });

  test('D9 rows that swap their keys get a version each, and without key columns the key is the watch’s', async () => {
    const database = await open();
    const listing = new Items([item(1, 'a'), item(2, 'b'), item(3, 'c')]);
    await poll(database, listing, { keyColumns: ['name'] });
    listing.set(item(1, 'b'), item(2, 'a'), item(3, 'cc'));
    await poll(database, listing, { keyColumns: ['name'] });
    expect(await versions(database)).toEqual([
      '1 a 1-2 changed',
      '1 b 2-',
      '2 b 1-2 changed',
      '2 a 2-',
      '3 c 1-2 removed',
      '3 cc 2-',
    ]);
    const other = await open();
    const keyed = other.mirror<Item>({ table: 'items', mode: 'history' });
    await mirrored(listing, keyed);
    listing.set(item(3, 'c'));
    await mirrored(listing, keyed);
    expect((await other.query('SELECT _key FROM items_now')).map(({ _key }) => _key).sort()).toEqual(['1', '2', '3']);
  });

  test('D9 a history is not overwritten by a mirror or an export, nor a mirror by a history', async () => {
    const database = await open();
    const listing = new Items([item(1, 'a')]);
    await poll(database, listing);
    const asMirror = database.mirror<Item>({ table: 'items', key: ['id'] });
    await expect(mirrored(listing, asMirror, { restart: true })).rejects.toThrow(
      /items is a history, and can't become/,
    );
    for (const mode of ['append', 'merge', 'replace'] as const) {
      const sink = database.sink<Item>({ table: 'items', mode, ...(mode !== 'append' && { key: ['id'] }) });
      const exporting = exportTo(itemSource([[item(2, 'b')]]), sink, { restart: true }).run();
      await expect(exporting).rejects.toThrow(/_valid_from must not be null, and the rows lack it/);
    }
    expect(await versions(database)).toEqual(['1 a 1-']);
    const plain = database.mirror<Item>({ table: 'plain', key: ['id'] });
    await mirrored(listing, plain);
    const history = database.mirror<Item>({ table: 'plain', mode: 'history', key: ['id'] });
    await expect(mirrored(listing, history, { restart: true })).rejects.toThrow(/plain is a mirror, and can't become/);
    expect(() => database.mirror<Item>({ table: 'items', mode: 'history', deletedAt: true })).toThrow(ConfigError);
  });

  test(
    'D9 refuses what has the name of its polls, its view or its function, and leaves it as it was',
    { tags: ['slow'] },
    async () => {
      const database = await open();
      await database.query('CREATE TABLE mine (id text, generation integer, at text, complete text)');
      const own = [
        ['items_polls', 'CREATE TABLE items_polls (question text)', 'DROP TABLE items_polls'],
        [
          'items_polls',
          'CREATE VIEW items_polls AS SELECT generation, at, complete FROM mine',
          'DROP VIEW items_polls',
        ],
        ['items_now', 'CREATE TABLE items_now (id text)', 'DROP TABLE items_now'],
        ['items_now', 'CREATE VIEW items_now AS SELECT id FROM mine', 'DROP VIEW items_now'],
        ...(kind === 'SQLite'
          ? []
          : [
              [
                'items_at',
                "CREATE FUNCTION items_at(timestamptz) RETURNS text LANGUAGE sql AS 'SELECT NULL'",
                'DROP FUNCTION items_at(timestamptz)',
              ],
            ]),
      ];
      const exported = () =>
        exportTo(itemSource([[item(1, 'a')]]), database.sink<Item>({ table: 'items', mode: 'history' })).run();
      for (const [name = '', create = '', drop = ''] of own) {
        await database.query(create);
        const refused = new RegExp(`${name}\\S* is there already, and is not of the history in items`);
        await expect(poll(database, new Items([]))).rejects.toThrow(refused);
        await expect(exported()).rejects.toThrow(refused);
        await database.query(drop);
      }
      await poll(database, new Items([item(1, 'a')]));
      await database.query('DROP VIEW items_now');
      await database.query('CREATE TABLE items_now (id text)');
      await expect(poll(database, new Items([]))).rejects.toThrow(/items_now is there already/);
      await database.query('DROP TABLE items_now');
      await database.query('CREATE VIEW items_now AS SELECT id FROM items');
      await poll(database, new Items([item(2, 'b')]));
      expect(await database.query('SELECT * FROM items_now ORDER BY id')).toEqual([{ id: '1' }, { id: '2' }]);
    },
  );

  test('D9 refuses a table that can’t have several versions of a row, or takes different keys for the same', async () => {
    const database = await open();
    const columns = (key: string): string => {
      const [time, generation] = kind === 'SQLite' ? ['text', 'integer'] : ['timestamptz', 'bigint'];
      return `(${key}, name text, amount text, _valid_from ${time}, _valid_to ${time}, _ended text, _generation ${generation})`;
    };
    const unique = /items lets no two rows have the same (id|name), and a history has several versions of a row/;
    const loose = /items may take different texts in id for the same key, by its .+ Make that column text COLLATE/;
    const ways: [string, RegExp][] = [
      [columns('id text PRIMARY KEY'), unique],
      [columns('id text').replace('name text', 'name text UNIQUE'), unique],
    ];
    if (kind === 'SQLite') ways.push([columns('id text COLLATE NOCASE'), loose]);
    else {
      await database.query(
        "CREATE COLLATION loose (provider = icu, locale = 'und-u-ks-level2', deterministic = false)",
      );
      ways.push([columns('id text COLLATE loose'), loose]);
    }
    for (const [definition, refused] of ways) {
      await database.query(`CREATE TABLE items ${definition}`);
      await expect(poll(database, new Items([item(1, 'a')]))).rejects.toThrow(refused);
      const sink = database.sink<Item>({ table: 'items', mode: 'history', key: ['id'] });
      await expect(exportTo(itemSource([[item(1, 'a')]]), sink).run()).rejects.toThrow(refused);
      await database.query('DROP TABLE items');
    }
    await database.query(`CREATE TABLE items ${columns('ID text')}`.replace('ID', kind === 'SQLite' ? 'ID' : 'id'));
    await database.query('CREATE UNIQUE INDEX one_name ON items (name) WHERE _valid_to IS NULL');
    const listing = new Items([item(1, 'a')]);
    for (const name of ['a', 'b']) {
      listing.set(item(1, name));
      await poll(database, listing);
    }
    expect(await versions(database)).toEqual(['1 a 1-2 changed', '1 b 2-']);
  });

  test('D9 writes a version for another text that the table’s own collation takes for the same', async () => {
    const database = await open();
    const [time, generation] = kind === 'SQLite' ? ['text', 'integer'] : ['timestamptz', 'bigint'];
    const collation = kind === 'SQLite' ? 'NOCASE' : 'loose';
    if (kind === 'PostgreSQL')
      await database.query(
        "CREATE COLLATION loose (provider = icu, locale = 'und-u-ks-level2', deterministic = false)",
      );
    for (const table of ['items', 'nights'])
      await database.query(
        `CREATE TABLE ${table} (id text, name text COLLATE ${collation}, amount text, _valid_from ${time}, _valid_to ${time}, _ended text, _generation ${generation})`,
      );
    for (const name of ['a', 'A']) {
      await poll(database, new Items([item(1, name)]), { restart: name === 'A' });
      const sink = database.sink<Item>({ table: 'nights', mode: 'history', key: ['id'] });
      await exportTo(itemSource([[item(1, name)]]), sink).run();
    }
    expect(await versions(database)).toEqual(['1 a 1-2 changed', '1 A 2-']);
    expect(await database.query('SELECT name FROM nights ORDER BY _generation')).toEqual([
      { name: 'a' },
      { name: 'A' },
    ]);
  });

  test('D9 says that its polls are gone, and goes on when it starts over', async () => {
    const database = await open();
    const listing = new Items([item(1, 'a')]);
    await poll(database, listing);
    await database.query('DROP TABLE items_polls');
    await expect(poll(database, listing)).rejects.toThrow('The table of the polls of items is gone.');
    listing.set(item(1, 'b'));
    await poll(database, listing, { restart: true });
    expect(await database.query('SELECT name, _generation FROM items ORDER BY 2')).toEqual([
      { name: 'a', _generation: '1' },
      { name: 'b', _generation: '2' },
    ]);
    expect(await database.query('SELECT generation FROM items_polls')).toEqual([{ generation: '2' }]);
  });

  test('D9 goes on with a table that got another column, and so do its view and its function', async () => {
    const database = await open();
    const watched = (columns: readonly string[]) => {
      const source = createSource<Item>({
        name: 'items',
        identity: null,
        schema: { columns, key: ({ id }) => id },
        fetch: () => Promise.resolve({ rows: [item(1, 'a')], next: 'end' }),
      });
      const mirror = database.mirror<Item>({ table: 'items', mode: 'history', key: ['id'] });
      return exportTo(watch(source, { every: 1_000, polls: 1, confirmations: 1, state: mirror.state }), mirror).run();
    };
    await watched(['id']);
    await expect(watched(['id', 'name'])).rejects.toThrow('name is missing');
    await database.query('ALTER TABLE items ADD COLUMN name text');
    await watched(['id', 'name']);
    const views = ['items_now', ...(kind === 'SQLite' ? [] : ['items_at(now())'])];
    for (const view of views)
      expect(await database.query(`SELECT * FROM ${view}`)).toMatchObject([{ id: '1', _generation: '1', name: null }]);
  });

  test('D9 ends with an error if a trigger drops a version, and changes nothing then', async () => {
    const database = await open();
    const listing = new Items([item(1, 'a'), item(2, 'b')]);
    await poll(database, listing);
    const trigger =
      kind === 'SQLite'
        ? ["CREATE TRIGGER t BEFORE INSERT ON items WHEN new.name = 'bb' BEGIN SELECT raise(IGNORE); END"]
        : [
            "CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN IF new.name = ''bb'' THEN RETURN NULL; END IF; RETURN new; END'",
            'CREATE TRIGGER t BEFORE INSERT ON items FOR EACH ROW EXECUTE FUNCTION f()',
          ];
    for (const statement of trigger) await database.query(statement);
    listing.set(item(1, 'aa'), item(2, 'bb'));
    await expect(poll(database, listing)).rejects.toThrow(/has added 1 of 2 rows|a clause of its own/);
    expect(await versions(database)).toEqual(['1 a 1-', '2 b 1-']);
    await expect(poll(database, listing, { restart: true })).rejects.toThrow(/Nothing was changed/);
    expect(await versions(database)).toEqual(['1 a 1-', '2 b 1-']);
  });

  test(
    'D9 is compacted: versions that ended before a time go, and what is left has every time since',
    { tags: ['slow'] },
    async () => {
      const database = await open();
      const clock = new SkippingClock();
      const day = 86_400_000;
      const listing = new Items([]);
      const served: [at: number, names: string[]][] = [];
      clock.offset = Date.now() - 100 * day - clock.now();
      for (let nth = 0; nth < 10; nth += 1) {
        listing.set(item(1, `a${nth}`), item(nth + 2, 'b'));
        if (nth > 2) listing.remove(nth);
        await poll(database, listing, { clock });
        served.push([clock.now(), listing.rows.map(({ id, name }) => `${id} ${name}`).sort()]);
        clock.time += 10 * day;
      }
      const signal = AbortSignal.timeout(60_000);
      const compact = (keep: number) => database.compact({ table: 'items', keep: keep * day, signal });
      expect(await compact(1_000)).toEqual({ removed: 0 });
      // Between the polls of 60 and of 50 days ago.
      const [before] = await database.query('SELECT count(*) AS rows FROM items');
      const { removed, firstPoll } = await compact(55);
      expect(firstPoll).toBe(5);
      const versions = await database.query('SELECT id, name, _valid_from, _valid_to FROM items');
      expect(versions).toHaveLength(Number(before?.['rows']) - removed);
      expect(removed).toBe(6);
      const polls = await database.query('SELECT generation, at FROM items_polls ORDER BY generation');
      expect(polls.map(({ generation }) => Number(generation))).toEqual([5, 6, 7, 8, 9, 10]);
      for (const [nth, { at }] of polls.entries()) {
        const isThen = ({ _valid_from: from, _valid_to: to }: TextRow) =>
          msOf(from) <= msOf(at) && (to === null || msOf(to) > msOf(at));
        const names = versions.filter(isThen).map(({ id, name }) => `${id} ${name}`);
        expect([msOf(at), names.sort()]).toEqual(served[nth + 4]);
      }
      const [begun, names] = served[4] ?? [];
      const initial = async (since: number): Promise<string[]> => {
        const found: string[] = [];
        await database.readHistory('items', async (history) => {
          for await (const { type, observedAt, after } of history.changes({ since: new Date(since).toISOString() }))
            if (type === 'initial' && Date.parse(observedAt) === begun)
              found.push(`${after?.['id']} ${after?.['name']}`);
        });
        return found.sort();
      };
      // Some of these rows have been so for longer, and some only since then.
      expect(await initial(Number(begun))).toEqual(names);
      expect(await initial(Number(begun) + 1)).toEqual([]);
      expect(await compact(55)).toEqual({ removed: 0, firstPoll: 5 });
      await poll(database, listing, { clock });
      expect(await database.query('SELECT max(generation) AS last FROM items_polls')).toEqual([{ last: '11' }]);
      expect(await compact(Infinity)).toEqual({ removed: 0 });
      for (const keep of [0, -1, NaN])
        await expect(compact(keep)).rejects.toThrow(/^keep is .*: it must be more than 0 ms/);
      const other = database.compact({ table: '_sluice', keep: day, signal });
      await expect(other).rejects.toThrow(/The table _sluice is not a history/);
    },
  );

  test('D9 compaction that was interrupted goes on, while a watch writes', { tags: ['slow'] }, async () => {
    const database = await open();
    const clock = new SkippingClock();
    const day = 86_400_000;
    const ids = Array.from({ length: 6_000 }, (_, id) => id);
    clock.offset = Date.now() - 100 * day - clock.now();
    const listing = new Items(ids.map((id) => item(id, 'a')));
    await poll(database, listing, { clock });
    clock.time += day;
    listing.rows = ids.map((id) => item(id, 'b'));
    await poll(database, listing, { clock });
    const stop = new AbortController();
    const compact = (signal: AbortSignal, onProgress?: (removed: number) => void) =>
      database.compact({ table: 'items', keep: day, signal, onProgress });
    let polled: Promise<unknown> | undefined;
    const interrupted = compact(stop.signal, () => {
      listing.set(item(1, 'c'));
      polled ??= poll(database, listing, { clock });
      stop.abort(new Error('Stopped.'));
    });
    await expect(interrupted).rejects.toThrow('Stopped.');
    await polled;
    expect(await database.query('SELECT count(*) AS rows FROM items')).toEqual([{ rows: '7001' }]);
    const reports: number[] = [];
    await compact(AbortSignal.timeout(60_000), (removed) => reports.push(removed));
    expect(reports).toEqual([1_001]);
    expect(await database.query('SELECT count(*) AS rows FROM items')).toEqual([{ rows: '6000' }]);
  });
});

test.runIf(postgresPrograms !== undefined)(
  'D9 in PostgreSQL, compaction of a partitioned table removes only versions that ended',
  { tags: ['slow'] },
  async () => {
    const database = await openEmptyPostgres();
    await database.query(
      'CREATE TABLE items (id numeric, name text, amount text, _valid_from timestamptz NOT NULL, _valid_to timestamptz, _ended text, _generation bigint NOT NULL) PARTITION BY HASH (id)',
    );
    for (const nth of [0, 1])
      await database.query(
        `CREATE TABLE items_${nth} PARTITION OF items FOR VALUES WITH (MODULUS 2, REMAINDER ${nth})`,
      );
    const clock = new SkippingClock();
    const day = 86_400_000;
    clock.offset = Date.now() - 100 * day - clock.now();
    const ids = Array.from({ length: 20 }, (_, id) => id);
    const listing = new Items([]);
    for (const name of ['a', 'b', 'c']) {
      listing.rows = ids.map((id) => item(id, name));
      await mirrored(listing, database.mirror<Item>({ table: 'items', mode: 'history', key: ['id'] }), { clock });
      clock.time += 10 * day;
    }
    const signal = AbortSignal.timeout(60_000);
    expect(await database.compact({ table: 'items', keep: 85 * day, signal })).toEqual({ removed: 20, firstPoll: 2 });
    expect(await database.query('SELECT name, count(*) AS rows FROM items GROUP BY name ORDER BY name')).toEqual([
      { name: 'b', rows: '20' },
      { name: 'c', rows: '20' },
    ]);
  },
);

test.runIf(postgresPrograms !== undefined)(
  'D9 in PostgreSQL, a function has the rows of a time, and refuses one before the history',
  { tags: ['slow'] },
  async () => {
    const database = await openEmptyPostgres();
    const clock = new SkippingClock();
    const listing = new Items([item(1, 'a')]);
    const sink = database.mirror<Item>({ table: 'items', mode: 'history', key: ['id'] });
    await mirrored(listing, sink, { clock });
    clock.time += 60_000;
    listing.set(item(1, 'b'), item(2, 'c'));
    await mirrored(listing, sink, { clock });
    const at = async (time: string) =>
      (await database.query(`SELECT name FROM items_at('${time}') ORDER BY id`)).map(({ name }) => name);
    expect(await at('2030-01-01T00:00:59Z')).toEqual(['a']);
    expect(await at('2030-01-01T00:01:00Z')).toEqual(['b', 'c']);
    await expect(at('2029-12-31T23:59:59Z')).rejects.toThrow(/The history of items begins at 2030-01-01 00:00:00/);
    await expect(database.query('SELECT * FROM items_at(NULL)')).rejects.toThrow(/does not know the rows of <NULL>/);
  },
);

test.runIf(postgresPrograms !== undefined)(
  'D9 in PostgreSQL, a reader sees the history as it was when it began to read',
  { tags: ['slow'] },
  async () => {
    const database = await openEmptyPostgres();
    const listing = new Items([item(1, 'a')]);
    const sink = database.mirror<Item>({ table: 'items', mode: 'history', key: ['id'] });
    await mirrored(listing, sink);
    const seen = await readHistory(
      { url: database.place, table: 'items', signal: AbortSignal.timeout(60_000) },
      async (history) => {
        const polls: HistoryPoll[] = [];
        for await (const poll of history.polls()) polls.push(poll);
        listing.set(item(1, 'b'));
        await mirrored(listing, sink);
        const names: unknown[] = [];
        for await (const { row } of history.versions()) names.push(row['name']);
        return { polls: polls.length, names };
      },
    );
    expect(seen).toEqual({ polls: 1, names: ['a'] });
  },
);
