import { SinkError } from '@sluice/core';
import { isRecord, type WatchedWalk } from '@sluice/core/kit';
import {
  declareType,
  besideTable,
  countRows,
  foldTableName,
  hasRows,
  nameInSchema,
  quote,
  quoteTable,
  type Database,
  type Session,
  type SqlValue,
  type TableColumn,
  type TableTraits,
} from './database.js';
import { versionColumns } from './generation.js';
import { checkRemoval, type MaxRemoved } from './maxRemoved.js';
import type { StagingTable } from './stagingTable.js';
import { checkTable } from './tableShape.js';
import { shortHash } from './targetTable.js';

/** A walk that a history has a row of, whether it changed anything or not. */
export interface Poll {
  /** From 1. It goes on when the watch starts over. */
  readonly generation: number;
  /** ISO 8601, UTC: when the walk ended, and later than the one before, whatever the clock does. */
  readonly at: string;
  readonly isComplete: boolean;
}

/** The last poll that a history has; `undefined` before the first one. */
export type LastPoll = Pick<Poll, 'generation' | 'at'> | undefined;

/** The last poll of a record; `undefined` if it is not one of a history. */
export function readLastPoll(record: unknown): LastPoll {
  const { poll } = isRecord(record) ? record : {};
  const { generation, at } = isRecord(poll) ? poll : {};
  return typeof generation === 'number' && typeof at === 'string' ? { generation, at } : undefined;
}

/** The poll that follows another one. Pure. */
export function followPoll(last: LastPoll, { observedAt, isIncomplete }: WatchedWalk): Poll {
  const ms = Date.parse(observedAt);
  // Later than the last poll: else a version would end before it began.
  const at = new Date(last ? Math.max(ms, Date.parse(last.at) + 1) : ms).toISOString();
  return { generation: (last?.generation ?? 0) + 1, at, isComplete: isIncomplete !== true };
}

/** The values that a version begins with, in the order of its columns. */
export function openVersion({ generation, at }: Pick<Poll, 'generation' | 'at'>): SqlValue[] {
  return [at, null, null, generation];
}

/** The names of a table of SQLite or PostgreSQL that belong to a history. */
export function namesBeside(table: string, database: Pick<Database, 'hasSchemas'>) {
  const name = (end: string): string => besideTable(table, nameInSchema(table, database) + end, database);
  return { polls: name('_polls'), now: name('_now'), at: name('_at') };
}

const pollColumns = [
  { name: 'generation', type: 'generation' },
  { name: 'at', type: 'timestamp' },
  { name: 'complete', type: 'boolean' },
] as const;

const { from, to, ended, generation } = versionColumns;
const [validFrom, validTo] = [quote(from.name), quote(to.name)];
/** The condition of the version that a row has now. */
export const isLive = `${validTo} IS NULL`;
/** Ends versions, with a time and a reason. */
export const endVersion = `${validTo} = ?, ${quote(ended.name)} = ?`;

/** A name within a statement, which no table may have. */
const staged = '_sluice_staged';

/** A table that has every version of a row, the table of its polls, and the views of both. */
export class HistoryTable {
  readonly #staging: StagingTable;
  readonly #database: Database;
  readonly #sql: string;
  readonly #sameKey: string;
  readonly #names: ReturnType<typeof namesBeside>;
  readonly #polls: string;
  readonly #compares: (column: string) => boolean;
  /** For the names of what belongs to it. */
  readonly #hash: string;
  /** The keys of rows that the last complete walk lacked, and that have a version still. */
  readonly #missing: string;

  /** @param compares whether a difference in a column makes a version; default: in all */
  constructor(staging: StagingTable, compares: (column: string) => boolean = () => true) {
    const { name, sql, database } = staging.target;
    this.#database = database;
    this.#staging = staging;
    this.#sql = sql;
    this.#sameKey = staging.target.sameKey(sql, staged);
    this.#compares = compares;
    this.#names = namesBeside(name.full, database);
    this.#polls = quoteTable(this.#names.polls, database);
    this.#hash = shortHash(foldTableName(name.full, database));
    this.#missing = besideTable(name.full, `_sluice_missing_${this.#hash}`, database);
  }

  /**
   * @param isOurs its rows are those of this history
   * @throws ConfigError if it is a view; SinkError if it has other columns, or rows of others
   */
  async check(session: Session, isOurs: boolean): Promise<void> {
    const { target } = this.#staging;
    const traits = await target.check(
      session,
      ['table'],
      "is a view or the like, which can't be a history. Name a table.",
    );
    if (traits && !isOurs && (await hasRows(session, this.#sql)))
      throw this.#refuse(`has rows, and they are not of this history. Name another table, or empty it.`);
    await this.checkKeys(session, traits);
    await this.checkNames(session, isOurs);
  }

  /** @throws SinkError if the table can't tell its versions apart by their key. */
  async checkKeys(session: Session, traits: TableTraits | undefined): Promise<void> {
    if (!traits) return;
    const { foldName, exactCollation } = this.#database;
    const { name, key, columns } = this.#staging.target;
    const uniques = traits.uniques.map((unique) => ({ ...unique, columns: unique.columns.map(foldName) }));
    const ofKey = key.map(foldName);
    const hasKey = (found: readonly string[]): boolean => ofKey.every((column) => found.includes(column));
    const found = uniques.find(({ columns }) => columns.includes(from.name) && columns.length > 1);
    const known = found?.columns.filter((column) => column !== from.name);
    if (known && !(known.length === key.length && hasKey(known)))
      throw new SinkError(
        (option = 'key') =>
          `The versions in ${name.given} are told apart by ${known.join(', ')}, and not by ${key.join(', ')}. Give those in ${option}, or name another table.`,
        { details: { option: 'key', table: name.given } },
      );
    const existing = await session.readColumns(name.full);
    const loose = existing?.find(
      ({ name, declared, collation = exactCollation }) =>
        ofKey.includes(foldName(name)) && (declared === 'citext' || !collation.endsWith(exactCollation)),
    );
    if (loose)
      throw this.#refuse(
        `may take different texts in ${loose.name} for the same key, by its ${loose.collation ?? loose.declared}. Make that column text COLLATE ${exactCollation}, or name another table.`,
      );
    const own = new Set(columns.map(({ name }) => foldName(name)));
    const narrow = uniques.find(
      ({ columns, isPartial = false }) =>
        !isPartial &&
        columns.every((column) => own.has(column)) &&
        !(hasKey(columns) && (columns.includes(from.name) || columns.includes(generation.name))),
    );
    if (narrow)
      throw this.#refuse(
        `lets no two rows have the same ${narrow.columns.join(', ')}, and a history has several versions of a row. Drop that constraint or index, or let it be one of the present rows: CREATE UNIQUE INDEX … WHERE ${isLive}.`,
      );
  }

  /**
   * Before the history begins, nothing may have the names of its polls, view and function: from then on they are its own.
   *
   * @throws SinkError if something else has one of them. Returns whether its polls are there.
   */
  async checkNames(session: Session, isOurs: boolean): Promise<boolean> {
    const { polls, now, at } = this.#names;
    const existing = await session.readColumns(polls);
    const isTable = async (name: string): Promise<boolean> => (await session.readTraits(name))?.kind === 'table';
    if (existing && (!isOurs || !(await isTable(polls)))) throw this.#isTaken(polls);
    if (existing) checkTable(this.#database, polls, { columns: pollColumns, key: [] }, existing);
    if (isOurs ? await isTable(now) : await session.readTraits(now)) throw this.#isTaken(now);
    if (!isOurs && (await this.#hasFunction(session))) throw this.#isTaken(`${at}(timestamptz)`);
    return existing !== undefined;
  }

  #isTaken(found: string): SinkError {
    const { given: table } = this.#staging.target.name;
    return new SinkError(
      `${found} is there already, and is not of the history in ${table}. Rename or drop it, or name another table.`,
      { details: { table } },
    );
  }

  #refuse(why: string): SinkError {
    const { given: table } = this.#staging.target.name;
    return new SinkError(`The table ${table} ${why}`, { details: { table } });
  }

  async #hasFunction(session: Session): Promise<boolean> {
    const find = this.#function?.find;
    return find !== undefined && (await session.rows(find)).length > 0;
  }

  get #function() {
    const { polls, at } = this.#names;
    return this.#database.atFunction?.({ table: this.#staging.target.name, at, polls });
  }

  /** Creates what is missing: the table, that of its polls, and the views. */
  async create(session: Session): Promise<void> {
    const { name, keyNames, columns } = this.#staging.target;
    const isNew = (await session.readColumns(name.full)) === undefined;
    if (isNew) {
      const required = new Set<string>([from.name, generation.name]);
      const definitions = columns.map(
        ({ name, type }) =>
          `${quote(name)} ${declareType(this.#database, type).name}${required.has(name) ? ' NOT NULL' : ''}`,
      );
      await session.run(`CREATE TABLE ${this.#sql} (${definitions.join(', ')})`);
    }
    await this.#staging.target.fireDeferred(session);
    for (const [kind, unique, on] of [
      ['version', 'UNIQUE ', `(${keyNames}, ${validFrom})`],
      ['live', 'UNIQUE ', `(${keyNames}) WHERE ${isLive}`],
      ['ended', '', `(${validTo}) WHERE ${validTo} IS NOT NULL`],
    ] as const)
      await session.run(
        `CREATE ${unique}INDEX IF NOT EXISTS ${quote(`_sluice_${kind}_${this.#hash}`)} ON ${this.#sql} ${on}`,
      );
    const polls = pollColumns.map(
      ({ name, type }) =>
        `${quote(name)} ${declareType(this.#database, type).name} ${name === 'generation' ? 'PRIMARY KEY' : 'NOT NULL'}`,
    );
    await session.run(`CREATE TABLE IF NOT EXISTS ${this.#polls} (${polls.join(', ')})`);
    // Polls of versions that somebody dropped say nothing any more.
    if (isNew) await session.run(`DELETE FROM ${this.#polls}`);
    await this.createViews(session);
  }

  /** Creates what is missing of its view and function. */
  async createViews(session: Session): Promise<void> {
    const { hasSchemas } = this.#database;
    const shown = await session.readColumns(this.#names.now);
    const stored = await session.readColumns(this.#staging.target.name.full);
    // In PostgreSQL, a view keeps the columns that it was created with. One without ours is somebody's own.
    const isBehind = shown?.some(({ name }) => name === generation.name) && shown.length !== stored?.length;
    if (!shown || (hasSchemas && isBehind))
      await session.run(
        `CREATE ${isBehind ? 'OR REPLACE ' : ''}VIEW ${quoteTable(this.#names.now, this.#database)} AS SELECT * FROM ${this.#sql} WHERE ${isLive}`,
      );
    if (this.#function && !(await this.#hasFunction(session))) await session.run(this.#function.create);
  }

  async addPoll(session: Session, { generation, at, isComplete }: Poll): Promise<void> {
    await session.run(
      `INSERT INTO ${this.#polls} (${pollColumns.map(({ name }) => quote(name)).join(', ')}) VALUES (?, ?, ?)`,
      generation,
      at,
      BigInt(isComplete),
    );
  }

  /**
   * Makes versions of staged rows, of which no two have the same key: a version of a row that is as it was goes on.
   *
   * @param missing what becomes of rows that are not staged: they end; end if the last complete walk lacked them, too; stay
   * @param maxRemoved how many rows may end as removed. Default: all
   * @param added columns that no version has had before: a row that differs in nothing else gets its values in place
   * @returns how many of them stay
   * @throws SinkError if a rule of the table does not let a version begin or end, or if rows are to end that an incomplete
   * walk may only have left out
   */
  async publish(
    session: Session,
    { at, isComplete }: Poll,
    missing: 'end' | 'confirm' | 'stay',
    maxRemoved?: MaxRemoved,
    added: readonly string[] = [],
  ): Promise<number> {
    const { name, columns, key } = this.#staging.target;
    const filled = columns.map((column) => column.name).filter((column) => added.includes(column));
    if (missing === 'end' && !isComplete && (await hasRows(session, `${this.#sql} WHERE ${this.#isMissing}`)))
      throw untoldRemovals(name.given);
    const hasRules = (await session.readTraits(name.full))?.hasRules === true;
    const before = hasRules ? await countRows(session, this.#sql) : 0;
    const live = maxRemoved === undefined ? 0 : await countRows(session, `${this.#sql} WHERE ${isLive}`);
    const own = new Set<string>([...Object.values(versionColumns).map(({ name }) => name), ...filled]);
    const compared = columns.filter(({ name }) => !key.includes(name) && !own.has(name) && this.#compares(name));
    // JSON has no equality in every database, and that of texts may be a loose one: so letter by letter.
    const exactly = ` COLLATE ${this.#database.exactCollation}`;
    const valueOf = (of: string, { name, type }: TableColumn): string => {
      const value = `${of}.${quote(name)}`;
      return type === 'json' || type === 'text' ? `CAST(${value} AS text)${exactly}` : value;
    };
    const listValues = (of: string): string => compared.map((column) => valueOf(of, column)).join(', ');
    if (compared.length > 0)
      await session.run(
        `UPDATE ${this.#sql} SET ${validTo} = ${staged}.${validFrom}, ${quote(ended.name)} = 'changed' FROM ${this.#staging.sql} AS ${staged} WHERE ${this.#sql}.${isLive} AND ${this.#sameKey} AND (${listValues(this.#sql)}) IS DISTINCT FROM (${listValues(staged)})`,
      );
    if (filled.length > 0)
      await session.run(
        `UPDATE ${this.#sql} SET ${filled.map((name) => `${quote(name)} = ${staged}.${quote(name)}`).join(', ')} FROM ${this.#staging.sql} AS ${staged} WHERE ${this.#sql}.${isLive} AND ${this.#sameKey}`,
      );
    const left = missing === 'stay' ? undefined : await this.#findLeft(session, missing);
    if (left !== undefined) {
      const removed = await session.run(`UPDATE ${this.#sql} SET ${endVersion} WHERE ${left}`, at, 'removed');
      checkRemoval(name, maxRemoved, { removed, before: live });
    }
    if (missing !== 'end') await this.#recordMissing(session, missing);
    const names = columns.map(({ name }) => quote(name));
    const begun = await session.run(
      `INSERT INTO ${this.#sql} (${names.join(', ')}) SELECT ${names.map((name) => `${staged}.${name}`).join(', ')} FROM ${this.#withoutVersion} ORDER BY ${staged}.${this.#staging.order}`,
    );
    await this.#staging.target.fireDeferred(session);
    const rowsNotRemoved = missing === 'end' ? 0 : await countRows(session, `${this.#sql} WHERE ${this.#isMissing}`);
    if (!hasRules) return rowsNotRemoved;
    this.#staging.target.checkCount('kept', before + begun, await countRows(session, this.#sql));
    const rows = await this.#staging.countRows(session);
    this.#staging.target.checkCount('kept', rows, rows - (await countRows(session, this.#withoutVersion)));
    return rowsNotRemoved;
  }

  /** The condition of rows whose versions end; `undefined` if there are none. */
  async #findLeft(session: Session, missing: 'end' | 'confirm'): Promise<string | undefined> {
    if (missing === 'end') return this.#isMissing;
    if ((await session.readColumns(this.#missing)) === undefined) return undefined;
    const { keyNames } = this.#staging.target;
    // SQLite would search the whole table for each row of an EXISTS.
    return `${this.#isMissing} AND (${keyNames}) IN (SELECT ${keyNames} FROM ${quoteTable(this.#missing, this.#database)})`;
  }

  /** A row that an incomplete walk lacks may be there; one that it has is. */
  async #recordMissing(session: Session, missing: 'confirm' | 'stay'): Promise<void> {
    const table = quoteTable(this.#missing, this.#database);
    if (missing === 'stay') {
      if ((await session.readColumns(this.#missing)) === undefined) return;
      const isBack = this.#staging.target.sameKey(staged, table);
      await session.run(
        `DELETE FROM ${table} WHERE EXISTS (SELECT 1 FROM ${this.#staging.sql} AS ${staged} WHERE ${isBack})`,
      );
      return;
    }
    await session.run(`DROP TABLE IF EXISTS ${table}`);
    const { keyNames } = this.#staging.target;
    await session.run(`CREATE TABLE ${table} AS SELECT ${keyNames} FROM ${this.#sql} WHERE ${this.#isMissing}`);
  }

  /** The condition of rows that have a version and are not staged. */
  get #isMissing(): string {
    return `${isLive} AND NOT EXISTS (SELECT 1 FROM ${this.#staging.sql} AS ${staged} WHERE ${this.#sameKey})`;
  }

  /** The latest time with which a staged version begins: ms since 1970. */
  async readLatest(session: Session): Promise<number | undefined> {
    const [found] = await session.rows(`SELECT max(${validFrom}) AS latest FROM ${this.#staging.sql}`);
    const latest = found?.['latest'];
    return latest instanceof Date ? latest.getTime() : typeof latest === 'string' ? Date.parse(latest) : undefined;
  }

  /** The staged rows that have no version now. */
  get #withoutVersion(): string {
    return `${this.#staging.sql} AS ${staged} LEFT JOIN ${this.#sql} ON ${this.#sameKey} AND ${this.#sql}.${isLive} WHERE ${this.#sql}.${validFrom} IS NULL`;
  }
}

/** The error of a first poll that may only have left out the rows that a table has. */
export function untoldRemovals(table: string): SinkError {
  return new SinkError(
    `The first poll of a watch that starts over was incomplete, so it does not tell which rows of ${table} have been removed. Nothing was written. Start over once more when the API lists all rows.`,
    { details: { table } },
  );
}
