import type { ColumnType } from '@sluice/core';
import type { Release, StoredTypes } from '@sluice/core/kit';

/** A value as a database stores it. */
export type SqlValue = string | number | bigint | null;

/** A column of a table, and the type of its values: that of rows, or the number of a generation. */
export interface TableColumn {
  readonly name: string;
  readonly type: ColumnType | 'generation';
}

/** A column that a table has: its type as the database calls it. */
export interface ExistingColumn {
  readonly name: string;
  readonly declared: string;
  /** The database computes it, and takes no other value. */
  readonly isGenerated?: boolean;
  /** It may not be null, and has no default. */
  readonly isRequired?: boolean;
  readonly isNullable?: boolean;
  /** Rows of other tables that refer to it get its new value (`ON UPDATE CASCADE`). */
  readonly isFollowed?: boolean;
  /** How it compares text, as SQL has it. Absent: character by character. */
  readonly collation?: string;
}

/** What a table does besides storing rows. */
export interface TableTraits {
  /** `writable`: it is not a table, but rows can be added, changed and removed in it. */
  readonly kind: 'table' | 'writable' | 'other';
  /** Triggers, rules, policies or conflict clauses may drop rows that a statement adds, changes or removes. */
  readonly hasRules: boolean;
  /** A crash of the server empties it. */
  readonly isUnlogged?: boolean;
  /** Rows of other tables go, or change, with the rows of this one that they refer to. */
  readonly isReferenced: boolean;
  /** The condition, as SQL has it, for rows that this transaction adds from now on. Absent if nothing tells them. */
  readonly isAdded?: string;
  /** Nothing that it does removes a row, nor do other tables. Default `false`: nobody knows. */
  readonly keepsRows?: boolean;
  /** Columns of which no two rows may have the same values. */
  readonly uniques: readonly Unique[];
}

/** Columns of which no two rows have the same values, unless one is null. */
export interface Unique {
  readonly columns: readonly string[];
  /** Only of the rows that a condition holds for. */
  readonly isPartial?: boolean;
  /** Two nulls are the same, too. */
  readonly isOfNulls?: boolean;
  /** Rows may have the same values until the end of the transaction. */
  readonly isDeferred?: boolean;
}

/** The name of a table. */
export interface TableName {
  /** As the user wrote it, for messages. */
  readonly given: string;
  /** With its schema: the same for all names of a table that the database does not fold. */
  readonly full: string;
}

/** How many rows a transaction added to a table, changed and removed. */
export interface Changes {
  readonly added: number;
  readonly changed: number;
  readonly removed: number;
}

/** Statements within one transaction. */
export interface Session {
  /** The rows of a query. Parameters stand where the text has `?`. */
  rows(sql: string, ...parameters: readonly SqlValue[]): Promise<readonly Readonly<Record<string, unknown>>[]>;
  /** The same, a few in memory at a time. They end with the transaction. */
  readonly each: (sql: string, ...parameters: readonly SqlValue[]) => AsyncIterable<Readonly<Record<string, unknown>>>;
  /** The same of a copy, while which nobody waits for the end of the transaction. Absent: nobody ever does. */
  readonly eachOfCopy?: Session['each'];
  /** Runs a statement; returns how many rows it changed. */
  run(sql: string, ...parameters: readonly SqlValue[]): Promise<number>;
  /**
   * Runs a statement once for each list of parameters, in this order; returns how many rows each one changed.
   *
   * @param columns what the parameters are values of
   * @throws RefusedValue if they are given, and the encoding of the database lacks a character
   */
  runEach(
    sql: string,
    parameters: readonly (readonly SqlValue[])[],
    columns?: readonly string[],
  ): Promise<readonly number[]>;
  /**
   * Adds rows to a table, in the fastest way that the driver has; returns how many were added.
   *
   * @throws RefusedValue if the database says which value it does not take.
   */
  insert(table: string, columns: readonly string[], rows: readonly (readonly SqlValue[])[]): Promise<number>;
  /** The columns of a table or view, in its order; `undefined` if there is none. */
  readColumns(table: string): Promise<readonly ExistingColumn[] | undefined>;
  /** What has this name; `undefined` if nothing has. */
  readTraits(table: string): Promise<TableTraits | undefined>;
  /**
   * What was done with the rows of a table, of its parts, and of what a view is made of, by statements and by triggers.
   * Only a difference within a transaction means something: it may have more. Absent if the database does not count.
   */
  readChanges?(table: string): Promise<Changes>;
}

/** A process that writes a table. */
export interface TableHolder {
  /** Absent if it is unknown. */
  readonly pid?: number;
  /** The name or address of its machine. */
  readonly host?: string;
  /** Absent if that is unknown, e.g. on another machine. */
  readonly isRunning?: true;
}

/** An open connection. One transaction runs at a time. */
export interface Connection {
  /**
   * A pooler may give each transaction another session of the server, so what belongs to a session stays behind there:
   * a lock, a setting, a temporary table. Default `false`.
   */
  readonly isPooled?: boolean;
  /** @throws ConnectionLost if the transaction may have been committed or not. */
  transaction<R>(
    work: (session: Session) => Promise<R>,
    options?: {
      /** It only reads, and sees the database as it is at its beginning. */
      readonly isOneMoment?: boolean;
      /** Ms that a statement waits for a lock, unless the database says. Default 60,000, or what the database does. */
      readonly maxLockWait?: number;
    },
  ): Promise<R>;
  close(): Promise<void>;
}

/** The connection ended: nobody knows whether its last transaction was committed. */
export class ConnectionLost extends Error {}

/** Why a database does not run a transaction now, and may later. */
export interface DatabaseOutage {
  /** In a few words, which quote nothing that the database said. */
  readonly cause: string;
  /** The connection is as good as before. Default `false`: the next attempt opens another one. */
  readonly isConnected?: boolean;
}

/** The database refused a value of an insert: that of this column, in the row of this index. */
export class RefusedValue extends Error {
  readonly row: number;
  readonly column: string;

  constructor(message: string, { row, column, cause }: { row: number; column: string; cause: unknown }) {
    super(message, { cause });
    this.row = row;
    this.column = column;
  }
}

/** A table refused a value of a statement. */
export interface Refusal {
  /** As the database says it. */
  readonly message: string;
  /** Another row has a value that no two rows may have. */
  readonly isTwin: boolean;
}

/** What the sinks for tables need of a database, and in what it differs from others. */
export interface Database {
  /** For messages and checkpoints: `sqlite`. */
  readonly name: string;
  connect(signal: AbortSignal): Promise<Connection>;
  /** A connection that only reads, beside whoever writes. Default: `connect`. @throws SinkError if nothing is there. */
  readonly connectToRead?: (signal: AbortSignal) => Promise<Connection>;
  /**
   * Keeps other writers off a table while the lock is held. It is a courtesy, which names the holder: what keeps the
   * rows right is the ledger's sequence. Through a pooler it only looks for a holder.
   *
   * @param isShared the workers of a run hold it together. A database that no run can write ignores that.
   * @throws LockError if somebody else holds it.
   */
  lock(connection: Connection, table: TableName, signal: AbortSignal, isShared?: boolean): Promise<Release>;
  /**
   * Why an attempt to connect or to run a transaction failed, if another one may succeed without any change; `undefined` if
   * not.
   *
   * @param hasWorked a transaction was committed before, so user, password, rights and server were right
   */
  readonly findOutage: (error: unknown, hasWorked: boolean) => DatabaseOutage | undefined;
  /** Who holds that lock, as far as anybody can tell. Locks nothing. */
  holder(session: Session, table: TableName): Promise<TableHolder | undefined>;
  /** Locks definitions until the transaction ends, where two runs that create the same table at once would fail. */
  readonly lockDefinitions?: (session: Session) => Promise<void>;
  /** What is wrong with the name of a column or a table, as `is longer than …`; `undefined` if nothing is. */
  readonly findNameFault: (name: string, of: 'column' | 'table') => string | undefined;
  /** The same text for all names that the database takes for the same. */
  readonly foldName: (name: string) => string;
  /** A dot in the name of a table separates its schema. Otherwise it is a part of the name. */
  readonly hasSchemas: boolean;
  /** The name of a table with its schema, whether it is there or not. Default: the name. */
  readonly withSchema?: (session: Session, table: string) => Promise<string>;
  readonly types: StoredTypes<DeclaredType> & { readonly generation: DeclaredType };
  /** Why a table refused a value of a statement, by its type, a constraint or an index; `undefined` if it did not. */
  readonly readRefusal: (error: unknown) => Refusal | undefined;
  /** Why the database refused to alter a table, without an end; `undefined` if it did not, or may not later. */
  readonly readAlterRefusal: (error: unknown) => string | undefined;
  /** The collation by which only the same text is equal. */
  readonly exactCollation: string;
  /** How a table lets rows swap values of which no two may be the same, for the end of a message. */
  readonly allowSwaps: string;
  /** After how many rows an export commits. Default 5,000: with more, the garbage collector copies rows that wait. */
  readonly rowsOfCommit?: number;
  /** Lets triggers fire now that wait for the end of the transaction. */
  readonly fireDeferred?: string;
  /** A column of a staging table has the type that it has in the target, and refuses what that would. */
  readonly stagesDeclaredTypes?: boolean;
  /** The condition, as SQL has it, under which a column of this type would cut a text. Default: none does. */
  readonly cut?: (name: string, declared: string) => string | undefined;
  /** A point in time as the database takes it; `undefined` if it can't. Default: the text that the row has. */
  readonly timestamp?: (micros: bigint) => string | undefined;
  /**
   * What a table has, and no other one that gets its name later; `undefined` if nothing tells.
   *
   * @param mark a name to mark it with, if the database has none of its own
   */
  readonly identify: (session: Session, table: string, mark?: string) => Promise<string | undefined>;
  /** The column that every table has, by which a row is found within a statement. */
  readonly rowId: string;
  /** A function of the versions that the rows of a history had at a time. Default: the database has none. */
  readonly atFunction?: (of: { readonly table: TableName; readonly at: string; readonly polls: string }) => {
    /** A query that has a row if there is a function of that name. */
    readonly find: string;
    readonly create: string;
  };
  /**
   * The column of a staging table that orders its rows, and its definition. `rowid` needs none, and no removal before
   * the staging table becomes the table itself.
   */
  readonly order: { readonly column: string; readonly definition?: string };
}

/** How a database declares a type of column. */
interface DeclaredType {
  /** Its name in a new table. */
  readonly name: string;
  /** The declared types of existing columns that hold its values unchanged. */
  readonly fits: RegExp;
}

/** How a database declares a type. */
export function declareType({ types }: Pick<Database, 'types'>, type: TableColumn['type']): DeclaredType {
  return types[type] ?? types.text;
}

/** The name of a column as SQL has it, whatever its characters. */
export function quote(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

/** The name of a table as SQL has it. */
export function quoteTable(name: string, { hasSchemas }: Pick<Database, 'hasSchemas'> = { hasSchemas: true }): string {
  return hasSchemas ? name.split('.').map(quote).join('.') : quote(name);
}

/** A name in the schema of a table. */
export function besideTable(table: string, name: string, { hasSchemas }: Pick<Database, 'hasSchemas'>): string {
  return hasSchemas ? [...table.split('.').slice(0, -1), name].join('.') : name;
}

/** The name of a table without its schema. */
export function nameInSchema(table: string, { hasSchemas }: Pick<Database, 'hasSchemas'>): string {
  return hasSchemas ? (table.split('.').at(-1) ?? '') : table;
}

/** The same text for all names of a table. No other table of its schema has it. */
export function foldTableName(table: string, database: Pick<Database, 'hasSchemas' | 'foldName'>): string {
  return database.foldName(nameInSchema(table, database));
}

/** Drivers give a large integer as one or as its text. */
export function readInteger(value: unknown): bigint {
  if (typeof value === 'bigint') return value;
  if (typeof value === 'number' || typeof value === 'string') return BigInt(value);
  throw new Error('The ledger has a number that is not one.');
}

/** The same for one that is no larger than a number can be. */
export function readNumber(value: unknown): number {
  return Number(readInteger(value));
}

/** The number of rows of a table, a join or a query. */
export async function countRows(session: Session, from: string, ...parameters: readonly SqlValue[]): Promise<number> {
  const [found] = await session.rows(`SELECT count(*) AS _sluice_rows FROM ${from}`, ...parameters);
  return readNumber(found?.['_sluice_rows']);
}

/** Whether a table has any rows. */
export async function hasRows(session: Session, table: string): Promise<boolean> {
  return (await session.rows(`SELECT 1 AS found FROM ${table} LIMIT 1`)).length > 0;
}
