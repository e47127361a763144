import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
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
