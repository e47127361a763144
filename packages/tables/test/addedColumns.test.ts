import {
  createSource,
  exportTo,
  watch,
  type ColumnType,
  type ExportOptions,
  type ExportReport,
  type Sink,
} from '@sluice/core';
import { describe, expect, test } from 'vitest';
import { SkippingClock } from '../../core/test/rows/watch/skippingClock.js';
import type { MirrorOptions, TableOptions } from '../src/sqlite.js';
import { databaseKinds, describeDatabases, openEmptyPostgres, type TestDatabase } from './databases.js';
import { postgresPrograms } from '../../../test/kit/postgresServer.js';
import { postgres } from '../src/postgres.js';

type Row = Readonly<Record<string, unknown>>;

/** What a definition declares. */
const before: Readonly<Record<string, ColumnType>> = { id: 'integer', name: 'text' };
const after = { ...before, region: 'text', level: 'integer' } as const;

/** The API has always listed all fields. */
const row = (id: number, more: Row = {}): Row => ({ id, name: `name ${id}`, region: `r${id}`, level: id, ...more });

interface Listing {
  readonly columns: Readonly<Record<string, ColumnType>>;
  readonly rows: readonly Row[];
  /** Called before each page of one row is given. */
  readonly onPage?: (page: number) => void;
}

const sourceOf = ({ columns, rows, onPage }: Listing) =>
  createSource<Row>({
    name: 'items',
    identity: null,
    schema: { columns: Object.keys(columns), types: columns, key: ({ id }) => Number(id) },
    fetch({ at }) {
      const page = at && 'cursor' in at ? Number(at.cursor) : 0;
      onPage?.(page);
      const next = page + 1 < rows.length ? { cursor: String(page + 1) } : ('end' as const);
      return Promise.resolve({ rows: rows.slice(page, page + 1), next });
    },
  });

type Into = Partial<TableOptions> & { readonly options?: ExportOptions };

const exported = (database: TestDatabase, listing: Listing, { options, ...into }: Into = {}): Promise<ExportReport> =>
  exportTo(sourceOf(listing), database.sink<Row>({ table: 'items', schema: 'evolve', ...into }), {
    commitEvery: 1,
    ...options,
  }).run();

const followed = (
  database: TestDatabase,
  listing: Listing,
  { options, ...into }: Partial<MirrorOptions> & { readonly options?: ExportOptions } = {},
): Promise<ExportReport> => {
  const mirror = database.mirror<Row>({ table: 'items', key: ['id'], schema: 'evolve', ...into });
  const watched = watch(sourceOf(listing), {
    every: 1_000,
    clock: new SkippingClock(),
    polls: 1,
    confirmations: 1,
    acceptRemovals: true,
    state: mirror.state,
  });
  return exportTo(watched, mirror, options).run();
};

const shown = async (database: TestDatabase, columns: string, from = 'items'): Promise<string[]> => {
  const rows = await database.query(`SELECT ${columns} FROM ${from}`);
  return rows
    .map((found) =>
      Object.values(found)
        .map((value) => value ?? '-')
        .join(' '),
    )
    .sort();
};

/** The same, killed before it can be marked as finished. */
function killedAtEnd(sink: Sink<Row>, isPublished: boolean): Sink<Row> {
  return {
    ...sink,
    async open(context) {
      const writer = await sink.open(context);
      const { start = null } = writer;
      const close = async (): Promise<never> => {
        if (isPublished) await writer.close();
        throw new Error('killed');
      };
      return {
        start,
        close,
        write: writer.write.bind(writer),
        flush: writer.flush.bind(writer),
        seal: writer.seal.bind(writer),
        abort: writer.abort.bind(writer),
      };
    },
  };
}

const interrupted =
  (at: number) =>
  (page: number): void => {
    if (page === at) throw new Error('killed');
  };

describeDatabases('D11 a column that the definition has and the table in $name lacks', ({ open }) => {
  test.each([
    ['append', {}, ['1 name 1 - -', '1 new 1 r1 1', '2 name 2 - -', '3 name 3 r3 3']],
    ['merge', { key: ['id'] }, ['1 new 1 r1 1', '2 name 2 - -', '3 name 3 r3 3']],
    ['merge', {}, ['1 new 1 r1 1', '2 name 2 - -', '3 name 3 r3 3']],
    ['replace', { key: ['id'] }, ['1 new 1 r1 1', '3 name 3 r3 3']],
    ['replace', {}, ['1 new 1 r1 1', '3 name 3 r3 3']],
  ] as const)('is added by %s %j, as declared, and said once', async (mode, key, rows) => {
    const database = await open();
    await exported(database, { columns: before, rows: [row(1), row(2)] }, { mode, ...key });
    const warnings: string[] = [];
    const onWarning = (message: string): void => void warnings.push(message);
    const listing = { columns: after, rows: [row(1, { name: 'new 1' }), row(3)] };
    const options = { restart: mode === 'append', onWarning };
    expect(await exported(database, listing, { mode, ...key, options })).toMatchObject({
      addedColumns: ['region', 'level'],
    });
    expect(await shown(database, 'id, name, region, level')).toEqual(rows);
    expect(warnings).toEqual([
      'Added the column region to items: the source has it, and the table lacked it.',
      'Added the column level to items: the source has it, and the table lacked it.',
    ]);
    expect(await exported(database, listing, { mode, ...key, options })).not.toHaveProperty('addedColumns');
    expect(warnings).toHaveLength(2);
  });

  test('is in the present versions of a history of exports and in its view, and begins no version', async () => {
    const database = await open();
    const into = { mode: 'history', key: ['id'] } as const;
    await exported(database, { columns: before, rows: [row(1), row(2), row(3, { region: undefined })] }, into);
    const rows = [row(1), row(2, { name: 'new 2' }), row(3, { region: undefined })];
    // What is added by a run that fails is there for the next one.
    const failing = exported(database, { columns: after, rows, onPage: interrupted(1) }, into);
    await expect(failing).rejects.toThrow('killed');
    expect(await exported(database, { columns: after, rows }, into)).toMatchObject({
      addedColumns: ['region', 'level'],
    });
    const versions = ['1 name 1 r1 1 -', '2 name 2 - - changed', '2 new 2 r2 2 -', '3 name 3 - 3 -'];
    expect(await shown(database, 'id, name, region, level, _ended')).toEqual(versions);
    expect(await shown(database, 'id, region, level', 'items_now')).toEqual(['1 r1 1', '2 r2 2', '3 - 3']);
    // From then on, it is compared like any other.
    await exported(database, { columns: after, rows: [row(1, { region: 'r9' }), ...rows.slice(1)] }, into);
    expect(await shown(database, 'id, name, region, level, _ended')).toEqual([
      '1 name 1 r1 1 changed',
      '1 name 1 r9 1 -',
      ...versions.slice(1),
    ]);
  });

  test.each([
    ['mirror', {}],
    ['mirror', { deletedAt: true }],
    ['history', { mode: 'history' }],
  ] as const)('is filled by a %s %j, although no row has changed', async (_, into) => {
    const database = await open();
    const rows = [row(1), row(2)];
    await followed(database, { columns: before, rows }, into);
    const warnings: string[] = [];
    const options = { onWarning: (message: string): void => void warnings.push(message) };
    const report = await followed(database, { columns: after, rows }, { ...into, options });
    expect(report).toMatchObject({ rows: 2, addedColumns: ['region', 'level'] });
    expect(warnings).toHaveLength(2);
    expect(await shown(database, 'id, name, region, level')).toEqual(['1 name 1 r1 1', '2 name 2 r2 2']);
    const next = await followed(database, { columns: after, rows: [row(1), row(2, { region: 'r9' })] }, into);
    expect(next).not.toHaveProperty('addedColumns');
    expect((await shown(database, 'id, region')).filter((each) => each !== '2 r2')).toEqual(['1 r1', '2 r9']);
  });

  test('is in a history that starts over, without a version', async () => {
    const database = await open();
    const rows = [row(1), row(2)];
    await followed(database, { columns: before, rows }, { mode: 'history' });
    const listing = { columns: after, rows };
    const failing = { ...listing, onPage: interrupted(0) };
    const into = { mode: 'history', options: { restart: true } } as const;
    await followed(database, failing, into).catch(() => undefined);
    await followed(database, listing, into);
    expect(await shown(database, 'id, region, level, _ended, _generation')).toEqual(['1 r1 1 - 1', '2 r2 2 - 1']);
  });

  test('is no other plan: what is finished stays, what is interrupted begins again', async () => {
    for (const mode of ['fail', 'append'] as const) {
      const database = await open();
      await exported(database, { columns: before, rows: [row(1)] }, { mode });
      const done = await exported(database, { columns: after, rows: [row(1)] }, { mode });
      expect(done.finishedAt).toBeDefined();
      expect(await shown(database, '*')).toEqual(['1 name 1']);
    }
    for (const mode of ['fail', 'append', 'merge', 'replace'] as const) {
      const database = await open();
      const rows = [row(1), row(2), row(3)];
      const failing = exported(database, { columns: before, rows, onPage: interrupted(2) }, { mode });
      await expect(failing).rejects.toThrow('killed');
      const warnings: string[] = [];
      const options = { onWarning: (message: string): void => void warnings.push(message) };
      expect(await exported(database, { columns: after, rows }, { mode, options })).toMatchObject({ resumedRows: 0 });
      expect(warnings).toEqual(['The interrupted run began with other columns. Its 2 rows are exported again.']);
      expect(await shown(database, 'id, region')).toEqual(['1 r1', '2 r2', '3 r3']);
    }
  });

  test.each([false, true])(
    'is not in rows that were sealed before, which come once (published: %s)',
    async (isPublished) => {
      const database = await open();
      const listing = { columns: before, rows: [row(1), row(2)] };
      const sink = killedAtEnd(database.sink<Row>({ table: 'items', mode: 'append', schema: 'evolve' }), isPublished);
      await expect(exportTo(sourceOf(listing), sink).run()).rejects.toThrow('killed');
      await exported(database, { ...listing, columns: after }, { mode: 'append' });
      expect(await shown(database, 'id, name')).toEqual(['1 name 1', '2 name 2']);
      await exported(database, { ...listing, columns: after }, { mode: 'append', options: { restart: true } });
      expect(await shown(database, 'id, name, region')).toEqual([
        '1 name 1 -',
        '1 name 1 r1',
        '2 name 2 -',
        '2 name 2 r2',
      ]);
    },
  );

  test('is not added if it is one of the key, or without evolve', async () => {
    const database = await open();
    await exported(database, { columns: before, rows: [row(1)] }, { mode: 'merge', key: ['id'] });
    const listing = { columns: after, rows: [row(1)] };
    await expect(exported(database, listing, { mode: 'merge', key: ['region'] })).rejects.toThrow(
      'The table items has other columns than the rows: region is missing.',
    );
    await expect(exported(database, listing, { mode: 'merge', key: ['id'], schema: 'discard' })).rejects.toThrow(
      'region is missing; level is missing',
    );
    expect(Object.keys((await database.query('SELECT * FROM items'))[0] ?? {})).toEqual(['id', 'name']);
  });

  test('was among the extra ones before: they are JSON in a column of their own', async () => {
    const database = await open();
    const into = { mode: 'merge', key: ['id'], extra: true } as const;
    await exported(database, { columns: before, rows: [row(1), { id: 2, name: 'b' }] }, { ...into, schema: 'discard' });
    expect(await shown(database, 'id, extra')).toEqual(['1 {"region":"r1","level":1}', '2 -']);
    await exported(database, { columns: { ...before, region: 'text' }, rows: [row(1)] }, into);
    expect(await shown(database, 'id, region, extra')).toEqual(['1 r1 {"level":1}', '2 - -']);
    await expect(
      exported(database, { columns: before, rows: [row(1)] }, { ...into, schema: 'freeze' }),
    ).rejects.toThrow('either refused (freeze) or stored (extra)');
    await expect(exported(database, { columns: { ...before, extra: 'text' }, rows: [row(1)] }, into)).rejects.toThrow(
      'there is one called extra already',
    );
    const other = await open();
    await exported(other, { columns: before, rows: [row(1)] }, { mode: 'merge', key: ['id'] });
    await exported(other, { columns: before, rows: [row(1)] }, into);
    expect(await shown(other, 'id, extra')).toEqual(['1 {"region":"r1","level":1}']);
  });

  test('leaves the extra ones of a mirror, too', async () => {
    const database = await open();
    const into = { extra: true };
    await followed(database, { columns: before, rows: [row(1)] }, into);
    await followed(database, { columns: { ...before, region: 'text' }, rows: [row(1)] }, into);
    expect(await shown(database, 'id, region, extra')).toEqual(['1 r1 {"level":1}']);
  });
});

describe.runIf(postgresPrograms !== undefined)('in PostgreSQL, a column', { tags: ['slow'] }, () => {
  test('whose name differs only in case is refused in one sentence', async () => {
    const database = await openEmptyPostgres();
    const into = { mode: 'merge', key: ['id'] } as const;
    await exported(database, { columns: { id: 'integer', region: 'text' }, rows: [row(1)] }, into);
    const rows = [{ id: 1, region: 'a', Region: 'b' }];
    await expect(
      exported(database, { columns: { id: 'integer', region: 'text', Region: 'text' }, rows }, into),
    ).rejects.toThrow(
      'Region is missing, and would differ from region only in case. Name another table, or change it.',
    );
  });

  test('that the user may not add is refused in one sentence, and nothing is changed', async () => {
    const database = await openEmptyPostgres();
    const into = { mode: 'merge', key: ['id'] } as const;
    await exported(database, { columns: before, rows: [row(1)] }, into);
    const role = `writer_${process.pid}`;
    await database.query(`CREATE ROLE ${role} LOGIN`);
    for (const on of ['SCHEMA public', 'ALL TABLES IN SCHEMA public'])
      await database.query(`GRANT ALL ON ${on} TO ${role}`);
    try {
      const url = new URL(database.url);
      url.username = role;
      const sink = postgres<Row>({ url: url.href, table: 'items', schema: 'evolve', ...into });
      await expect(exportTo(sourceOf({ columns: after, rows: [row(1)] }), sink).run()).rejects.toThrow(
        /^The table items lacks the column region, which can't be added: must be owner of table items\. Let its owner run ALTER TABLE "public"\."items" ADD COLUMN "region" text, or leave the column out of columns\.$/,
      );
      expect(await database.query('SELECT * FROM items')).toEqual([{ id: '1', name: 'name 1' }]);
    } finally {
      for (const sql of [`DROP OWNED BY ${role}`, `DROP ROLE ${role}`]) await database.query(sql);
    }
  });

  test('is in the function of a history at once', async () => {
    const database = await openEmptyPostgres();
    const into = { mode: 'history', key: ['id'] } as const;
    await exported(database, { columns: before, rows: [row(1)] }, into);
    await exported(database, { columns: after, rows: [row(1)] }, into);
    expect(await shown(database, 'id, name, region', 'items_at(now())')).toEqual(['1 name 1 r1']);
  });
});

test.each(databaseKinds)(
  'a table of $name that takes no column says why',
  { tags: ['slow'] },
  async ({ open, name }) => {
    const database = await open();
    const into = { mode: 'append' } as const;
    const making =
      name === 'SQLite'
        ? ['CREATE VIRTUAL TABLE items USING fts5(id, name)']
        : ['CREATE TABLE those (id numeric, name text)', 'CREATE VIEW items AS SELECT * FROM those'];
    for (const sql of making) await database.query(sql);
    await expect(exported(database, { columns: after, rows: [row(1)] }, into)).rejects.toThrow(
      /^The table items lacks the column region, which can't be added: /,
    );
  },
);
