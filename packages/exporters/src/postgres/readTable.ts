import { checkOptions, ConfigError, SinkError } from '@sluice/core';
import { ConnectionLost, quoteTable, type Session } from '../sql/database.js';
import { postgresDatabase, type PostgresPlace } from './database.js';

/** Options of {@link readTable}. */
export interface ReadTableOptions extends Pick<PostgresPlace, 'url' | 'password'> {
  /** `TABLE` or `SCHEMA.TABLE`; a view, too. */
  readonly table: string;
  /** Cancels the read. */
  readonly signal: AbortSignal;
}

/** The rows of a table, to be read once. */
export interface TableRows {
  readonly columns: readonly string[];
  readonly rows: AsyncIterable<Readonly<Record<string, unknown>>>;
}

/** Rows that are in memory at once. */
const pageRows = 500;

/**
 * Reads a table of PostgreSQL as it is at one moment, 500 rows at a time, and changes nothing. The values are those of
 * the driver: numbers that may be large are texts.
 *
 * @param use reads the rows, which end with its promise
 * @example
 * const signal = AbortSignal.timeout(60_000);
 * const count = await readTable({ url, table: 'holdings', signal }, async ({ rows }) => {
 *   let count = 0;
 *   for await (const row of rows) if (row['amount'] === '0') count += 1;
 *   return count;
 * });
 *
 * @throws ConfigError if an option is invalid; SinkError, without the password, if the server refuses, is not there, or
 * has no such table.
 */
export async function readTable<R>(options: ReadTableOptions, use: (found: TableRows) => Promise<R>): Promise<R> {
  checkOptions('readTable()', options, { url: 'text', password: true, table: 'text', signal: true });
  const { url, password, table, signal } = options;
  const { database, where } = postgresDatabase({ url, password });
  const fault = database.findNameFault(table, 'table');
  if (fault !== undefined) throw new ConfigError(`The table ${JSON.stringify(table)} ${fault}.`, { option: 'table' });
  const connection = await database.connect(signal);
  try {
    return await connection.transaction(async (session) => {
      const columns = await session.readColumns(table);
      if (!columns)
        throw new SinkError(`${where} has no table ${JSON.stringify(table)}, or its schema is closed to this user.`);
      return use({ columns: columns.map(({ name }) => name), rows: fetchRows(session, table) });
    });
  } catch (error) {
    throw error instanceof ConnectionLost ? (error.cause ?? error) : error;
  } finally {
    await connection.close();
  }
}

async function* fetchRows(
  session: Session,
  table: string,
): AsyncGenerator<Readonly<Record<string, unknown>>, void, undefined> {
  await session.run(`DECLARE _sluice_rows NO SCROLL CURSOR FOR SELECT * FROM ${quoteTable(table)}`);
  for (;;) {
    const rows = await session.rows(`FETCH ${pageRows} FROM _sluice_rows`);
    yield* rows;
    if (rows.length < pageRows) return;
  }
}
