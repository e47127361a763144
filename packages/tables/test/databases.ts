import { join } from 'node:path';
import { DatabaseSync } from '@photostructure/sqlite';
import type { Sink } from '@sluice/core';
import pg from 'pg';
import { describe } from 'vitest';
import {
  openDatabase,
  postgresPrograms,
  type PostgresDatabase,
  type PostgresServer,
} from '../../../test/kit/postgresServer.js';
import { temporaryFolder } from '../../../test/kit/temporaryFolder.js';
import {
  compactHistory as compactPostgres,
  postgres,
  postgresMirror,
  readHistory as readPostgresHistory,
} from '../src/postgres.js';
import {
  compactHistory as compactSqlite,
  readHistory as readSqliteHistory,
  type History,
  sqlite,
  sqliteMirror,
  type CompactOptions,
  type CompactReport,
  type Mirror,
  type MirrorOptions,
  type TableOptions,
} from '../src/sqlite.js';

/** A row as a test reads it: every value as text. */
export type TextRow = Readonly<Record<string, string | null>>;

/** An empty database of a test. */
export interface TestDatabase {
  /** Creates the table `rows` of a suite, of text, whose rows can be read in the order of their insertion. */
  createRows(): Promise<void>;
  /** The column of that order. */
  readonly order: string;
  /** Tests replace most of their few rows: `maxRemoved` is 100%, unless it is given, also as `undefined`. */
  sink<T extends object>(options: TableOptions): Sink<T>;
  mirror<T extends object>(options: MirrorOptions): Mirror<T>;
  compact(options: CompactOptions): Promise<CompactReport>;
  readHistory<R>(table: string, use: (history: History) => Promise<R>): Promise<R>;
  /** The file, or the URL. */
  readonly place: string;
  /** Runs SQL without the code under test. */
  query(sql: string): Promise<readonly TextRow[]>;
}

/** A kind of database that tests run with. */
export interface DatabaseKind {
  readonly name: 'SQLite' | 'PostgreSQL';
  /** An empty database. */
  readonly open: () => Promise<TestDatabase>;
}

const sqliteKind: DatabaseKind = {
  name: 'SQLite',
  open: () => Promise.resolve(sqliteAt(join(temporaryFolder(), 'test.sqlite'))),
};

/** A database in a file, which need not be there yet. */
export function sqliteAt(path: string): TestDatabase {
  return {
    order: 'rowid',
    place: path,
    createRows: () => Promise.resolve(),
    sink: <T extends object>(options: TableOptions) => sqlite<T>({ path, ...withRemovals(options) }),
    mirror: <T extends object>(options: MirrorOptions) => sqliteMirror<T>({ path, ...options }),
    compact: (options) => compactSqlite({ path, ...options }),
    readHistory: (table, use) => readSqliteHistory({ path, table, signal: new AbortController().signal }, use),
    query: (sql: string) => Promise.resolve(querySqlite(path, sql)),
  };
}

function withRemovals(options: TableOptions): TableOptions {
  const { mode } = options;
  return mode === 'replace' || mode === 'history' ? { maxRemoved: '100%', ...options } : options;
}

function querySqlite(path: string, sql: string): TextRow[] {
  const db = new DatabaseSync(path);
  try {
    const statement = db.prepare(sql);
    statement.setReadBigInts(true);
    return statement.all().map((row: Record<string, unknown>) => asText(row));
  } finally {
    db.close();
  }
}

function asText(row: object): TextRow {
  return Object.fromEntries(
    Object.entries(row).map(([name, value]) => [name, value === null || value === undefined ? null : String(value)]),
  );
}

async function queryPostgres(url: string, sql: string): Promise<TextRow[]> {
  const client = new pg.Client({ connectionString: url, types: { getTypeParser: () => (text: string) => text } });
  await client.connect();
  try {
    const { rows } = await client.query<Record<string, unknown>>(sql);
    return rows.map(asText);
  } finally {
    await client.end();
  }
}

/** An empty database of PostgreSQL: of the server that all tests share, or of that one. @param options of CREATE DATABASE */
export async function openEmptyPostgres(
  options = '',
  { open = openDatabase }: Partial<Pick<PostgresServer, 'open'>> = {},
): Promise<TestDatabase & Pick<PostgresDatabase, 'url' | 'port'>> {
  const { url, port } = await open(options);
  const query = (sql: string): Promise<TextRow[]> => queryPostgres(url, sql);
  return {
    url,
    port,
    query,
    place: url,
    order: 'nth',
    // A table of PostgreSQL has no order of its own.
    async createRows() {
      const columns = ['id', 'name', 'amount', 'note'].map((name) => `${name} text`);
      await query(`CREATE TABLE rows (${columns.join()}, nth bigint GENERATED ALWAYS AS IDENTITY)`);
    },
    sink: <T extends object>(options: TableOptions) => postgres<T>({ url, ...withRemovals(options) }),
    mirror: <T extends object>(options: MirrorOptions) => postgresMirror<T>({ url, ...options }),
    compact: (options) => compactPostgres({ url, ...options }),
    readHistory: (table, use) => readPostgresHistory({ url, table, signal: new AbortController().signal }, use),
  };
}

/** SQLite, and PostgreSQL where it is installed. */
export const databaseKinds: readonly DatabaseKind[] = [
  sqliteKind,
  ...(postgresPrograms === undefined ? [] : [{ name: 'PostgreSQL', open: () => openEmptyPostgres() } as const]),
];

/**
 * A suite with each kind of database, which `npm test` runs with SQLite alone: for what both do with the same SQL. What differs, such as
 * values, keys and how rows are inserted, takes `describe.each(databaseKinds)`.
 */
export function describeDatabases(title: string, suite: (kind: DatabaseKind) => void): void {
  for (const kind of databaseKinds)
    describe(title.replace('$name', kind.name), { tags: kind.name === 'SQLite' ? [] : ['slow'] }, () => {
      suite(kind);
    });
}
