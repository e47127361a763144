import { basename, resolve } from 'node:path';
import type { Change, Sink } from '@sluice/core';
import type { TableSink } from '@sluice/exporters/sqlite';
import type { Environment } from '../environment/environment.js';
import { UsageError } from '../errors/errors.js';
import type { OptionsOf } from '../options/commands.js';
import type { GroupOptions } from '../options/options.js';
import type { Target } from './target.js';

/** A table of a database, as `--to` names it. */
export type TableName =
  | { readonly kind: 'sqlite'; readonly path: string; readonly table: string }
  | { readonly kind: 'postgres'; readonly url: string; readonly table: string };

const sqliteFile = /^(.+\.(?:sqlite3?|db))(?:#(.*))?$/is;
export const postgresUrl = /^postgres(?:ql)?:\/\//i;

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
  if (!URL.canParse(to))
    throw new UsageError(`${called} is not a valid URL. Write postgres://user@host/database?table=NAME.`);
  const url = new URL(to);
  if (url.password !== '' || url.searchParams.has('password'))
    throw new UsageError(
      `${called} has a password, which others on this machine can read. Leave it out, and set PGPASSWORD or use ~/.pgpass.`,
    );
  const [table = '', ...others] = url.searchParams.getAll('table');
  if (url.hash !== '' || url.searchParams.has('schema') || others.length > 0)
    throw new UsageError(
      `${called} names its table once, as postgres://user@host/database?table=SCHEMA.TABLE, and takes no # and no schema.`,
    );
  if (table === '') throw new UsageError(`${called} lacks the table: write postgres://user@host/database?table=NAME.`);
  url.searchParams.delete('table');
  return { kind: 'postgres', url: url.href, table };
}

export type TableTargetOptions = Pick<GroupOptions<'target'>, 'columns' | 'mode' | 'keyColumns' | 'schema'> &
  OptionsOf<'breakLock'>;

/** The target of rows in a table. It keeps its own checkpoints. */
export function tableTarget<T extends object>(
  to: string,
  named: TableName,
  options: TableTargetOptions,
  environment: Environment,
): Target<T> {
  return { kind: 'table', name: to, format: named.kind, open: () => openTable(named, options, environment) };
}

/** The sink of a table. */
export async function openTable<T extends object>(
  named: TableName,
  options: TableTargetOptions,
  environment: Environment,
): Promise<TableSink<T>> {
  const { columns, mode, keyColumns: key, schema, breakLock = false } = options;
  const shared = { table: named.table, columns, mode, key, schema, breakLock };
  // Loaded on demand: most exports write files.
  if (named.kind === 'sqlite') {
    const { sqlite } = await import('@sluice/exporters/sqlite');
    return sqlite<T>({ ...shared, path: resolve(environment.folder, named.path) });
  }
  const { postgres } = await import('@sluice/exporters/postgres');
  return postgres<T>({ ...shared, ...addPassword(named.url, environment) });
}

type MirrorTargetOptions = Pick<
  GroupOptions<'changeTarget'>,
  'columns' | 'keyColumns' | 'mode' | 'deletedAt' | 'schema'
> &
  OptionsOf<'breakLock'>;

/** The target of changes whose rows a table mirrors. It keeps the state of the watch, too. */
export function mirrorTarget<T extends object>(
  to: string,
  named: TableName,
  options: MirrorTargetOptions,
  environment: Environment,
): Target<Change<T>> {
  const { columns, keyColumns: key, mode, deletedAt = false, schema, breakLock = false } = options;
  const shared = { table: named.table, columns, key, mode, deletedAt, schema, breakLock };
  const open = async (): Promise<Sink<Change<T>>> => {
    if (named.kind === 'sqlite') {
      const { sqliteMirror } = await import('@sluice/exporters/sqlite');
      return sqliteMirror<T>({ ...shared, path: resolve(environment.folder, named.path) });
    }
    const { postgresMirror } = await import('@sluice/exporters/postgres');
    return postgresMirror<T>({ ...shared, ...addPassword(named.url, environment) });
  };
  return { kind: 'table', name: to, format: named.kind, open };
}

/** Where a server is, with the password of the environment. */
export function addPassword(
  url: string,
  { variables, secrets }: Environment,
): { readonly url: string; readonly password?: string } {
  const { PGPASSWORD: password } = variables;
  if (password === undefined) return { url };
  secrets.add(password);
  return { url, password };
}
