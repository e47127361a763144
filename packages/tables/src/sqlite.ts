/**
 * Rows as a table of SQLite.
 *
 * @module @sluice/tables/sqlite
 */

import { hash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { realpath } from 'node:fs/promises';
import { resolve } from 'node:path';
import { ConfigError, SinkError, systemClock } from '@sluice/core';
import { checkOptions } from '@sluice/core/kit';
import { type FileState, fileState } from '@sluice/core/node';
import { quote, type Database, type Session, type TableName } from './sql/database.js';
import { compactHistory as compact, type CompactOptions, type CompactReport } from './sql/compactHistory.js';
import { type Mirror, type MirrorOptions, mirrorOptionNames, mirrorSink } from './sql/mirror.js';
import type { TableSink } from './sql/ledger.js';
import type { History } from './sql/readHistory.js';
import {
  readHistory as readVersions,
  readTable as readRows,
  type TableRows,
  type TableToRead,
} from './sql/readTable.js';
import { type TableOptions, tableOptionNames, tableSink } from './sql/tableSink.js';
import { findOutage, openSqlite, readAlterRefusal, readRefusal, readSqlite } from './sqlite/driver.js';

export type * from './publicTypes.js';

/** Where a database of SQLite is. */
export interface SqlitePlace {
  /** The database file. It is created if it is not there. */
  readonly path: string;
  /** Takes the lock from a holder on another machine, whose state is unknown. Default `false`. */
  readonly breakLock?: boolean | undefined;
}

const placeNames = { path: true, breakLock: true } as const satisfies Readonly<Record<keyof SqlitePlace, true>>;
const requiredNames = { path: 'text', table: 'text' } as const;

/** Options of {@link sqlite}. */
export interface SqliteOptions extends TableOptions, SqlitePlace {}

/** Options of {@link sqliteMirror}. */
export interface SqliteMirrorOptions extends MirrorOptions, SqlitePlace {}

/**
 * A table of SQLite. Rows and checkpoint are committed in one transaction, so an export that was interrupted resumes
 * without other state; readers see all new rows at once, when the export ends.
 *
 * Numbers of any size are stored as text, since SQLite would round them; booleans are 0 and 1, timestamps ISO 8601.
 * In text, a NUL character and an unpaired surrogate become U+FFFD.
 *
 * Node before 22.13 needs the package `@photostructure/sqlite`, version 1.
 *
 * @example
 * await exportTo(holdings, sqlite({ path: 'holdings.sqlite', table: 'holdings', mode: 'replace' })).run();
 *
 * @throws ConfigError if an option is invalid. Later: SinkError if the file can't be written, the table has other
 * columns, or a value does not fit; LockError if another process writes the table.
 */
export function sqlite<T extends object>(options: SqliteOptions): TableSink<T> {
  checkOptions('sqlite()', options, { ...tableOptionNames, ...placeNames, ...requiredNames });
  const { database, where } = sqliteDatabase(options);
  return tableSink<T>(database, `${where}#${options.table}`, options);
}

/**
 * A table of SQLite that follows a watch: it equals the accepted snapshot of its last generation. Each generation is one
 * transaction of inserts, updates and deletes, together with the checkpoint, so readers never see half of one, and a
 * mirror that was killed goes on from there. Its `state` is for the watch, too.
 *
 * The types are those of {@link sqlite}, and so is what it needs.
 *
 * @example
 * const mirror = sqliteMirror<EvmStream>({ path: 'streams.sqlite', table: 'streams', key: ['id'] });
 * await exportTo(watch(client.streams.list(), { every: 30_000, state: mirror.state }), mirror).run();
 *
 * @throws ConfigError if an option is invalid. Later: SinkError if the table has rows that are not the mirror's, or other
 * columns; what `sqlite` throws.
 */
export function sqliteMirror<T extends object>(options: SqliteMirrorOptions): Mirror<T> {
  checkOptions('sqliteMirror()', options, { ...mirrorOptionNames, ...placeNames, ...requiredNames });
  const { database, where } = sqliteDatabase(options);
  return mirrorSink<T>(database, `${where}#${options.table}`, options);
}

/** Options of {@link readTable} and {@link readHistory}. */
export interface ReadTableOptions extends Pick<SqlitePlace, 'path'>, TableToRead {}

/**
 * Reads a table or a view of SQLite as it is at one moment, and changes nothing. A writer may wait meanwhile. Integers are
 * large ones.
 *
 * @param use reads the rows, which end with its promise
 * @example
 * import { readTable } from '@sluice/tables/sqlite';
 *
 * const signal = AbortSignal.timeout(60_000);
 * const count = await readTable({ path: 'holdings.sqlite', table: 'holdings', signal }, async ({ rows }) => {
 *   let count = 0;
 *   for await (const row of rows) if (row['amount'] === '0') count += 1;
 *   return count;
 * });
 *
 * @throws ConfigError if an option is invalid; SinkError if the file is not there or can't be read, or has no such table.
 */
export async function readTable<R>(options: ReadTableOptions, use: (found: TableRows) => Promise<R>): Promise<R> {
  checkOptions('readTable()', options, { ...requiredNames, signal: true });
  return readRows(sqliteDatabase(options), options, use);
}

/**
 * Reads the history that a watch has written into a table of SQLite, as it is at one moment, and changes nothing.
 * A writer waits while polls and versions are read; changes are read from a copy.
 *
 * @param use reads the history, which ends with its promise
 * @example
 * import { readHistory } from '@sluice/tables/sqlite';
 *
 * const signal = AbortSignal.timeout(60_000);
 * await readHistory({ path: 'streams.sqlite', table: 'streams', signal }, async (history) => {
 *   for await (const { observedAt, type, key } of history.changes()) console.log(observedAt, key, type);
 * });
 *
 * @throws ConfigError if an option is invalid; SinkError if the file is not there or can't be read, has no such table, or one
 * that is not a history.
 */
export async function readHistory<R>(options: ReadTableOptions, use: (history: History) => Promise<R>): Promise<R> {
  checkOptions('readHistory()', options, { ...requiredNames, signal: true });
  return readVersions(sqliteDatabase(options), options, use);
}

/**
 * Removes the versions of a history that ended a while ago, in batches, and the polls before that time: the history begins
 * with the oldest poll that is left. A watch may write the history meanwhile. If it is interrupted, the same call goes on.
 *
 * @example
 * import { compactHistory } from '@sluice/tables/sqlite';
 *
 * const day = 86_400_000;
 * await compactHistory({ path: 'streams.sqlite', table: 'streams', keep: 90 * day, signal: AbortSignal.timeout(day) });
 *
 * @throws ConfigError if an option is invalid; SinkError if the file can't be written, or the table is not a history.
 */
export function compactHistory(options: CompactOptions & Pick<SqlitePlace, 'path'>): Promise<CompactReport> {
  checkOptions('compactHistory()', options, { ...requiredNames, keep: 'a number', signal: true, onProgress: true });
  const { database, where } = sqliteDatabase(options);
  if (!existsSync(where)) throw new SinkError(`${where} does not exist.`, { details: { path: where } });
  return compact(database, options, systemClock.now());
}

/** @throws ConfigError if the path does not name a file. */
function sqliteDatabase(place: SqlitePlace): { readonly database: Database; readonly where: string } {
  if (place.path === '') throw new ConfigError('The path of the database is empty.', { option: 'path' });
  if (/^(:memory:$|file:)/i.test(place.path))
    throw new ConfigError(
      `${place.path} is not the path of a file: a database in memory ends with its process, and a URI is not taken. Write the path alone.`,
      { option: 'path' },
    );
  const { breakLock = false } = place;
  const path = resolve(place.path);
  /** Its lock, in a folder that is there only while somebody holds it. The file is there, and may have several names. */
  const openState = async (table: TableName): Promise<FileState> =>
    fileState(`${await realpath(path)}-${folderName(table.full)}.sluice`, { breakLock });
  const database: Database = {
    name: 'sqlite',
    connect: (signal) => openSqlite(path, signal),
    connectToRead: (signal) => readSqlite(path, signal),
    findOutage,
    lock: async (_connection, table, signal) => (await openState(table)).lock(signal),
    async holder(_session, table) {
      const found = await (await openState(table)).holder();
      if (!found) return undefined;
      return {
        ...(found.process && { pid: found.process.pid, host: found.process.host }),
        ...(found.liveness !== 'unknown' && { isRunning: true }),
      };
    },
    findNameFault: (name, of) =>
      name.includes('\0')
        ? 'has a NUL character'
        : of === 'table' && /^sqlite_/i.test(name)
          ? 'begins with sqlite_, which SQLite keeps for itself'
          : undefined,
    foldName,
    hasSchemas: false,
    types,
    readRefusal: readRefusal,
    readAlterRefusal,
    exactCollation: 'BINARY',
    allowSwaps: 'let one of its columns be null',
    // A commit is near, and rows that wait for a larger one are copied by the garbage collector.
    rowsOfCommit: 2_500,
    identify: identifyTable,
    rowId: '_rowid_',
    order: { column: '_rowid_' },
  };
  return { database, where: path };
}

/** What identifies a table: an index without entries, which goes with it. Nothing else does, not even after a VACUUM. */
async function identifyTable(session: Session, table: string, mark?: string): Promise<string | undefined> {
  const find = async (): Promise<string | undefined> => {
    const [found] = await session.rows(
      `SELECT name FROM sqlite_schema WHERE type = 'index' AND tbl_name = ? COLLATE NOCASE AND name GLOB '_sluice_made_*'`,
      table,
    );
    return found && String(found['name']);
  };
  const known = await find();
  if (known !== undefined || mark === undefined) return known;
  const [isVirtual] = await session.rows(
    `SELECT 1 AS found FROM sqlite_schema WHERE type = 'table' AND name = ? COLLATE NOCASE AND sql LIKE 'CREATE VIRTUAL%'`,
    table,
  );
  const column = (await session.readColumns(table))?.find(({ isGenerated }) => !isGenerated);
  if (isVirtual || !column) return undefined;
  await session.run(`CREATE INDEX ${quote(`_sluice_made_${mark}`)} ON ${quote(table)} (${quote(column.name)}) WHERE 0`);
  return find();
}

/** SQLite takes only the letters of ASCII for the same in upper and lower case. */
function foldName(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => letter.toLowerCase());
}

/** A part of the name of a folder, the same for all names of a table. File systems have no room for long ones. */
function folderName(table: string): string {
  const name = encodeURIComponent(foldName(table).toWellFormed());
  return name.length <= 100 ? name : hash('sha256', name).slice(0, 32);
}

/**
 * A column of another affinity may change a value: text of digits becomes an integer, and a large integer a rounded real.
 *
 * @see https://www.sqlite.org/datatype3.html, section 3.1
 */
const types: Database['types'] = {
  text: { name: 'TEXT', fits: /^$|^(?!.*int).*(?:char|clob|text|blob)/is },
  boolean: { name: 'INTEGER', fits: /^/ },
  generation: { name: 'INTEGER', fits: /int/i },
};
