import { createHash } from 'node:crypto';
import { ConfigError, SinkError } from '@sluice/core';
import {
  besideTable,
  identityOf,
  nameInSchema,
  quoted,
  quotedTable,
  RefusedValue,
  type Database,
  type Session,
  type SqlValue,
  type TableName,
} from './database.js';
import { checkTable, type TableShape } from './tableShape.js';

/**
 * What becomes of rows that the table has.
 * - `fail`: they are somebody else's, and the export is refused.
 * - `append`: they stay.
 * - `merge`: those with the key of a new row are replaced by it.
 * - `replace`: they go; readers see the old rows until they see the new ones.
 */
export type TableMode = 'fail' | 'append' | 'merge' | 'replace';

/** Rows of a partition have numbers of their own, so that their order is the plan's at any concurrency. */
const rowsOfPartition = 1n << 40n;
/** Names within a statement, which no table may have. */
const [staged, later] = ['_sluice_staged', '_sluice_later'];

/** The table into which an export writes, and which becomes the target, or goes into it, in one transaction. */
export class Stage<T> {
  readonly #database: Database;
  readonly #table: TableName;
  /** Part of the names beside the table. */
  readonly #hash: string;
  /** Part of the names of the staging table. */
  readonly #own: string;
  readonly #shape: TableShape<T>;
  readonly #stageName: string;
  /** As SQL has them. */
  readonly #stage: string;
  readonly #target: string;
  readonly #columns: string;

  /** @param of whose it is. Default: of the table's exports, of which one writes at a time. */
  constructor(database: Database, table: TableName, shape: TableShape<T>, of?: string) {
    this.#database = database;
    this.#table = table;
    this.#shape = shape;
    const identity = identityOf(table.full, database);
    this.#hash = hashOf(identity);
    this.#own = of === undefined ? this.#hash : hashOf(`${of} ${identity}`);
    this.#stageName = besideTable(table.full, `_sluice_${this.#own}`, database);
    this.#stage = quotedTable(this.#stageName, database);
    this.#target = quotedTable(table.full, database);
    this.#columns = shape.columns.map(({ name }) => quoted(name)).join(', ');
  }

  /** Its name, with the schema. */
  get name(): string {
    return this.#stageName;
  }

  /** Begins anew, and drops what an earlier run left. */
  async create(session: Session): Promise<void> {
    const { order, types, staged: stagedType } = this.#database;
    const existing = new Map((await session.columnsOf(this.#table.full))?.map((column) => [column.name, column]));
    const columns = this.#shape.columns.map((column) => {
      const found = existing.get(column.name);
      // Values that the target would refuse are refused at once.
      const type = found && stagedType ? stagedType(column.name, found.declared) : types[column.type];
      return `${quoted(column.name)} ${type}`;
    });
    if (order.definition !== undefined) columns.push(`${order.column} ${order.definition}`);
    await this.drop(session);
    await session.run(`CREATE TABLE ${this.#stage} (${columns.join(', ')})`);
  }

  /** Whether the table has columns that change values which the staging table refuses. */
  async isStricter(session: Session): Promise<boolean> {
    const { staged: stagedType } = this.#database;
    if (!stagedType) return false;
    const existing = await session.columnsOf(this.#table.full);
    return existing?.some(({ name, declared }) => stagedType(name, declared) !== declared) ?? false;
  }

  async drop(session: Session): Promise<void> {
    await session.run(`DROP TABLE IF EXISTS ${this.#stage}`);
  }

  async exists(session: Session): Promise<boolean> {
    return (await session.columnsOf(this.#stageName)) !== undefined;
  }

  /** The place of a row in the plan, which follows its values. */
  static placeOf(partition: number, nth: number): bigint {
    return BigInt(partition) * rowsOfPartition + BigInt(nth);
  }

  async insert(session: Session, placed: readonly (readonly SqlValue[])[]): Promise<void> {
    const names = [...this.#shape.columns.map(({ name }) => name), this.#database.order.column];
    try {
      await session.insert(this.#stageName, names, placed);
    } catch (error) {
      if (!(error instanceof RefusedValue)) throw error;
      const row = placed[error.row] ?? [];
      const column = names.indexOf(error.column);
      const nth = BigInt(row[names.length - 1] ?? 0n) % rowsOfPartition;
      const value = JSON.stringify(String(row[column] ?? '').slice(0, 60));
      throw new SinkError(
        `Row ${nth}: ${error.column} is ${value}, which ${this.#table.given} can't store: ${error.message}. Change the column, or the value with pipePages(map(…)).`,
        { details: { row: Number(nth), column: error.column }, cause: error },
      );
    }
  }

  async dropPartition(session: Session, partition: number): Promise<void> {
    const first = BigInt(partition) * rowsOfPartition;
    await session.run(
      `DELETE FROM ${this.#stage} WHERE ${this.#order} >= ? AND ${this.#order} < ?`,
      ...[first, first + rowsOfPartition],
    );
  }

  /** @throws ConfigError if it is a view; SinkError if the target has rows that this mode does not touch, or other columns. */
  async checkTarget(session: Session, mode: TableMode): Promise<void> {
    const existing = await session.columnsOf(this.#table.full);
    if (!existing) return;
    if ((await session.kindOf(this.#table.full)) === 'other')
      throw new ConfigError(`${this.#table.given} takes no rows, since it is a view or the like. Name a table.`, {
        table: this.#table.given,
      });
    checkTable(this.#database, this.#table.given, this.#shape, existing);
    if (mode !== 'fail') return;
    const [row] = await session.rows(`SELECT 1 AS found FROM ${this.#target} LIMIT 1`);
    if (row)
      throw new SinkError(
        `The table ${this.#table.given} has rows already. Name another table, or say in mode what becomes of them: append, merge or replace.`,
        { details: { option: 'mode', table: this.#table.given } },
      );
  }

  /** Makes the rows those of the target. */
  async publish(session: Session, mode: TableMode): Promise<void> {
    await this.checkTarget(session, mode);
    if (this.#shape.key.length > 0) await this.#keepLastPerKey(session);
    if ((await session.columnsOf(this.#table.full)) === undefined) return this.#becomeTarget(session);
    if (mode === 'merge') await this.#update(session);
    if (mode === 'replace') await this.#removeFromTarget(session);
    await this.#insertMissing(session, mode);
    await this.drop(session);
  }

  async #becomeTarget(session: Session): Promise<void> {
    const { order } = this.#database;
    if (order.definition !== undefined) await session.run(`ALTER TABLE ${this.#stage} DROP COLUMN ${order.column}`);
    const name = quoted(nameInSchema(this.#table.full, this.#database));
    await session.run(`ALTER TABLE ${this.#stage} RENAME TO ${name}`);
    if (this.#shape.key.length === 0) return;
    const stageIndex = besideTable(this.#table.full, `_sluice_stage_${this.#own}`, this.#database);
    await session.run(`DROP INDEX ${quotedTable(stageIndex, this.#database)}`);
    await this.createKey(session);
  }

  /** Makes the key of the target unique, and fast to find. */
  async createKey(session: Session): Promise<void> {
    const index = quoted(`_sluice_key_${this.#hash}`);
    await session.run(`CREATE UNIQUE INDEX IF NOT EXISTS ${index} ON ${this.#target} (${this.#keyNames})`);
  }

  /** The last row of a key is the one that the API sent last, by the order of the plan. */
  async #keepLastPerKey(session: Session): Promise<void> {
    const index = quoted(`_sluice_stage_${this.#own}`);
    const same = this.#shape.key.map((name) => `${later}.${quoted(name)} = ${this.#stage}.${quoted(name)}`);
    await session.run(`CREATE INDEX ${index} ON ${this.#stage} (${this.#keyNames})`);
    await session.run(
      `DELETE FROM ${this.#stage} WHERE EXISTS (SELECT 1 FROM ${this.#stage} AS ${later} WHERE ${same.join(' AND ')} AND ${later}.${this.#order} > ${this.#stage}.${this.#order})`,
    );
  }

  async #update(session: Session): Promise<void> {
    const values = this.#shape.columns.filter(({ name }) => !this.#shape.key.includes(name));
    if (values.length === 0) return;
    const set = values.map(({ name }) => `${quoted(name)} = ${staged}.${quoted(name)}`).join(', ');
    // JSON has no equality in every database; its text has.
    const valuesOf = (of: string): string =>
      values
        .map(({ name, type }) => (type === 'json' ? `CAST(${of}.${quoted(name)} AS text)` : `${of}.${quoted(name)}`))
        .join(', ');
    // Rows that are as they were are not touched: nor are their triggers, and readers' caches.
    await session.run(
      `UPDATE ${this.#target} SET ${set} FROM ${this.#stage} AS ${staged} WHERE ${this.#sameKey} AND (${valuesOf(this.#target)}) IS DISTINCT FROM (${valuesOf(staged)})`,
    );
  }

  /** By key, rows that stay are changed in place, so that what refers to them from other tables is not touched. */
  async #removeFromTarget(session: Session): Promise<void> {
    if (this.#shape.key.length === 0 || (await this.#hasTwins(session))) {
      await session.run(`DELETE FROM ${this.#target}`);
      return;
    }
    await session.run(
      `DELETE FROM ${this.#target} WHERE NOT EXISTS (SELECT 1 FROM ${this.#stage} AS ${staged} WHERE ${this.#sameKey})`,
    );
    await this.#update(session);
  }

  /** Whether rows of the target have the same key: they can't be told apart. */
  async #hasTwins(session: Session): Promise<boolean> {
    const twins = await session.rows(
      `SELECT 1 AS found FROM ${this.#target} GROUP BY ${this.#keyNames} HAVING count(*) > 1 LIMIT 1`,
    );
    return twins.length > 0;
  }

  async #insertMissing(session: Session, mode: TableMode): Promise<void> {
    const isByKey = this.#shape.key.length > 0 && (mode === 'merge' || mode === 'replace');
    const values = this.#shape.columns.map(({ name }) => `${staged}.${quoted(name)}`).join(', ');
    // A join, since for it a database without an index of the key makes one.
    const [first = ''] = this.#shape.key;
    const missing = isByKey
      ? ` LEFT JOIN ${this.#target} ON ${this.#sameKey} WHERE ${this.#target}.${quoted(first)} IS NULL`
      : '';
    await session.run(
      `INSERT INTO ${this.#target} (${this.#columns}) SELECT ${values} FROM ${this.#stage} AS ${staged}${missing} ORDER BY ${staged}.${this.#order}`,
    );
  }

  get #order(): string {
    return this.#database.order.column;
  }

  get #keyNames(): string {
    return this.#shape.key.map(quoted).join(', ');
  }

  get #sameKey(): string {
    return this.#shape.key.map((name) => `${this.#target}.${quoted(name)} = ${staged}.${quoted(name)}`).join(' AND ');
  }
}

/** For names beside a table. Short, since PostgreSQL cuts names at 63 bytes. */
export function hashOf(table: string): string {
  return createHash('sha256').update(table).digest('hex').slice(0, 12);
}
