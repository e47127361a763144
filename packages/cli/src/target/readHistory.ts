import { resolve } from 'node:path';
import type { History } from '@sluice/exporters/sqlite';
import type { Environment } from '../environment/environment.js';
import { addPassword, type TableName } from './tableTarget.js';

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
    return readHistory({ path: resolve(folder, named.path), table, signal }, use);
  }
  const { readHistory } = await import('@sluice/exporters/postgres');
  return readHistory({ table, signal, ...addPassword(named.url, environment) }, use);
}
