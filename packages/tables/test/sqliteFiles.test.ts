import {
  copyFileSync,
  linkSync,
  mkdirSync,
  readdirSync,
  renameSync,
  statSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { execFileSync } from 'node:child_process';
import { dirname, join } from 'node:path';
import { DatabaseSync } from '@photostructure/sqlite';
import { exportTo } from '@sluice/core';
import { expect, test } from 'vitest';
import { temporaryFolder } from '../../../test/kit/temporaryFolder.js';
import { sqlite, type TableOptions } from '../src/sqlite.js';
import { sqliteAt } from './databases.js';
import { itemsOf, itemSource, type Item } from './items.js';

const failed = (path: string) =>
  exportTo(itemSource([itemsOf([1])]), sqlite<Item>({ path, table: 'items' }))
    .run()
    .then(
      () => 'written',
      (error: unknown) => String(error),
    );

test('D4 a file that can be no database of SQLite is explained, and not changed', async () => {
  const folder = temporaryFolder();
  const at = (name: string): string => join(folder, name);
  mkdirSync(at('folder'));
  writeFileSync(at('rows.csv'), 'id,name\n'.repeat(1_000));
  expect(await failed(at('rows.csv'))).toBe(
    `SinkError: ${at('rows.csv')} can't be written: it is not a database of SQLite. Name another file.`,
  );
  for (const [name, why] of [
    ['folder', 'it is a folder. Give the name of a file.'],
    ['nowhere/x.sqlite', `the folder ${at('nowhere')} does not exist. Create it, or give another path.`],
  ] as const)
    expect(await failed(at(name))).toBe(`SinkError: ${at(name)} can't be written: ${why}`);
});

test('what can be no database of SQLite is explained to who only reads its checkpoint', async () => {
  const path = join(temporaryFolder(), 'folder');
  mkdirSync(path);
  await expect(sqlite<Item>({ path, table: 'items' }).state.load('checkpoint')).rejects.toMatchObject({
    code: 'sink',
    message: expect.stringContaining(`${path} can't be read: `),
  });
});

test('a file that another program keeps for itself is waited for', async () => {
  const path = join(temporaryFolder(), 'a.sqlite');
  const other = new DatabaseSync(path);
  other.exec('PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE; CREATE TABLE others (id)');
  const writing = failed(path);
  const reading = sqlite<Item>({ path, table: 'items' }).state.load('checkpoint');
  setTimeout(() => {
    other.exec('ROLLBACK');
    other.close();
  }, 50);
  expect(await reading).toBeUndefined();
  expect(await writing).toBe('written');
});

test('a table may have a name that is longer than that of a file', async () => {
  const path = join(temporaryFolder(), 'a.sqlite');
  const table = '漢'.repeat(200);
  const { rows } = await exportTo(itemSource([itemsOf([1])]), sqlite<Item>({ path, table })).run();
  expect(rows).toBe(1);
});

test('two tables with long names that begin alike can be written at once', async () => {
  const path = join(temporaryFolder(), 'a.sqlite');
  const sinks = ['1', '2'].map((end) => sqlite<Item>({ path, table: '漢'.repeat(200) + end }));
  const runs = sinks.map((sink) => exportTo(itemSource([itemsOf([1])]), sink).run());
  expect((await Promise.all(runs)).map(({ rows }) => rows)).toEqual([1, 1]);
});

test('D8 the lock of a table is the same for all names that SQLite takes for the same', async () => {
  const folder = temporaryFolder();
  const held: string[] = [];
  const source = itemSource([itemsOf([1])], { onPage: () => void held.push(...readdirSync(folder)) });
  await exportTo(source, sqlite<Item>({ path: join(folder, 'a.sqlite'), table: 'ITEMS' })).run();
  expect(held).toContain('a.sqlite-items.sluice');
});

/** Moves what is at a path away. */
const away = (path: string): void => renameSync(path, `${path}.away`);

test.each<[what: string, disturb: (path: string) => void, said: string]>([
  ['is removed', (path) => unlinkSync(path), 'a.sqlite was moved or removed'],
  ['is renamed', away, 'a.sqlite was moved or removed'],
  ['is replaced by another one', (path) => (away(path), writeFileSync(path, '')), 'a.sqlite was replaced'],
  ['is replaced by a copy', (path) => (away(path), copyFileSync(`${path}.away`, path)), 'a.sqlite was replaced'],
  ['loses its folder', (path) => away(dirname(path)), 'a.sqlite was moved or removed'],
  [
    'gets another folder',
    (path) => (away(dirname(path)), mkdirSync(dirname(path)), writeFileSync(path, '')),
    'a.sqlite was replaced',
  ],
  ['loses its WAL', (path) => unlinkSync(`${path}-wal`), 'a.sqlite-wal was moved or removed'],
  ['loses the index of its WAL', (path) => unlinkSync(`${path}-shm`), 'a.sqlite-shm was moved or removed'],
])('D2 a file that %s during the run is an error, whenever that is', async (_, disturb, said) => {
  for (const at of [0, 2]) {
    const path = join(temporaryFolder(), 'data', 'a.sqlite');
    mkdirSync(dirname(path));
    const onPage = (_partition: number, page: number): void => void (page === at && disturb(path));
    const sink = sqlite<Item>({ path, table: 'items' });
    const run = exportTo(itemSource([itemsOf([1, 2, 3, 4, 5, 6, 7, 8, 9])], { onPage }), sink, {
      commitEvery: 1,
    }).run();
    await expect(run).rejects.toMatchObject({
      code: 'sink',
      message: expect.stringContaining(`${said} during the run`),
    });
  }
});

test.each<[what: string, at: (link: string) => string, other: string]>([
  ['itself', (link) => link, 'a.sqlite'],
  ['its folder', (link) => join(link, 'a.sqlite'), '.'],
])('D2 a symbolic link to %s that points elsewhere during the run is an error', async (_, at, to) => {
  const folder = temporaryFolder();
  for (const name of ['first', 'second']) mkdirSync(join(folder, name));
  const link = join(folder, 'link');
  symlinkSync(join(folder, 'first', to), link);
  const run = (onPage?: (partition: number, page: number) => void) =>
    exportTo(
      itemSource([itemsOf([1, 2, 3, 4, 5, 6])], onPage && { onPage }),
      sqlite<Item>({ path: at(link), table: 'items' }),
    ).run();
  const relink = (_partition: number, page: number): void => {
    if (page !== 1) return;
    unlinkSync(link);
    symlinkSync(join(folder, 'second', to), link);
  };
  await expect(run(relink)).rejects.toThrow(/(link|a\.sqlite) was moved or removed during the run/);
  expect((await run()).rows).toBe(6);
  expect(readdirSync(join(folder, 'second'))).toEqual(['a.sqlite']);
});

const writeTo = (
  path: string,
  table: string,
  onPage?: (partition: number, page: number) => unknown,
  options: Partial<TableOptions> = {},
) =>
  exportTo(
    itemSource([itemsOf([1, 2, 3, 4, 5, 6])], { onPage: async (...page) => void (await onPage?.(...page)) }),
    sqlite<Item>({ path, table, ...options }),
    { commitEvery: 1 },
  ).run();

test('D2 a file is written whose name a backup links every night, and readers see old rows meanwhile', async () => {
  const folder = temporaryFolder();
  const path = join(folder, 'a.sqlite');
  for (const night of [1, 2, 3]) {
    const { rows } = await writeTo(
      path,
      'items',
      () =>
        night > 1 &&
        sqliteAt(path)
          .query('SELECT count(*) FROM items')
          .then((found) => expect(found).toEqual([{ 'count(*)': '6' }])),
      { mode: 'replace' },
    );
    expect(rows).toBe(6);
    linkSync(path, join(folder, `night ${night}.sqlite`));
    expect(readdirSync(folder).filter((name) => /-(wal|shm|journal)$/.test(name))).toEqual([]);
  }
});

test('D2 D8 two runs that use two names of a file write both of their tables', async () => {
  const folder = temporaryFolder();
  const path = join(folder, 'a.sqlite');
  const other = join(folder, 'b.sqlite');
  await writeTo(path, 'old');
  linkSync(path, other);
  let second: Promise<unknown> | undefined;
  await writeTo(path, 'first', () => void (second ??= writeTo(other, 'second')));
  await second;
  for (const name of [path, other])
    expect(
      await sqliteAt(name).query(
        'SELECT (SELECT count(*) FROM first) AS a, (SELECT count(*) FROM second) AS b, integrity_check FROM pragma_integrity_check',
      ),
    ).toEqual([{ a: '6', b: '6', integrity_check: 'ok' }]);
  // Of two runs into one table the second one takes over, as if the first one had been paused.
  await expect(writeTo(path, 'items', (_, page) => page === 0 && writeTo(other, 'items'))).rejects.toThrow(
    'Another run has taken over the table items',
  );
  expect(await sqliteAt(path).query('SELECT count(*) AS rows FROM items')).toEqual([{ rows: '6' }]);
});

test('D2 D8 a name of a file whose latest rows may be beside another name is refused', { tags: ['slow'] }, async () => {
  const folder = temporaryFolder();
  const path = join(folder, 'a.sqlite');
  const other = join(folder, 'b.sqlite');
  const refused = {
    code: 'sink',
    message: expect.stringMatching(/b\.sqlite has 2 names \(hard links\) and is in WAL mode/),
  };
  await writeTo(path, 'first', async (_, page) => {
    if (page !== 1) return;
    linkSync(path, other);
    await expect(writeTo(other, 'second')).rejects.toMatchObject(refused);
  });
  await writeTo(other, 'second');
  // Another program, and a run that is killed, leave it in WAL mode.
  const child = (sql: string): unknown =>
    execFileSync(
      process.execPath,
      [
        '--input-type=module',
        '-e',
        `import { DatabaseSync } from ${JSON.stringify(import.meta.resolve('@photostructure/sqlite'))}; const db = new DatabaseSync(${JSON.stringify(path)}); db.exec(${JSON.stringify(sql)}); process.kill(process.pid, 'SIGKILL')`,
      ],
      { stdio: 'ignore' },
    );
  expect(() => child("PRAGMA journal_mode = WAL; CREATE TABLE third (id); INSERT INTO third VALUES ('x')")).toThrow();
  for (let attempt = 1; attempt <= 2; attempt += 1)
    await expect(writeTo(other, 'fourth')).rejects.toMatchObject(refused);
  await writeTo(path, 'fourth');
  expect(
    await sqliteAt(path).query(
      'SELECT (SELECT id FROM third) AS third, (SELECT count(*) FROM fourth) AS fourth, integrity_check FROM pragma_integrity_check',
    ),
  ).toEqual([{ third: 'x', fourth: '6', integrity_check: 'ok' }]);
});

test.each([':memory:', 'file:a.sqlite?mode=memory', 'FILE::memory:'])(
  '%s is not taken for the path of a file',
  (path) => {
    expect(() => sqlite<Item>({ path, table: 'items' })).toThrow(`${path} is not the path of a file`);
  },
);

test.each(['merge', 'replace', 'append'] as const)(
  'a file that an export made has no room left of the rows that waited for %s',
  { tags: ['slow'] },
  async (mode) => {
    const path = join(temporaryFolder(), 'a.sqlite');
    const all = Array.from({ length: 4_000 }, (_, id) => id);
    const run = async (ids: readonly number[], name?: string): Promise<number> => {
      const options = mode === 'append' ? { mode } : { mode, key: ['id'] };
      const source = itemSource([itemsOf(ids, name)], { pageSize: 500 });
      await exportTo(source, sqlite<Item>({ path, table: 'items', ...options }), { restart: true }).run();
      return statSync(path).size;
    };
    const before = await run(mode === 'append' ? all.slice(0, 3_900) : all);
    const after = await run(
      mode === 'append' ? all.slice(3_900) : all.map((id) => (id % 100 === 0 ? id + 4_000 : id)),
      'x',
    );
    expect(after / before).toBeLessThan(1.2);
    const database = new DatabaseSync(path);
    expect(database.prepare('PRAGMA freelist_count').get()).toEqual({ freelist_count: 0 });
    database.close();
  },
);

test('a file that another program made keeps its pages as that program chose', async () => {
  const path = join(temporaryFolder(), 'a.sqlite');
  const other = new DatabaseSync(path);
  other.exec('CREATE TABLE others (id)');
  expect(await failed(path)).toBe('written');
  expect(other.prepare('PRAGMA auto_vacuum').get()).toEqual({ auto_vacuum: 0 });
  other.close();
});
