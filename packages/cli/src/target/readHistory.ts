import { resolve } from 'node:path';
import type { Change } from '@sluice/core';
import type { History } from '@sluice/exporters/sqlite';
import type { Environment } from '../environment/environment.js';
import { findDeclared } from '../source/declaredRows.js';
import { addPassword, type TableName } from './tableTarget.js';

type Row = Readonly<Record<string, unknown>>;

/** Reads the history in a table as it is at one moment. @param use reads it, which ends with its promise */
export async function readHistory<R>(
  named: TableName,
  environment: Environment,
  use: (history: History) => Promise<R>,
): Promise<R> {
  const { folder, signal } = environment;
  const { table } = named;
  if (named.kind === 'sqlite') {
    const { readHistory } = await import('@sluice/exporters/sqlite');
    return readHistory({ path: resolve(folder, named.path), table, signal }, (history) => use(withJson(history)));
  }
  const { readHistory } = await import('@sluice/exporters/postgres');
  return readHistory({ table, signal, ...addPassword(named.url, environment) }, use);
}

/** A history of SQLite, which has no type for JSON: where the source tells which columns have some, it is parsed. */
function withJson(history: History): History {
  const types = Object.entries(findDeclared(history.columns)?.schema.types ?? {});
  const columns = types.flatMap(([name, type]) => (type === 'json' ? [name] : []));
  const parsed = (row: Row): Row => ({
    ...row,
    ...Object.fromEntries(columns.filter((name) => Object.hasOwn(row, name)).map((name) => [name, parse(row[name])])),
  });
  async function* changes(...options: Parameters<History['changes']>): AsyncGenerator<Change<Row>> {
    for await (const change of history.changes(...options)) yield withRows(change, parsed);
  }
  return { ...history, changes };
}

function withRows(change: Change<Row>, read: (row: Row) => Row): Change<Row> {
  switch (change.type) {
    case 'removed':
      return { ...change, before: read(change.before) };
    case 'changed':
      return { ...change, before: read(change.before), after: read(change.after) };
    default:
      return { ...change, after: read(change.after) };
  }
}

function parse(value: unknown): unknown {
  try {
    return typeof value === 'string' ? JSON.parse(value) : value;
  } catch {
    return value;
  }
}
