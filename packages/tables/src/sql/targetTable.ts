import { hash } from 'node:crypto';
import { ConfigError, SinkError } from '@sluice/core';
import { shownText } from '@sluice/core/kit';
import {
  declareType,
  foldTableName,
  quote,
  quoteTable,
  type Database,
  type Session,
  type TableColumn,
  type TableName,
  type TableTraits,
  type Unique,
} from './database.js';
import { checkTable, type TableColumns } from './tableShape.js';

/** The table that an export or a mirror fills, with what both need of it. */
export class TargetTable {
  readonly database: Database;
  readonly name: TableName;
  readonly columns: readonly TableColumn[];
  readonly key: readonly string[];
  /** Its name as SQL has it. */
  readonly sql: string;
  /** The columns of its key as SQL has them. */
  readonly keyNames: string;
  readonly mayLack: TableColumns['mayLack'];

  constructor(database: Database, name: TableName, { columns, key, mayLack }: TableColumns) {
    this.database = database;
    this.name = name;
    this.columns = columns;
    this.key = key;
    this.mayLack = mayLack;
    this.sql = quoteTable(name.full, database);
    this.keyNames = key.map(quote).join(', ');
  }

  /** The condition that rows of two tables have the same key. */
  sameKey(table: string, other: string): string {
    return this.key.map((name) => `${table}.${quote(name)} = ${other}.${quote(name)}`).join(' AND ');
  }

  /**
   * What it does besides storing rows; `undefined` if it is not there.
   *
   * @throws ConfigError if it is of another kind; SinkError if it has other columns, or a crash of the server empties it
   */
  async check(
    session: Session,
    kinds: readonly TableTraits['kind'][],
    otherKind: string,
  ): Promise<TableTraits | undefined> {
    const { given: table, full } = this.name;
    const existing = await session.readColumns(full);
    const traits = existing && (await session.readTraits(full));
    if (!traits) return undefined;
    if (!kinds.includes(traits.kind)) throw new ConfigError(`${table} ${otherKind}`, { table });
    if (traits.isUnlogged)
      throw new SinkError(
        `The table ${table} is UNLOGGED, or a part of it is: a crash of the server empties it, and the export would be complete. Run ALTER TABLE … SET LOGGED, or name another table.`,
        { details: { table } },
      );
    checkTable(this.database, table, this, existing);
    return traits;
  }

  /** The columns that it lacks and gets. None if it is not there. */
  async listLacking(session: Session): Promise<readonly TableColumn[]> {
    const { foldName: fold } = this.database;
    const existing = this.mayLack && (await session.readColumns(this.name.full));
    const found = new Set(existing?.map(({ name }) => fold(name)));
    return existing ? this.columns.filter(({ name }) => this.mayLack?.has(name) && !found.has(fold(name))) : [];
  }

  /**
   * Adds the columns that it lacks. All its rows are null there.
   *
   * @returns their names
   * @throws SinkError if the database does not let it be altered
   */
  async addColumns(session: Session): Promise<readonly string[]> {
    const { given: table } = this.name;
    const lacking = await this.listLacking(session);
    for (const { name, type } of lacking) {
      const alter = `ALTER TABLE ${this.sql} ADD COLUMN ${quote(name)} ${declareType(this.database, type).name}`;
      try {
        await session.run(alter);
      } catch (error) {
        const why = this.database.readAlterRefusal(error);
        if (why === undefined) throw error;
        throw new SinkError(
          `The table ${table} lacks the column ${name}, which can't be added: ${why}. Let its owner run ${alter}, or leave the column out of columns.`,
          { details: { table, column: name }, cause: error },
        );
      }
    }
    return lacking.map(({ name }) => name);
  }

  /** Makes its key unique, and fast to find. */
  async createKey(session: Session): Promise<void> {
    const index = quote(`_sluice_key_${shortHash(foldTableName(this.name.full, this.database))}`);
    // A table with triggers that wait gets no index.
    await this.fireDeferred(session);
    await session.run(`CREATE UNIQUE INDEX IF NOT EXISTS ${index} ON ${this.sql} (${this.keyNames})`);
  }

  /** Lets constraints and triggers act now that wait for the end of the transaction. */
  async fireDeferred(session: Session): Promise<void> {
    const { fireDeferred } = this.database;
    if (fireDeferred !== undefined) await session.run(fireDeferred);
  }

  /** What two rows with different keys may not share, of the columns that rows have. */
  listUniques({ uniques }: TableTraits): readonly Unique[] {
    return uniques.flatMap((unique) => {
      const columns = unique.columns.filter((column) => this.columns.some(({ name }) => name === column));
      if (columns.length === 0 || this.key.every((name) => columns.includes(name))) return [];
      // Rows that differ in another column may share these.
      return [{ ...unique, columns, isPartial: unique.isPartial === true || columns.length < unique.columns.length }];
    });
  }

  /**
   * @param expected how many rows a statement was for; `undefined` if only a rule of the table could make a difference
   * @throws SinkError if it did not do what the statement said. The transaction is rolled back then.
   */
  checkCount(done: 'added' | 'changed' | 'removed' | 'kept', expected: number | undefined, found: number): void {
    if (expected === undefined || found === expected) return;
    const { given: table } = this.name;
    const by = 'a trigger, rule, policy or conflict clause of its own';
    const what =
      found < expected
        ? `has ${done} ${found} of ${expected} rows: ${by} does not take the others`
        : `has ${found} rows instead of ${expected}: ${by} adds others`;
    throw new SinkError(`The table ${table} ${what}. Nothing was changed. Change that, or name another table.`, {
      details: { table, expected, found },
    });
  }

  /** The error for rows that the source tells apart, and the key of the table does not. */
  collapsed(
    missing: number,
    rows: number,
    found?: { readonly own: readonly string[]; readonly key: readonly string[] },
  ): SinkError {
    const { key, name } = this;
    const which = found
      ? `, though the source tells them apart: e.g. ${found.own.join(' and ')} (${key.join(', ')}: ${shownText(found.key.join(', '))}). Nothing was changed`
      : '';
    return new SinkError(`${missing} of ${rows} rows have the same ${key.join(', ')} as another one${which}.`, {
      details: { option: 'key', table: name.given, ...(found && { isLost: true }) },
      advice: [{ kind: 'set', option: 'key' }],
    });
  }

  /** @throws SinkError if rows went with others that were removed */
  checkStay(expected: number, found: number): void {
    if (found >= expected) return;
    const { given: table } = this.name;
    const lost = expected - found;
    const what =
      lost === 1
        ? `A row of ${table} that stays would go with one that it refers to and that is`
        : `${lost} rows of ${table} that stay would go with rows that they refer to and that are`;
    throw new SinkError(
      `${what} removed, since a foreign key says ON DELETE CASCADE. Nothing was changed. Make it ON DELETE NO ACTION DEFERRABLE INITIALLY DEFERRED, or name another table.`,
      { details: { table, expected, found } },
    );
  }
}

export function describeAdded(table: string, column: string): string {
  return `Added the column ${column} to ${table}: the source has it, and the table lacked it.`;
}

/** For names beside a table. Short, since PostgreSQL cuts names at 63 bytes. */
export function shortHash(text: string): string {
  return hash('sha256', text).slice(0, 12);
}
