import { basename, resolve } from 'node:path';
import type { Change, Due } from '@sluice/core';
import type { History, SqliteMirrorOptions, SqliteOptions, TableRows } from '@sluice/tables/sqlite';
import type { Environment } from '../environment/environment.js';
import { UsageError } from '../errors/errors.js';
import { addPassword, parsePostgresUrl, postgresUrl } from '../input/postgresUrl.js';
import type { OptionsOf } from '../options/commands.js';
import { pickFor } from '../options/option.js';
import { type GroupOptions, mirrorOptions, tableOptions } from '../options/options.js';
import type { Target } from './target.js';

/** A table of a database, as `--to` names it. */
export type TableName =
  | { readonly kind: 'sqlite'; readonly path: string; readonly table: string }
  | { readonly kind: 'postgres'; readonly url: string; readonly table: string };

const sqliteFile = /^(.+\.(?:sqlite3?|db))(?:#(.*))?$/is;

/**
 * Parses a target that is a table; `undefined` for others.
 *
 * @param called what it is in messages
 *
 * @example tableName('holdings.sqlite#nfts') // { kind: 'sqlite', path: 'holdings.sqlite', table: 'nfts' }
 */
export function tableName(to: string, called = '--to'): TableName | undefined {
  const [, path, named] = sqliteFile.exec(to) ?? [];
  if (path !== undefined && !to.includes('://')) {
    const table = named ?? basename(path).replace(/\.[^.]*$/, '');
    if (table === '') throw new UsageError(`${called} ${to} lacks the table: write it after the #.`);
    return { kind: 'sqlite', path, table };
  }
  if (!postgresUrl.test(to)) return undefined;
  const url = parsePostgresUrl(to, called, 'postgres://user@host/database?table=NAME');
  const [table = '', ...others] = url.searchParams.getAll('table');
  if (url.hash !== '' || url.searchParams.has('schema') || others.length > 0)
    throw new UsageError(
      `${called} names its table once, as postgres://user@host/database?table=SCHEMA.TABLE, and takes no # and no schema.`,
    );
  if (table === '') throw new UsageError(`${called} lacks the table: write postgres://user@host/database?table=NAME.`);
  url.searchParams.delete('table');
  return { kind: 'postgres', url: url.href, table };
}

/** For a command that reads a table. @throws UsageError if a text names something else. */
export function requireTable(text: string): TableName {
  const named = tableName(text, 'The table');
  if (named) return named;
  throw new UsageError(
    `${text} is not a table: name one as FILE.sqlite#TABLE or postgres://user@host/database?table=TABLE.`,
  );
}

type SinkOptions = Omit<SqliteOptions, 'path' | 'table'>;
type MirrorOptions = Omit<SqliteMirrorOptions, 'path' | 'table'>;

/** What the package of a database does with a table. It is loaded on demand: most exports write files. */
export async function openTable({ table, ...named }: TableName, environment: Environment) {
  const { folder, signal } = environment;
  if (named.kind === 'sqlite') {
    const library = await import('@sluice/tables/sqlite');
    const place = { table, path: resolve(folder, named.path) };
    return {
      sink: <T extends object>(options: SinkOptions) => library.sqlite<T>({ ...options, ...place }),
      mirror: <T extends object>(options: MirrorOptions) => library.sqliteMirror<T>({ ...options, ...place }),
      readRows: <R>(use: (found: TableRows) => Promise<R>) => library.readTable({ ...place, signal }, use),
      readHistory: <R>(use: (history: History) => Promise<R>) => library.readHistory({ ...place, signal }, use),
      compact: (keep: number) => library.compactHistory({ ...place, keep, signal }),
    };
  }
  const library = await import('@sluice/tables/postgres');
  const place = { table, ...addPassword(named.url, environment) };
  return {
    sink: <T extends object>(options: SinkOptions) => library.postgres<T>({ ...options, ...place }),
    mirror: <T extends object>(options: MirrorOptions) => library.postgresMirror<T>({ ...options, ...place }),
    readRows: <R>(use: (found: TableRows) => Promise<R>) => library.readTable({ ...place, signal }, use),
    readHistory: <R>(use: (history: History) => Promise<R>) => library.readHistory({ ...place, signal }, use),
    compact: (keep: number) => library.compactHistory({ ...place, keep, signal }),
  };
}

type ConnectionOptions = OptionsOf<'breakLock' | 'retryFor'>;

/** The target of rows in a table. It keeps its own checkpoints. */
export function tableTarget<T extends object>(
  to: string,
  named: TableName,
  options: GroupOptions<'target'> & ConnectionOptions,
  environment: Environment,
): Target<T> {
  const { keyColumns: key, ...others } = pickFor(tableOptions, options);
  const given = { ...others, key, ...connectionFor(options) };
  const open = async () => (await openTable(named, environment)).sink<T>(given);
  return { kind: 'table', name: to, format: named.kind, open };
}

/** The target of changes whose rows a table mirrors. It keeps the state of the watch, too. */
export function mirrorTarget<T extends object>(
  to: string,
  named: TableName,
  options: GroupOptions<'changeTarget'> & ConnectionOptions,
  environment: Environment,
): Target<Change<T> | Due<T>> {
  const { keyColumns: key, ...others } = pickFor(mirrorOptions, options);
  const given = { ...others, key, ...connectionFor(options) };
  const open = async () => (await openTable(named, environment)).mirror<T>(given);
  return { kind: 'table', name: to, format: named.kind, open };
}

function connectionFor({ breakLock, retryFor }: ConnectionOptions) {
  return { breakLock, ...(retryFor !== undefined && { retry: { for: retryFor } }) };
}
