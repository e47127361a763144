import { ConfigError } from '@sluice/core';
import { ConnectionLost, quoteTable, type Database, type Session } from './database.js';
import { missingTable, openHistory, type History } from './readHistory.js';

/** Which table is read. */
export interface TableToRead {
  readonly table: string;
  /** Cancels the read. */
  readonly signal: AbortSignal;
}

/** The rows of a table, to be read once. */
export interface TableRows {
  readonly columns: readonly string[];
  readonly rows: AsyncIterable<Readonly<Record<string, unknown>>>;
}

/** A database, and where it is, for messages. */
interface Place {
  readonly database: Database;
  readonly where: string;
}

/** @throws SinkError if the table is not there */
export function readTable<R>(place: Place, { table, signal }: TableToRead, use: (found: TableRows) => Promise<R>) {
  const { database, where } = place;
  return readMoment(place, { table, signal }, async (session) => {
    const columns = await session.readColumns(table);
    if (!columns) throw missingTable(database, table, where);
    const rows = session.each(`SELECT * FROM ${quoteTable(table, database)}`);
    return use({ columns: columns.map(({ name }) => name), rows });
  });
}

/** @throws SinkError if the table is not there, or is not a history */
export function readHistory<R>(place: Place, { table, signal }: TableToRead, use: (history: History) => Promise<R>) {
  return readMoment(place, { table, signal }, async (session) => use(await openHistory(place, table, session)));
}

/** Reads a database as it is at one moment. */
async function readMoment<R>(
  { database }: Place,
  { table, signal }: TableToRead,
  use: (session: Session) => Promise<R>,
): Promise<R> {
  const fault = database.findNameFault(table, 'table');
  if (fault !== undefined) throw new ConfigError(`The table ${JSON.stringify(table)} ${fault}.`, { option: 'table' });
  const connection = await (database.connectToRead ?? database.connect)(signal);
  try {
    return await connection.transaction(use, { isOneMoment: true });
  } catch (error) {
    throw error instanceof ConnectionLost ? (error.cause ?? error) : error;
  } finally {
    await connection.close();
  }
}
