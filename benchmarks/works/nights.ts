import { statSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from '@photostructure/sqlite';
import { createSource, exportTo } from '@sluice/core';
import { sqlite } from '@sluice/tables/sqlite';
import { figureOf, type Figure } from '../figures/figure.js';
import type { Work } from './work.js';

const rows = 200_000;
const rowsOfPage = 1_000;
const pagesOfCommit = 5;
const columns = ['id', 'name', 'state', 'owner'];

type Row = Readonly<Record<string, string>>;

/** A table of SQLite brought up to date of which 1 % changed, against a bare upsert of all rows. */
export const nights: Work = async ({ rounds, folder }) => {
  const figures: Figure[] = [];
  for (const mode of ['merge', 'replace'] as const) {
    const path = join(folder, `${mode}.sqlite`);
    const speeds: number[] = [];
    const sizes: number[] = [];
    let first = 0;
    // The first night fills both tables.
    for (let night = 0; night <= rounds; night += 1) {
      const bare = await msOf(() => Promise.resolve(upsert(`${path}.bare`, night)));
      const ms = await msOf(() =>
        exportTo(listing(night), sqlite<Row>({ path, table: 'rows', mode, key: ['id'] })).run(),
      );
      const { size } = statSync(path);
      if (night === 0) first = size;
      else {
        speeds.push(bare / ms);
        sizes.push(size / first);
      }
    }
    const work = `${mode} of ${rows.toLocaleString('en')} rows of which 1 % changed, into SQLite`;
    figures.push(
      figureOf({ work: `rows/s of a ${work}`, against: 'a bare upsert', unit: 'x', goal: { atLeast: 0.6 } }, speeds),
      figureOf({ work: `size after a ${work}`, against: 'before it', unit: 'x', goal: { atMost: 1.2 } }, sizes),
    );
  }
  return figures;
};

function pageOf(nth: number, night: number): readonly Row[] {
  return Array.from({ length: rowsOfPage }, (_, row) => {
    const id = nth * rowsOfPage + row;
    const state = id % 100 === night % 100 ? `night ${night}` : 'active';
    return { id: `id ${id}`, name: `A stream of some name, with the number ${id}`.repeat(3), state, owner: `0x${id}` };
  });
}

function listing(night: number) {
  return createSource<Row>({
    name: 'rows',
    identity: null,
    schema: { columns },
    fetch: ({ walked: { pages } }) =>
      Promise.resolve({
        rows: pageOf(pages, night),
        next: (pages + 1) * rowsOfPage < rows ? { cursor: String(pages + 1) } : 'end',
      }),
  });
}

function upsert(path: string, night: number): void {
  const db = new DatabaseSync(path);
  db.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL');
  db.exec('CREATE TABLE IF NOT EXISTS rows (id TEXT UNIQUE, name TEXT, state TEXT, owner TEXT)');
  const statement = db.prepare(
    'INSERT INTO rows VALUES (?, ?, ?, ?) ON CONFLICT (id) DO UPDATE SET name = excluded.name, state = excluded.state, owner = excluded.owner',
  );
  for (let nth = 0; nth * rowsOfPage < rows; nth += 1) {
    if (nth % pagesOfCommit === 0) db.exec('BEGIN');
    for (const row of pageOf(nth, night)) statement.run(...columns.map((name) => row[name] ?? null));
    if ((nth + 1) % pagesOfCommit === 0) db.exec('COMMIT');
  }
  db.exec('PRAGMA wal_checkpoint(TRUNCATE); PRAGMA journal_mode = delete');
  db.close();
}

async function msOf(work: () => Promise<unknown>): Promise<number> {
  const began = performance.now();
  await work();
  return performance.now() - began;
}
