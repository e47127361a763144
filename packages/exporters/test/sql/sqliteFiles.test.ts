import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from '@photostructure/sqlite';
import { exportTo } from '@sluice/core';
import { expect, test } from 'vitest';
import { temporaryFolder } from '../../../../test/kit/temporaryFolder.js';
import { sqlite } from '../../src/sqlite.js';
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
  for (const name of ['folder', 'nowhere/x.sqlite'])
    expect(await failed(at(name))).toBe(
      `SinkError: ${at(name)} can't be written: it is a folder, or its own folder is not there or may not be written.`,
    );
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
