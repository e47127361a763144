import { createSource, exportTo, type RowKey, type Sink } from '@sluice/core';
import { describe, expect, test } from 'vitest';
import { databaseKinds, type TestDatabase } from './databases.js';

interface Row {
  readonly id: RowKey;
  readonly name: string;
  readonly at: string;
}

const columns = ['id', 'name', 'at'] as const;

/** Rows that the source tells apart by their `id`, unless it has no key. */
function into(
  sink: Sink<Row>,
  rows: readonly Row[],
  { isKeyless = false, interruptedAt = Infinity, types = {} }: Listing = {},
) {
  const key = ({ id }: Row): RowKey => id;
  const source = createSource<Row>({
    name: 'rows',
    identity: null,
    schema: { columns, types, ...(!isKeyless && { key }) },
    fetch({ at }) {
      const page = at && 'cursor' in at ? Number(at.cursor) : 0;
      if (page >= interruptedAt) throw new Error('The API is gone.');
      const isLast = (page + 1) * 2 >= rows.length;
      return Promise.resolve({
        rows: rows.slice(page * 2, page * 2 + 2),
        next: isLast ? 'end' : { cursor: String(page + 1) },
      });
    },
  });
  return exportTo(source, sink, { commitEvery: 1 }).run();
}

interface Listing {
  readonly isKeyless?: boolean;
  /** The page at which it fails. */
  readonly interruptedAt?: number;
  readonly types?: Readonly<Record<string, 'timestamp' | 'number'>>;
}

const rowOf = (id: RowKey, name = String(id), at = 'now'): Row => ({ id, name, at });
const modes = ['merge', 'replace', 'history'] as const;

describe.each(databaseKinds)('rows with different keys that are one in a table of $name', ({ open, name: kind }) => {
  const namesOf = async (database: TestDatabase): Promise<unknown[]> =>
    (await database.query('SELECT name FROM t ORDER BY name')).map(({ name }) => name);

  test.each(modes)(
    'D3 are an error of %s that names two of them, and the table is as it was',
    { tags: ['slow'] },
    async (mode) => {
      const database = await open();
      const sink = () => database.sink<Row>({ table: 't', mode, key: ['name'] });
      const twins = [rowOf(1, 'a'), rowOf('b'), rowOf('ä', 'c'), rowOf('c'), rowOf('d', 'c')];
      // Into a table that is not there, and into one that is.
      await expect(into(sink(), twins)).rejects.toThrow(
        '2 of 5 rows have the same name as another one, though the source tells them apart: e.g. "ä" and "d" (name: "c"). Nothing was changed. Name the columns that identify a row, as key.',
      );
      await into(sink(), [rowOf('old', 'old')]);
      await expect(into(sink(), twins)).rejects.toMatchObject({
        code: 'sink',
        details: { option: 'key', isLost: true },
      });
      expect(await namesOf(database)).toEqual(['old']);
      // Another key needs no restart.
      if (mode === 'history') return;
      await database.query('DROP TABLE t');
      await into(database.sink<Row>({ table: 't', mode, key: ['id'] }), twins);
      expect(await namesOf(database)).toEqual(['a', 'b', 'c', 'c', 'c']);
    },
  );

  test.each(modes)('D3 are not those that the listing repeats: %s takes the last one', async (mode) => {
    const database = await open();
    const rows = [rowOf('x', 'a', 'first'), rowOf('y', 'b'), rowOf('x', 'a', 'last')];
    await into(database.sink<Row>({ table: 't', mode, key: ['name'] }), rows);
    expect(await database.query('SELECT name, at FROM t ORDER BY name')).toEqual([
      { name: 'a', at: 'last' },
      { name: 'b', at: 'now' },
    ]);
  });

  test('D3 are unknown of a source without a key: the last one counts', async () => {
    const database = await open();
    const rows = [rowOf('x', 'a'), rowOf('y', 'a')];
    await into(database.sink<Row>({ table: 't', mode: 'merge', key: ['name'] }), rows, { isKeyless: true });
    expect(await database.query('SELECT id FROM t')).toEqual([{ id: 'y' }]);
  });

  test('D3 may have a number and its text as keys', async () => {
    const database = await open();
    await expect(
      into(database.sink<Row>({ table: 't', mode: 'merge', key: ['id'] }), [rowOf(1), rowOf('1')]),
    ).rejects.toThrow('e.g. "1" and 1 (id: "1")');
  });

  const collations: readonly (readonly [type: string, first: string, second: string])[] =
    kind === 'SQLite'
      ? [
          ['TEXT COLLATE NOCASE', 'Key', 'KEY'],
          ['TEXT COLLATE RTRIM', 'key', 'key  '],
          ['TEXT COLLATE NOCASE PRIMARY KEY', 'Key', 'KEY'],
        ]
      : [
          ['text COLLATE nocase', 'Key', 'KEY'],
          ['citext', 'Key', 'kEY'],
          ['text COLLATE accents PRIMARY KEY', 'é', 'e'],
        ];
  test.each(collations)(
    'D3 are found by the equality of a key that is %s',
    { tags: ['slow'] },
    async (type, first, second) => {
      for (const mode of ['merge', 'replace'] as const) {
        const database = await open();
        if (kind === 'PostgreSQL') {
          for (const [name, level] of [
            ['nocase', 2],
            ['accents', 1],
          ])
            await database.query(
              `CREATE COLLATION ${name} (provider = icu, locale = 'und-u-ks-level${level}', deterministic = false)`,
            );
          const known = await database.query("SELECT 1 FROM pg_available_extensions WHERE name = 'citext'");
          if (known.length === 0 && type === 'citext') return;
          await database.query('CREATE EXTENSION IF NOT EXISTS citext');
        }
        await database.query(`CREATE TABLE t (id ${type}, name text, at text)`);
        await expect(
          into(database.sink<Row>({ table: 't', mode, key: ['id'] }), [rowOf(first), rowOf(second), rowOf('other')]),
        ).rejects.toThrow(/^1 of 3 rows have the same id as another one/);
        expect(await database.query('SELECT id FROM t')).toEqual([]);
      }
    },
  );

  test('D3 are found where the column _key of the table compares loosely', async () => {
    const database = await open();
    if (kind === 'PostgreSQL')
      await database.query(
        "CREATE COLLATION nocase (provider = icu, locale = 'und-u-ks-level2', deterministic = false)",
      );
    await database.query(`CREATE TABLE t (id text, name text, at text, _key text COLLATE nocase)`);
    await expect(
      into(database.sink<Row>({ table: 't', mode: 'merge' }), [rowOf('a'), rowOf('A'), rowOf('b')]),
    ).rejects.toThrow(/1 of 3 rows have the same _key as another one.*e\.g\. "A" and "a" \(_key: /);
  });

  test('D3 are found by the type of a key', async () => {
    const database = await open();
    const types = { at: 'timestamp', name: 'number' } as const;
    const rows = [rowOf(1, '1', '2030-01-01T00:00:00Z'), rowOf(2, '1.0', '2030-01-01T01:00:00+01:00')];
    for (const key of ['at', 'name']) {
      const exported = into(database.sink<Row>({ table: `t_${key}`, mode: 'merge', key: [key] }), rows, { types });
      // SQLite stores both as their text.
      if (kind === 'SQLite') expect(await exported).toMatchObject({ rows: 2 });
      else await expect(exported).rejects.toThrow(`1 of 2 rows have the same ${key} as another one`);
    }
  });

  test(
    'D3 are found in a run that resumes, unless an earlier version has staged its first rows',
    { tags: ['slow'] },
    async () => {
      const rows = [rowOf('x', 'a'), rowOf('y', 'b'), rowOf('z', 'a')];
      for (const isOld of [false, true]) {
        const database = await open();
        const sink = () => database.sink<Row>({ table: 't', mode: 'merge', key: ['name'] });
        await expect(into(sink(), rows, { interruptedAt: 1 })).rejects.toThrow('The API is gone.');
        const [staged] = await database.query(
          kind === 'SQLite'
            ? "SELECT name FROM sqlite_schema WHERE type = 'table' AND name GLOB '_sluice_*'"
            : "SELECT relname AS name FROM pg_class WHERE relkind = 'r' AND relname LIKE '\\_sluice\\_%'",
        );
        if (isOld) await database.query(`ALTER TABLE "${staged?.['name']}" DROP COLUMN _sluice_own`);
        if (isOld) expect(await into(sink(), rows)).toMatchObject({ rows: 3, resumedRows: 2 });
        else await expect(into(sink(), rows)).rejects.toThrow('1 of 3 rows have the same name as another one');
        if (isOld) expect(Object.keys((await database.query('SELECT * FROM t'))[0] ?? {})).toEqual(columns);
      }
    },
  );
});
