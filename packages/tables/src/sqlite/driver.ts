import { type BigIntStats, existsSync, realpathSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { setImmediate as nextTurn, setTimeout as delay } from 'node:timers/promises';
import { ConfigError, LockError, SinkError, SluiceError } from '@sluice/core';
import { type Fields, isRecord } from '@sluice/core/kit';
import {
  quote,
  type Connection,
  type DatabaseOutage,
  type Refusal,
  type Session,
  type SqlValue,
  type Unique,
} from '../sql/database.js';

/** What is used of `node:sqlite`, and of packages with the same interface. */
interface SqliteModule {
  readonly DatabaseSync: new (path: string, options?: { readonly readOnly?: boolean }) => SqliteDatabase;
}

interface SqliteDatabase {
  exec(sql: string): void;
  prepare(sql: string): SqliteStatement;
  close(): void;
}

interface SqliteStatement {
  setReadBigInts(isOn: boolean): void;
  all(...parameters: readonly SqlValue[]): readonly unknown[];
  iterate(...parameters: readonly SqlValue[]): Iterator<unknown>;
  run(...parameters: readonly SqlValue[]): { readonly changes: number | bigint };
}

/** Ms that a transaction waits for the one of another program, until it is known what the export waits for. */
const longestWait = 4_000;
/** The same for whoever reads, who waits once. */
const longestReadWait = 15_000;
/** More take no less time, and their values have to be within the limit of a statement. */
const rowsOfStatement = 10;
const sqlite = { error: 1, busy: 5, readOnly: 8, io: 10, full: 13, cantOpen: 14, constraint: 19, notADatabase: 26 };

/** Opens a database file, and creates it if it is not there. */
export async function openSqlite(path: string, signal: AbortSignal): Promise<Connection> {
  const db = await openFile(path, { readOnly: false });
  let journal = 'delete';
  let files: OpenFiles;
  try {
    files = watchFiles(path);
    await whenFree(() => (journal = files.readJournal(db)), path, signal);
    // A commit survives a power cut, too; readers see the state before a transaction until it ends.
    const mode = files.haveOtherNames ? journal : 'WAL';
    // A staging table leaves as many pages as the table has. In a file of others, SQLite keeps them for later rows.
    const vacuum = files.isNew ? 'PRAGMA auto_vacuum = FULL;' : '';
    await whenFree(
      () => db.exec(`PRAGMA busy_timeout = 0; ${vacuum} PRAGMA journal_mode = ${mode}; PRAGMA synchronous = FULL`),
      path,
      signal,
    );
  } catch (error) {
    db.close();
    throw explainError(error, path);
  }
  const session = createSession(db, signal);
  return {
    async transaction(work) {
      try {
        await whenFree(() => db.exec('BEGIN IMMEDIATE'), path, signal);
        files.check();
        const result = await work(session);
        // Without WAL, which some file systems lack, readers hold it up.
        await whenFree(() => db.exec('COMMIT'), path, signal);
        files.check();
        return result;
      } catch (error) {
        rollBack(db);
        throw explainError(error, path);
      }
    },
    close() {
      try {
        // It would remove files by name, which may be those of another database now.
        files.check();
        // As it was: in WAL mode, the rows may be in a second file, which whoever copies the first one would miss.
        db.exec(`PRAGMA wal_checkpoint(TRUNCATE); PRAGMA journal_mode = ${journal}`);
      } catch {
        // Somebody else is reading it. SQLite does the same when the last one closes it.
      }
      db.close();
      return Promise.resolve();
    },
  };
}

async function openFile(path: string, { readOnly }: { readonly readOnly: boolean }): Promise<SqliteDatabase> {
  const { DatabaseSync } = await loadSqlite();
  try {
    return new DatabaseSync(path, { readOnly });
  } catch (error) {
    throw explainError(error, path, readOnly ? 'read' : 'written');
  }
}

/** The files of an open database. SQLite goes on writing them wherever they are, even if they have no name any more. */
interface OpenFiles {
  /** Within a transaction or after it. @throws SinkError if the names are those of other files now, or of none. */
  check(): void;
  /** The database has hard links. */
  readonly haveOtherNames: boolean;
  /** The database was empty when it was opened, so nobody has chosen anything for it. */
  readonly isNew: boolean;
  /** How the database keeps its journal. @throws SinkError if rows may be in a WAL beside another of its names. */
  readJournal(db: SqliteDatabase): string;
}

/**
 * Remembers which file was opened just now.
 *
 * A WAL has the latest rows, and is found by the name: programs that use different names of a file destroy each other's
 * rows. Without a WAL their transactions wait for each other, since SQLite locks the file itself.
 *
 * @see https://www.sqlite.org/howtocorrupt.html, section 2.5
 */
function watchFiles(path: string): OpenFiles {
  const opened = statSync(path, { bigint: true });
  const haveOtherNames = opened.nlink > 1n;
  const wal = statSync(`${realpathSync(path)}-wal`, { throwIfNoEntry: false });
  const hasWal = wal !== undefined && wal.size > 0;
  const known = new Map([[path, identifyFile(opened)]]);
  const names = [path, ...['-wal', '-shm'].map((end) => realpathSync(path) + end)];
  return {
    haveOtherNames,
    isNew: opened.size === 0n,
    readJournal(db) {
      const journal = readJournal(db);
      if (journal !== 'wal' || !haveOtherNames || hasWal) return journal;
      throw new SinkError(
        `${path} has ${opened.nlink} names (hard links) and is in WAL mode, so its latest rows may be in a file beside another name, where this one would lose them. Use the name that other programs use, or let one of them run PRAGMA journal_mode = DELETE and close it.`,
        { details: { path } },
      );
    },
    check() {
      for (const name of names) {
        const found = statSync(name, { bigint: true, throwIfNoEntry: false });
        const identity = found && identifyFile(found);
        // The files beside it come with the first transaction.
        if (identity !== undefined && !known.has(name)) known.set(name, identity);
        if (identity === known.get(name)) continue;
        throw new SinkError(
          `${name} was ${found ? 'replaced' : 'moved or removed'} during the run, so rows that were written since may not be there. Find out which program does that, then run this again.`,
          { details: { path: name } },
        );
      }
    },
  };
}

function identifyFile({ dev, ino }: BigIntStats): string {
  return `${dev}:${ino}`;
}

/** Opens a database file only to read it. @throws SinkError if it is not there. */
export async function readSqlite(path: string, signal: AbortSignal): Promise<Connection> {
  if (!existsSync(path)) throw new SinkError(`${path} does not exist.`, { details: { path } });
  const db = await openFile(path, { readOnly: true });
  return {
    async transaction(work) {
      db.exec('PRAGMA busy_timeout = 0; BEGIN');
      try {
        // Only a query begins to read.
        await whenFree(() => db.exec('SELECT 1 FROM sqlite_schema'), path, signal, longestReadWait);
        let copies = 0;
        return await work({
          ...createSession(db, signal),
          eachOfCopy(sql, ...parameters) {
            const copy = `temp._sluice_copy_${(copies += 1)}`;
            db.prepare(`CREATE TABLE ${copy} AS ${sql}`).run(...parameters);
            db.exec('COMMIT; BEGIN');
            return eachRow(db.prepare(`SELECT * FROM ${copy} ORDER BY _rowid_`), [], signal);
          },
        });
      } catch (error) {
        throw explainError(error, path, 'read');
      } finally {
        db.exec('ROLLBACK');
      }
    },
    close() {
      db.close();
      return Promise.resolve();
    },
  };
}

/** Rows until a signal gets its turn. */
const rowsOfTurn = 500;

async function* eachRow(
  statement: SqliteStatement,
  parameters: readonly SqlValue[],
  signal: AbortSignal,
): AsyncGenerator<Fields, void, undefined> {
  statement.setReadBigInts(true);
  const rows = statement.iterate(...parameters);
  for (let next = rows.next(), nth = 1; !next.done; next = rows.next(), nth += 1) {
    const row: unknown = next.value;
    if (isRecord(row)) yield row;
    if (nth % rowsOfTurn === 0) await nextTurn(undefined, { signal });
  }
}

/** How the database keeps its journal. A statement that returned it would keep the files open after `close`. */
function readJournal(db: SqliteDatabase): string {
  try {
    db.exec('BEGIN; PRAGMA journal_mode = DELETE');
    return 'delete';
  } catch (error) {
    // A WAL is not left within a transaction; and that of another name can't be read within its process.
    const isWal = error instanceof Error && error.message.includes('wal mode');
    if (isWal || readCode(error) === sqlite.io) return 'wal';
    throw error;
  } finally {
    rollBack(db);
  }
}

function rollBack(db: SqliteDatabase): void {
  try {
    db.exec('ROLLBACK');
  } catch {
    // SQLite itself has rolled back, e.g. because the disk is full.
  }
}

/** Node's own from version 22.13 on, unless the package is installed. @throws ConfigError if there is neither. */
async function loadSqlite(): Promise<SqliteModule> {
  try {
    return await import('@photostructure/sqlite');
  } catch (error) {
    if (!isMissing(error)) throw error;
  }
  try {
    // A specifier in a variable, since this version of Node may not know the module.
    const own = 'node:sqlite';
    const found: unknown = await import(own);
    if (isSqlite(found)) return found;
  } catch {
    // Below is what to do.
  }
  throw new ConfigError(
    'For SQLite, this version of Node needs a package: npm install @photostructure/sqlite@1, with -g if Sluice is installed globally. From Node 22.13 on, there is nothing to install.',
  );
}

function isSqlite(module: unknown): module is SqliteModule {
  return isRecord(module) && 'DatabaseSync' in module;
}

function isMissing(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ERR_MODULE_NOT_FOUND';
}

/** Another program may have a transaction of its own. Waiting inside of SQLite would block this process. */
async function whenFree(work: () => unknown, path: string, signal: AbortSignal, longest = longestWait): Promise<void> {
  for (let waited = 0, pause = 1; ; waited += pause, pause = Math.min(2 * pause, 100)) {
    try {
      work();
      return;
    } catch (error) {
      if (readCode(error) !== sqlite.busy) throw error;
      if (waited > longest)
        throw new LockError(
          `${path} is in use by another program, whose transaction has not ended for ${longest / 1_000} s. End it, then run this again: what was committed is kept.`,
          { path, isBusy: true },
        );
    }
    await delay(pause, undefined, { signal });
  }
}

/** Why the file takes no transaction now, if it may take the same one later. */
export function findOutage(error: unknown): DatabaseOutage | undefined {
  if (!SluiceError.is(error, 'lock') || error.details['isBusy'] !== true) return undefined;
  return { cause: 'locked by another program', isConnected: true };
}

function createSession(db: SqliteDatabase, signal: AbortSignal): Session {
  const statements = new Map<string, SqliteStatement>();
  const prepare = (sql: string): SqliteStatement => {
    const known = statements.get(sql);
    if (known) return known;
    const statement = db.prepare(sql);
    statement.setReadBigInts(true);
    statements.set(sql, statement);
    return statement;
  };
  const query = (sql: string, ...parameters: readonly SqlValue[]): Fields[] =>
    prepare(sql)
      .all(...parameters)
      .filter(isRecord);
  /** SQLite does not tell them, so they are tried. A part of a compound SELECT has those of its first one. */
  const findCollations = (table: string, names: readonly string[]) => {
    if (names.length === 0) return [];
    const columns = names.map(quote);
    const [found] = query(
      `SELECT ${columns.map((column, nth) => `${collationOf(column)} AS "${nth}"`).join()} FROM (SELECT ${columns.join()} FROM ${quote(table)} WHERE 0 UNION ALL SELECT ${columns.map(() => "'A'").join()})`,
    );
    return names.map((_, nth) => collations[Number(found?.[nth])]);
  };
  const changes = (sql: string, parameters: readonly SqlValue[]): number =>
    Number(prepare(sql).run(...parameters).changes);
  return {
    rows: (sql, ...parameters) => Promise.resolve(query(sql, ...parameters)),
    each: (sql, ...parameters) => eachRow(db.prepare(sql), parameters, signal),
    run: (sql, ...parameters) => Promise.resolve(changes(sql, parameters)),
    runEach: (sql, lists) => Promise.resolve(lists.map((parameters) => changes(sql, parameters))),
    insert(table, columns, rows) {
      const marks = `(${columns.map(() => '?').join(', ')})`;
      const into = `INSERT INTO ${quote(table)} (${columns.map(quote).join(', ')}) VALUES `;
      const one = prepare(into + marks);
      const several = prepare(into + new Array(rowsOfStatement).fill(marks).join());
      const alone = rows.length % rowsOfStatement;
      let added = 0;
      for (const row of rows.slice(0, alone)) added += Number(one.run(...row).changes);
      for (let from = alone; from < rows.length; from += rowsOfStatement) {
        const values: SqlValue[] = [];
        for (const row of rows.slice(from, from + rowsOfStatement)) values.push(...row);
        added += Number(several.run(...values).changes);
      }
      return Promise.resolve(added);
    },
    readColumns(table) {
      // 1 is a column of a virtual table that is no column of its rows; what is above is computed.
      const found = query(
        `SELECT c.*, c.name COLLATE NOCASE IN (SELECT f."to" FROM sqlite_schema AS s, pragma_foreign_key_list(s.name) AS f WHERE s.type = 'table' AND f."table" = ?1 COLLATE NOCASE AND f.on_update = 'CASCADE') AS followed FROM pragma_table_xinfo(?1) AS c`,
        table,
      ).filter(({ hidden }) => hidden !== 1n);
      if (found.length === 0) return Promise.resolve(undefined);
      const collations = findCollations(
        table,
        found.map(({ name }) => String(name)),
      );
      return Promise.resolve(
        found.map(({ name, type, notnull, dflt_value: initial, pk, hidden, followed }, nth) => ({
          name: String(name),
          declared: String(type),
          isGenerated: hidden !== 0n,
          isNullable: notnull !== 1n,
          isFollowed: followed === 1n,
          ...collations[nth],
          // SQLite numbers the rows of an integer key itself.
          isRequired:
            notnull === 1n && initial === null && hidden === 0n && !(pk === 1n && /^integer$/i.test(String(type))),
        })),
      );
    },
    readTraits(table) {
      const rows = (sql: string): Fields[] => query(sql, table);
      const [found] = rows(
        "SELECT type, sql FROM sqlite_schema WHERE type IN ('table', 'view') AND name = ?1 COLLATE NOCASE",
      );
      if (!found) return Promise.resolve(undefined);
      const triggers = rows("SELECT 1 FROM sqlite_schema WHERE type = 'trigger' AND tbl_name = ?1 COLLATE NOCASE");
      const schema = query('SELECT type, sql FROM sqlite_schema');
      const references = rows(
        `SELECT 1 FROM sqlite_schema AS s, pragma_foreign_key_list(s.name) AS f WHERE s.type = 'table' AND f."table" = ?1 COLLATE NOCASE AND f.on_delete IN ('CASCADE', 'SET NULL', 'SET DEFAULT')`,
      );
      const indexed = rows(
        'SELECT l.name AS of, l.partial, i.name, i.coll FROM pragma_index_list(?1) AS l, pragma_index_xinfo(l.name) AS i WHERE l."unique" AND i.key ORDER BY l.seq, i.seqno',
      );
      // An index of an expression, or with a collation of its own, takes other texts for equal.
      const named = indexed.filter(({ name }) => name !== null);
      const own = findCollations(
        table,
        named.map(({ name }) => String(name)),
      );
      const isPlain = new Set(named.filter(({ coll }, nth) => coll === (own[nth]?.collation ?? 'BINARY')));
      const uniques = new Map<unknown, Unique>();
      for (const { of, name, partial } of indexed)
        uniques.set(of, { columns: [...(uniques.get(of)?.columns ?? []), String(name)], isPartial: partial === 1n });
      for (const row of indexed) if (!isPlain.has(row)) uniques.delete(row['of']);
      const isTable = found['type'] === 'table';
      // Only a definition has its conflict clauses, by which new rows take the place of others.
      const hasConflicts = /\bCONFLICT\b/i.test(String(found['sql']));
      const isNumbered = isTable && triggers.length > 0 && !/\bWITHOUT\s+ROWID\b/i.test(String(found['sql']));
      const [last] = isNumbered ? query(`SELECT CAST(max(_rowid_) AS TEXT) AS nth FROM ${quote(table)}`) : [];
      return Promise.resolve({
        kind: isTable ? 'table' : 'other',
        hasRules: triggers.length > 0 || hasConflicts,
        keepsRows: !schema.some(({ type, sql }) => (type === 'trigger' ? removal : replacement).test(String(sql))),
        isReferenced: references.length > 0,
        ...(isNumbered &&
          !hasConflicts && { isAdded: `_rowid_ > ${typeof last?.['nth'] === 'string' ? last['nth'] : 0}` }),
        uniques: [...uniques.values()],
      });
    },
  };
}

/** In a definition: what takes the place of rows, which the function of the same name does not, and what removes some. */
const replacement = /\bREPLACE\b(?!\s*\()/i;
const removal = new RegExp(`\\bDELETE\\b|${replacement.source}`, 'i');

/** An expression that has the number of a collation, of a column that has the value `A`. */
const collationOf = (column: string): string => `('a' = ${column}) + 2 * ('A ' = ${column})`;
const collations: readonly { readonly collation?: string }[] = [{}, { collation: 'NOCASE' }, { collation: 'RTRIM' }];

/** Why a constraint or an index of a table refused a statement; `undefined` if none did. */
export function readRefusal(error: unknown): Refusal | undefined {
  if (readCode(error) !== sqlite.constraint || !(error instanceof Error)) return undefined;
  return { message: `${error.message}.`, isTwin: error.message.startsWith('UNIQUE') };
}

/** Why a table can't be altered, e.g. a virtual one. */
export function readAlterRefusal(error: unknown): string | undefined {
  return readCode(error) === sqlite.error && error instanceof Error ? error.message : undefined;
}

function readCode(error: unknown): number | undefined {
  if (!(error instanceof Error) || !('errcode' in error) || typeof error.errcode !== 'number') return undefined;
  // The lower byte is the code; what is above it says more.
  return error.errcode & 0xff;
}

/** Errors of SQLite as those of a sink; all others as they are. */
function explainError(error: unknown, path: string, done: 'written' | 'read' = 'written'): unknown {
  const code = readCode(error);
  if (code === undefined || !(error instanceof Error)) return error;
  const why = code === sqlite.cantOpen ? whyClosed(path, done) : explainCode(code, error.message);
  return new SinkError(`${path} can't be ${done}: ${why}`, {
    details: { path, sqliteCode: code, isTemporary: fileFaults.includes(code) },
    cause: error,
  });
}

/** What SQLite says of the file and its disk, and not of rows. */
const fileFaults: readonly number[] = [sqlite.readOnly, sqlite.io, sqlite.full, sqlite.cantOpen];

/** Why a file can't be opened. SQLite has one code for all of it. */
function whyClosed(path: string, done: 'written' | 'read'): string {
  const folder = dirname(path);
  if (statSync(path, { throwIfNoEntry: false })?.isDirectory()) return 'it is a folder. Give the name of a file.';
  if (existsSync(path)) return 'there is no permission to open it.';
  if (!existsSync(folder)) return `the folder ${folder} does not exist. Create it, or give another path.`;
  return done === 'read'
    ? 'it is not there.'
    : `no file can be created in the folder ${folder}. Check its permissions.`;
}

function explainCode(code: number, message: string): string {
  switch (code) {
    case sqlite.full:
      return 'the disk is full. Make room, then run it again: what was committed is kept.';
    case sqlite.io:
      return `the disk reports an error (${message}). Check it and its limits, then run it again: what was committed is kept.`;
    case sqlite.readOnly:
      return 'there is no permission to write it.';
    case sqlite.notADatabase:
      return 'it is not a database of SQLite. Name another file.';
    default:
      // An index may have the name of a table that is to be created.
      return message.includes('already an index named')
        ? `${message}. Rename it, or write into another file.`
        : `${message}.`;
  }
}
