import { CheckpointError, ConfigError } from '@sluice/core';
import { quoteTable, readInteger, type Database, type Session } from '../database.js';
import { asciiJson } from '../sqlValue.js';

const columns = ['target', 'name', 'nth', 'record'] as const;

/** Characters of the records that are in memory, or in a transaction, at once; more if one record has more. */
export const charactersAtOnce = 1_000_000;
/** Records whose sizes are added up for a page. */
const recordsOfPage = 1_000;

/** What the lists begin with that are not complete. */
const unfinished = 'new/';

/** A record as it is stored. */
export interface StoredRecord {
  readonly nth: bigint;
  readonly value: unknown;
}

/** Options of {@link RecordTable}. */
export interface RecordTableOptions {
  readonly database: Pick<Database, 'hasSchemas'>;
  /** With its schema. */
  readonly table: string;
  /** Whose records they are, among those of others. */
  readonly target: string;
  /** A column that this table has besides, and its type. */
  readonly besides?: { readonly column: string; readonly type: string };
}

/** Lists of records in a table: those of one target. Each call is a part of a transaction. */
export class RecordTable {
  /** As SQL has it. */
  readonly sql: string;
  readonly target: string;
  readonly #options: RecordTableOptions;

  constructor(options: RecordTableOptions) {
    this.sql = quoteTable(options.table, options.database);
    this.target = options.target;
    this.#options = options;
  }

  /** The statement that creates it. */
  get definition(): string {
    const { besides } = this.#options;
    const more = besides ? `, ${besides.column} ${besides.type}` : '';
    return `CREATE TABLE ${this.sql} (target text NOT NULL, name text NOT NULL, nth bigint NOT NULL, record text NOT NULL${more}, PRIMARY KEY (target, name, nth))`;
  }

  /** Whether it is there. @throws ConfigError if something else has its name. */
  async isThere(session: Session): Promise<boolean> {
    const { table, database, besides } = this.#options;
    const found = await session.readColumns(table);
    const names = new Set(found?.map(({ name }) => name));
    const missing = [...columns, ...(besides ? [besides.column] : [])].filter((name) => !names.has(name));
    if (found && (missing.length > 0 || (await session.readTraits(table))?.kind !== 'table'))
      throw new ConfigError(
        `${table} in this database is not the table in which Sluice keeps checkpoints: it ${missing.length > 0 ? `has no ${missing.join(', ')}` : 'is not a table'}. Rename it, or write into another database${database.hasSchemas ? ' or schema' : ''}.`,
        { table },
      );
    return found !== undefined;
  }

  /** The first record of a list; `undefined` if it has none. */
  async first(session: Session, list: string): Promise<unknown> {
    return (await this.page(session, list, undefined, 1))[0]?.value;
  }

  /** The next records of a list, in order, that are in memory at once; none at its end. */
  async page(session: Session, list: string, after = -1n, limit = recordsOfPage): Promise<readonly StoredRecord[]> {
    const next = `SELECT nth, record FROM ${this.sql} WHERE target = ? AND name = ? AND nth > ? ORDER BY nth LIMIT ${limit}`;
    const sized = `SELECT nth, record, sum(octet_length(record)) OVER (ORDER BY nth) - octet_length(record) AS before FROM (${next}) AS next`;
    const found = await session.rows(
      `SELECT nth, record FROM (${sized}) AS sized WHERE before < ${charactersAtOnce} ORDER BY nth`,
      this.target,
      list,
      after,
    );
    return found.map(({ nth, record }) => ({ nth: readInteger(nth), value: this.#decode(record, list) }));
  }

  /** Adds a record at the end of a list. */
  append(session: Session, list: string, record: object): Promise<void> {
    return this.appendTexts(session, list, [asciiJson(record)]);
  }

  /** The same for records in JSON. */
  async appendTexts(session: Session, list: string, records: readonly string[]): Promise<void> {
    const insert = `INSERT INTO ${this.sql} (target, name, nth, record) VALUES (?, ?, (SELECT coalesce(max(nth), -1) + 1 FROM ${this.sql} WHERE target = ? AND name = ?), ?)`;
    const values = records.map((record) => [this.target, list, this.target, list, record]);
    const [only] = values;
    if (only && values.length === 1) await session.run(insert, ...only);
    else if (only) await session.runEach(insert, values);
  }

  /** Adds records to a list that does not count before `complete`. */
  async appendUnfinished(session: Session, list: string, records: readonly string[], isFirst: boolean): Promise<void> {
    if (isFirst) await this.remove(session, unfinished + list);
    await this.appendTexts(session, unfinished + list, records);
  }

  /** Replaces a list by one that did not count. */
  async complete(session: Session, list: string): Promise<void> {
    await this.remove(session, list);
    await session.run(
      `UPDATE ${this.sql} SET name = ? WHERE target = ? AND name = ?`,
      list,
      this.target,
      unfinished + list,
    );
  }

  /** What a process that ended left of lists that do not count. */
  removeUnfinished(session: Session): Promise<void> {
    return this.change(session, 'DELETE FROM', unfinished);
  }

  async remove(session: Session, list: string): Promise<void> {
    await session.run(`DELETE FROM ${this.sql} WHERE target = ? AND name = ?`, this.target, list);
  }

  /** Changes all records of the lists whose names begin with a text. */
  async change(session: Session, verb: 'DELETE FROM' | 'UPDATE', start: string, set = ''): Promise<void> {
    await session.run(
      `${verb} ${this.sql} ${set} WHERE target = ? AND substr(name, 1, ${start.length}) = ?`,
      this.target,
      start,
    );
  }

  #decode(record: unknown, list: string): unknown {
    try {
      return JSON.parse(String(record));
    } catch {
      throw new CheckpointError(`The row ${list} of the table ${this.#options.table} can't be read.`, {}, [
        { kind: 'restart' },
      ]);
    }
  }
}
