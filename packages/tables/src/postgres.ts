/**
 * Rows as a table of PostgreSQL.
 *
 * @module @sluice/tables/postgres
 */

import { systemClock } from '@sluice/core';
import { checkOptions } from '@sluice/core/kit';
import { placeNames, postgresDatabase, type PostgresPlace } from './postgres/database.js';
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

export type { PostgresPlace } from './postgres/database.js';
export { postgresState, type PostgresState, type PostgresStateOptions } from './postgres/postgresState.js';
export type * from './publicTypes.js';

/** Options of {@link postgres}. */
export interface PostgresOptions extends TableOptions, PostgresPlace {}

/** Options of {@link postgresMirror}. */
export interface PostgresMirrorOptions extends MirrorOptions, PostgresPlace {}

/**
 * A table of PostgreSQL, 13 or newer. Rows and checkpoint are committed in one transaction, so an export that was
 * interrupted resumes without other state; readers see all new rows at once, when the export ends. A server that is
 * away, or keeps the table locked, is tried again as `retry` says, and nothing is written twice.
 *
 * Integers and numbers are `numeric`, timestamps `timestamptz`, JSON is `json`. In text, a NUL character and
 * an unpaired surrogate become U+FFFD.
 *
 * It needs the packages `pg` and `pg-copy-streams`.
 *
 * @example
 * await exportTo(holdings, postgres({ url: 'postgres://me@localhost/nfts', table: 'holdings', mode: 'merge' })).run();
 *
 * @throws ConfigError if an option is invalid. Later: SinkError if the server refuses, the table has other columns, or a
 * value does not fit; LockError if another process writes the table.
 */
export function postgres<T extends object>(options: PostgresOptions): TableSink<T> {
  checkOptions('postgres()', options, { ...tableOptionNames, ...placeNames, table: 'text' });
  const { database, where } = postgresDatabase(options);
  return tableSink<T>(database, `${where}#${options.table}`, options);
}

/**
 * A table of PostgreSQL that follows a watch: it equals the accepted snapshot of its last generation. Each generation is
 * one transaction of inserts, updates and deletes, together with the checkpoint, so readers never see half of one, and a
 * mirror that was killed, or lost its connection, goes on from there. Its `state` is for the watch, too.
 *
 * The types are those of {@link postgres}, and so is what it needs.
 *
 * @example
 * const mirror = postgresMirror<EvmStream>({ url: 'postgres://me@localhost/nfts', table: 'streams', key: ['id'] });
 * await exportTo(watch(client.streams.list(), { every: 30_000, state: mirror.state }), mirror).run();
 *
 * @throws ConfigError if an option is invalid. Later: SinkError if the table has rows that are not the mirror's, or other
 * columns; what `postgres` throws.
 */
export function postgresMirror<T extends object>(options: PostgresMirrorOptions): Mirror<T> {
  checkOptions('postgresMirror()', options, { ...mirrorOptionNames, ...placeNames, table: 'text' });
  const { database, where } = postgresDatabase(options);
  return mirrorSink<T>(database, `${where}#${options.table}`, options);
}

/** Options of {@link readTable} and {@link readHistory}. The table may be a view, to read its rows. */
export interface ReadTableOptions extends Pick<PostgresPlace, 'url' | 'password'>, TableToRead {}

const readNames = { url: 'text', password: true, table: 'text', signal: true } as const;

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
  checkOptions('readTable()', options, readNames);
  return readRows(postgresDatabase(options), options, use);
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
  checkOptions('readHistory()', options, readNames);
  return readVersions(postgresDatabase(options), options, use);
}

/**
 * Removes the versions of a history that ended a while ago, in batches, and the polls before that time: the history begins
 * with the oldest poll that is left, and its function refuses earlier times. A watch may write the history meanwhile. If it
 * is interrupted, the same call goes on.
 *
 * @example
 * const keep = 90 * 86_400_000;
 * const signal = AbortSignal.timeout(3_600_000);
 * await compactHistory({ url: 'postgres://me@localhost/nfts', table: 'streams', keep, signal });
 *
 * @throws ConfigError if an option is invalid; SinkError if the server refuses, or the table is not a history.
 */
export function compactHistory(options: CompactOptions & PostgresPlace): Promise<CompactReport> {
  checkOptions('compactHistory()', options, {
    ...placeNames,
    table: 'text',
    keep: 'a number',
    signal: true,
    onProgress: true,
  });
  const { database } = postgresDatabase(options);
  return compact(database, options, systemClock.now());
}
