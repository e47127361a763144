import { symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { ConfigError, exportTo } from '@sluice/core';
import { describe, expect, test } from 'vitest';
import { forkChild } from '../../core/test/node/forkChild.js';
import { postgresPrograms } from '../../../test/kit/postgresServer.js';
import { temporaryFolder } from '../../../test/kit/temporaryFolder.js';
import { postgres, postgresMirror } from '../src/postgres.js';
import type { TableOptions } from '../src/sqlite.js';
import { openEmptyPostgres, sqliteAt, type TestDatabase } from './databases.js';
import { itemsOf, itemSource, type Item, type ItemsOptions } from './items.js';
import { Items, mirrored } from './watched.js';

const rows = itemsOf([1, 2, 3, 4, 5, 6, 7]);

function into(database: TestDatabase, table: string, options: Partial<TableOptions> & ItemsOptions = {}) {
  const { pageSize = 2, onPage, ...of } = options;
  const source = itemSource([rows], { pageSize, ...(onPage && { onPage }) });
  return exportTo(source, database.sink<Item>({ table, ...of }), { commitEvery: 1 }).run();
}

/** Fails at the third page. */
const failing = {
  onPage(_: number, page: number): void {
    if (page === 2) throw new Error('broken');
  },
};

/** A database in which a table has several names, and these. */
interface Named {
  readonly open: () => Promise<TestDatabase>;
  readonly names: readonly [string, string];
  /** Where the rows are. */
  readonly sql: string;
}

const inSqlite: Named = {
  open: () => Promise.resolve(sqliteAt(join(temporaryFolder(), 'a.sqlite'))),
  names: ['items', 'ITEMS'],
  sql: 'items',
};

/** A database whose unqualified names lead to the schema `own` first. */
async function openWithPath(createSql?: string): Promise<TestDatabase> {
  const database = await openEmptyPostgres();
  await database.query('CREATE SCHEMA own');
  if (createSql !== undefined) await database.query(createSql);
  await database.query(
    "DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET search_path = own, public', current_database()); END $$",
  );
  return database;
}

const inPostgres: Readonly<Record<string, Named>> = {
  'without a path': { open: () => openEmptyPostgres(), names: ['items', 'public.items'], sql: 'public.items' },
  'with a path': { open: () => openWithPath(), names: ['own.items', 'items'], sql: 'own.items' },
  'in a later schema of the path': {
    open: () => openWithPath('CREATE TABLE public.items (id numeric, name text, amount numeric)'),
    names: ['items', 'public.items'],
    sql: 'public.items',
  },
};

describe.each([
  ['SQLite', inSqlite] as const,
  ...(postgresPrograms === undefined
    ? []
    : Object.entries(inPostgres).map(([how, named]) => [`PostgreSQL, ${how},`, named] as const)),
])('one table of %s by two names', (_, { open, names: [first, second], sql }) => {
  test.each([
    [first, second],
    [second, first],
  ])('D2 resumes as %j what was begun as the other', { tags: ['slow'] }, async (begun, resumed) => {
    const database = await open();
    await expect(into(database, begun, failing)).rejects.toThrow('broken');
    expect(await into(database, resumed)).toMatchObject({ rows: 7, resumedRows: 4 });
    expect(await database.query(`SELECT id FROM ${sql}`)).toHaveLength(7);
    expect(await into(database, begun, failing)).toMatchObject({ rows: 7 });
    const begin = (table: string) => database.sink<Item>({ table }).state?.load('checkpoint');
    expect(await begin(begun)).toEqual(await begin(resumed));
  });

  test('D5 mirrors it on', { tags: ['slow'] }, async () => {
    const database = await open();
    const listing = new Items(itemsOf([1, 2]));
    for (const table of [first, second]) {
      await mirrored(listing, database.mirror<Item>({ table, key: ['id'] }));
      listing.remove(1);
    }
    expect(await database.query(`SELECT id FROM ${sql}`)).toEqual([{ id: '2' }]);
  });

  test('D8 refuses a second writer', { tags: ['slow'] }, async () => {
    const database = await open();
    const outcomes: unknown[] = [];
    await into(database, first, {
      async onPage(_, page) {
        if (page !== 1) return;
        const other = forkChild(new URL('children/takeTable.ts', import.meta.url), database.place, second);
        outcomes.push(await other.next());
      },
    });
    expect(outcomes).toEqual(['lock']);
  });
});

test('D8 one table of SQLite has one lock, also if its file has two names', async () => {
  const folder = temporaryFolder();
  const file = sqliteAt(join(folder, 'a.sqlite'));
  symlinkSync(join(folder, 'a.sqlite'), join(folder, 'b.sqlite'));
  const outcomes: unknown[] = [];
  await into(file, 'items', {
    async onPage(_, page) {
      if (page !== 1) return;
      const other = forkChild(new URL('children/takeTable.ts', import.meta.url), join(folder, 'b.sqlite'), 'items');
      outcomes.push(await other.next());
    },
  });
  expect(outcomes).toEqual(['lock']);
});

test.each(['#items', '?schema=other', '?schema=other#items'])(
  'D4 an address that ends with %s is refused, since that would be dropped',
  (end) => {
    expect(() => postgres<Item>({ url: `postgres://me@localhost/db${end}`, table: 'items' })).toThrow(
      /^The url of the database has (a #|a parameter schema), which it does not take: name the table apart/,
    );
  },
);

describe.runIf(postgresPrograms !== undefined)('D4 names of a table of PostgreSQL', () => {
  test.each([
    ['.t', 'has a dot with nothing before or after it. Write TABLE or SCHEMA.TABLE'],
    ['a..b', 'has a dot with nothing before or after it. Write TABLE or SCHEMA.TABLE'],
    ['a.', 'has a dot with nothing before or after it. Write TABLE or SCHEMA.TABLE'],
    ['a.b.c', 'has more than one dot. Write TABLE or SCHEMA.TABLE'],
    [
      'public."T"',
      'is in quotation marks, which would be part of it. Leave them out: names are taken letter by letter',
    ],
    ['public._sluice', "is one of Sluice's own"],
    ['pg_temp.t', 'is in a schema that PostgreSQL keeps for itself'],
  ])('do not include %j', (table, fault) => {
    const url = 'postgres://localhost/x';
    for (const make of [() => postgres({ url, table }), () => postgresMirror({ url, table })])
      expect(make).toThrow(
        new ConfigError(`The table can't be ${JSON.stringify(table)}: its name ${fault}.`, {
          option: 'table',
        }),
      );
  });

  test('lead to a schema whose own name has a dot', { tags: ['slow'] }, async () => {
    const database = await openEmptyPostgres();
    await database.query('CREATE SCHEMA "first.last"');
    await database.query(
      `DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET search_path = "first.last"', current_database()); END $$`,
    );
    expect(await into(database, 'items')).toMatchObject({ rows: 7 });
    expect(await database.query('SELECT id FROM "first.last".items')).toHaveLength(7);
  });
});
