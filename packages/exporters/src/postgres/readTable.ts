import { checkOptions, ConfigError } from '@sluice/core';
import { ConnectionLost, quoteTable, type Database, type Session } from '../sql/database.js';
import { missingTable, openHistory, type History, type RowReader } from '../sql/readHistory.js';
import { postgresDatabase, type PostgresPlace } from './database.js';

/** Options of {@link readTable} and {@link readHistory}. */
export interface ReadTableOptions extends Pick<PostgresPlace, 'url' | 'password'> {
  /** `TABLE` or `SCHEMA.TABLE`; to read its rows, a view, too. */
  readonly table: string;
  /** Cancels the read. */
  readonly signal: AbortSignal;
}

const optionNames = { url: 'text', password: true, table: 'text', signal: true } as const;

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
  checkOptions('readTable()', options, optionNames);
  const { table } = options;
  return readRows(options, async (reader, { database, where }) => {
    const columns = await reader.readColumns(table);
    if (!columns) throw missingTable(database, table, where);
    return use({ columns: columns.map(({ name }) => name), rows: reader.each(`SELECT * FROM ${quoteTable(table)}`) });
  });
}

/**
 * Reads the history that a watch has written into a table of PostgreSQL, as it is at one moment, and changes nothing.
 *
 * @param use reads the history, which ends with its promise
 * @example
 * const signal = AbortSignal.timeout(60_000);
 * await readHistory({ url, table: 'streams', signal }, async (history) => {
 *   for await (const { observedAt, type, key } of history.changes()) console.log(observedAt, key, type);
 * });
 *
 * @throws ConfigError if an option is invalid; SinkError, without the password, if the server refuses, is not there, has no
 * such table, or one that is not a history.
 */
export async function readHistory<R>(options: ReadTableOptions, use: (history: History) => Promise<R>): Promise<R> {
  checkOptions('readHistory()', options, optionNames);
  return readRows(options, async (reader, { database, where }) =>
    use(await openHistory(database, options.table, { reader, where })),
  );
}

type UseReader<R> = (reader: RowReader, of: { readonly database: Database; readonly where: string }) => Promise<R>;

async function readRows<R>({ url, password, table, signal }: ReadTableOptions, use: UseReader<R>): Promise<R> {
  const { database, where } = postgresDatabase({ url, password });
  const fault = database.findNameFault(table, 'table');
  if (fault !== undefined) throw new ConfigError(`The table ${JSON.stringify(table)} ${fault}.`, { option: 'table' });
  const connection = await database.connect(signal);
  try {
    return await connection.transaction(
      (session) => {
        let cursors = 0;
        const each: RowReader['each'] = (...query) => fetchRows(session, `_sluice_rows_${(cursors += 1)}`, query);
        return use({ ...session, each }, { database, where });
      },
      { isOneMoment: true },
    );
  } catch (error) {
    throw error instanceof ConnectionLost ? (error.cause ?? error) : error;
  } finally {
    await connection.close();
  }
}

async function* fetchRows(
  session: Session,
  cursor: string,
  [sql, ...parameters]: Parameters<RowReader['each']>,
): AsyncGenerator<Readonly<Record<string, unknown>>, void, undefined> {
  await session.run(`DECLARE ${cursor} NO SCROLL CURSOR FOR ${sql}`, ...parameters);
  for (;;) {
    const rows = await session.rows(`FETCH ${pageRows} FROM ${cursor}`);
    yield* rows;
    if (rows.length < pageRows) return;
  }
}
