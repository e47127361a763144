import { CheckpointError, SinkError } from '@sluice/core';
import { plainText, shownText } from '@sluice/core/kit';
import {
  declareType,
  besideTable,
  countRows,
  foldTableName,
  nameInSchema,
  quote,
  quoteTable,
  readInteger,
  readNumber,
  RefusedValue,
  type Database,
  type Session,
  type SqlValue,
  type TableName,
} from './database.js';
import { ownKeyColumn, type TableColumns } from './tableShape.js';
import { shortHash, TargetTable } from './targetTable.js';

/** Rows of a partition have numbers of their own, so that their order is the plan's at any concurrency. */
const rowsOfPartition = 2 ** 40;
/** A name within a statement, which no table may have. */
const later = '_sluice_later';

/** The parts of a column's definition. */
type Definition = 'name' | 'type' | 'equality' | 'check';

/** The table in which rows wait, in the order of the plan, until they are published. */
export class StagingTable {
  readonly target: TargetTable;
  /** Its name, with the schema. */
  readonly name: string;
  /** Its name as SQL has it. */
  readonly sql: string;
  /** The column that has the place of a row in the plan. */
  readonly order: string;
  readonly #database: Database;
  /** The index of its key, without the schema. */
  readonly #keyIndex: string;
  readonly #ownKey: string | undefined;
  /** The columns that the target lacks, and that have a definition. */
  readonly #own: readonly string[];

  /** @param of whose it is. Default: of the table's exports, of which one writes at a time. */
  constructor(database: Database, table: TableName, columns: TableColumns, of?: string) {
    this.#database = database;
    this.target = new TargetTable(database, table, columns);
    const identity = foldTableName(table.full, database);
    const hash = shortHash(of === undefined ? identity : `${of} ${identity}`);
    this.name = besideTable(table.full, `_sluice_${hash}`, database);
    this.sql = quoteTable(this.name, database);
    this.order = database.order.column;
    this.#keyIndex = `_sluice_stage_${hash}`;
    this.#ownKey = columns.ownKey;
    this.#own = columns.ownKey === ownKeyColumn ? [ownKeyColumn] : [];
  }

  /** Begins anew, and drops what an earlier run left. Returns the hash of its columns. */
  async create(session: Session): Promise<string> {
    const { definition } = this.#database.order;
    const found = await this.#defineColumns(session);
    const columns = found.map(({ name, type, equality, check }) => name + ' ' + type + equality + check);
    for (const name of this.#own) columns.push(`${name} text COLLATE ${this.#database.exactCollation}`);
    if (definition !== undefined) columns.push(`${this.order} ${definition}`);
    await this.drop(session);
    await session.run(`CREATE TABLE ${this.sql} (${columns.join(', ')})`);
    return shortHash(JSON.stringify(found));
  }

  /** The hash of the columns with which it would be created now. */
  async hashColumns(session: Session): Promise<string> {
    return shortHash(JSON.stringify(await this.#defineColumns(session)));
  }

  /**
   * Gives it the columns with which it would be created now. It keeps its rows.
   *
   * @throws CheckpointError if they do not fit
   */
  async alter(session: Session): Promise<void> {
    const definitions = await this.#defineColumns(session);
    for (const [nth, { name, type, equality, check }] of definitions.entries()) {
      const actions = [
        `DROP CONSTRAINT IF EXISTS ${name}`,
        `ALTER COLUMN ${name} TYPE ${type}${equality} USING CAST(CAST(${name} AS text) AS ${type})`,
        ...(check === '' ? [] : [`ADD${check}`]),
      ];
      try {
        // Not all at once, since the database does not always say for which column it fails.
        await session.run(`ALTER TABLE ${this.sql} ${actions.join(', ')}`);
      } catch (error) {
        if (!this.#database.readRefusal(error)) throw error;
        const { given: table } = this.target.name;
        const column = this.target.columns[nth]?.name ?? name;
        throw new CheckpointError(
          `The column ${column} of ${table} was altered during the export: unless it is altered back, rows that were fetched before do not fit.`,
          { table, column },
          [{ kind: 'restart' }],
        );
      }
    }
  }

  /** Its columns, as SQL has them. */
  async #defineColumns(session: Session): Promise<readonly Readonly<Record<Definition, string>>[]> {
    const { stagesDeclaredTypes = false, cut, foldName: fold } = this.#database;
    const { name: table, columns } = this.target;
    const existing = new Map((await session.readColumns(table.full))?.map((column) => [fold(column.name), column]));
    return columns.map(({ name, type }) => {
      const { declared, collation } = existing.get(fold(name)) ?? {};
      const isCut = declared === undefined ? undefined : cut?.(name, declared);
      // Values that the target would refuse are refused at once, and those that it takes for equal are so here.
      const given = declared !== undefined && stagesDeclaredTypes ? declared : declareType(this.#database, type).name;
      const ownType = isCut === undefined ? given : `text`;
      const equality = collation === undefined ? '' : ` COLLATE ${collation}`;
      const check = isCut === undefined ? '' : ` CONSTRAINT ${quote(name)} CHECK (NOT (${isCut}))`;
      return { name: quote(name), type: ownType, equality, check };
    });
  }

  /** Columns of the target that cut text which this table refuses, and when. */
  async listCuts(session: Session): Promise<readonly { readonly name: string; readonly condition: string }[]> {
    const { cut } = this.#database;
    if (!cut) return [];
    const known = new Set(this.target.columns.map(({ name }) => name));
    return ((await session.readColumns(this.target.name.full)) ?? []).flatMap(({ name, declared }) => {
      const condition = known.has(name) ? cut(name, declared) : undefined;
      return condition === undefined ? [] : [{ name, condition }];
    });
  }

  async drop(session: Session): Promise<void> {
    await session.run(`DROP TABLE IF EXISTS ${this.sql}`);
  }

  /** The place of a row in the plan, which follows its values. */
  static placeOf(partition: number, nth: number): number | bigint {
    const place = partition * rowsOfPartition + nth;
    return Number.isSafeInteger(place) ? place : BigInt(partition) * BigInt(rowsOfPartition) + BigInt(nth);
  }

  async insert(session: Session, placed: readonly (readonly SqlValue[])[]): Promise<void> {
    const names = [...this.target.columns.map(({ name }) => name), ...this.#own, this.order];
    try {
      await session.insert(this.name, names, placed);
    } catch (error) {
      if (!(error instanceof RefusedValue)) throw error;
      const row = placed[error.row] ?? [];
      const value = row[names.indexOf(error.column)];
      throw this.refuse(error.column, value, row.at(-1), error.message, error);
    }
  }

  /** The error for a row that the target can't store. @param place its place in the plan */
  refuse(column: string, value: unknown, place: unknown, why: string, cause?: unknown): SinkError {
    const nth = Number(readInteger(place) % BigInt(rowsOfPartition));
    const shown = shownText(plainText(value) ?? '');
    return new SinkError(
      `Row ${nth}: ${column} is ${shown}, which ${this.target.name.given} can't store: ${why}. Change the column, or the value with pipePages(map(…)).`,
      { details: { row: nth, column }, cause },
    );
  }

  /** The number of rows, of one partition or of all. */
  countRows(session: Session, partition?: number): Promise<number> {
    if (partition === undefined) return countRows(session, this.sql);
    return countRows(session, `${this.sql} WHERE ${this.#isOfPartition}`, ...placesOfPartition(partition));
  }

  async dropPartition(session: Session, partition: number): Promise<void> {
    await session.run(`DELETE FROM ${this.sql} WHERE ${this.#isOfPartition}`, ...placesOfPartition(partition));
  }

  /**
   * Rows whose keys in the source differ would be one in the target, and all but the last one be lost.
   *
   * @throws SinkError if there are any: nothing is left to resume, since another key needs other rows
   */
  async refuseCollapsed(session: Session): Promise<void> {
    const { key, keyNames } = this.target;
    if (key.length === 0 || this.#ownKey === undefined) return;
    const own = `${quote(this.#ownKey)} COLLATE ${this.#database.exactCollation}`;
    const [first, last] = ['_sluice_first', '_sluice_last'];
    const [found] = await session.rows(
      `SELECT ${keyNames}, min(${own}) AS ${first}, max(${own}) AS ${last} FROM ${this.sql} GROUP BY ${keyNames} HAVING min(${own}) <> max(${own}) LIMIT 1`,
    );
    if (!found) return;
    const [counted] = await session.rows(
      `SELECT sum(${first}) AS ${first}, sum(${first} - 1) AS ${last} FROM (SELECT count(DISTINCT ${own}) AS ${first} FROM ${this.sql} GROUP BY ${keyNames} HAVING count(DISTINCT ${own}) > 0) AS ${later}`,
    );
    throw this.target.collapsed(readNumber(counted?.[last]), readNumber(counted?.[first]), {
      own: [found[first], found[last]].map((text) => this.#shownKey(String(text))),
      key: key.map((name) => String(found[name])),
    });
  }

  /** 1 and "1" are two keys. */
  #shownKey(text: string): string {
    const key: unknown = this.#own.length > 0 ? JSON.parse(text) : text;
    return typeof key === 'string' ? shownText(key) : String(key);
  }

  /** Keeps the last row of each key, the one that the API sent last. Returns how many others there were. */
  async keepLastPerKey(session: Session): Promise<number> {
    await session.run(`CREATE INDEX ${quote(this.#keyIndex)} ON ${this.sql} (${this.target.keyNames})`);
    return session.run(
      `DELETE FROM ${this.sql} WHERE EXISTS (SELECT 1 FROM ${this.sql} AS ${later} WHERE ${this.target.sameKey(later, this.sql)} AND ${later}.${this.order} > ${this.sql}.${this.order})`,
    );
  }

  /** Takes the name of the target, which is not there. Its keys are unique. */
  async becomeTarget(session: Session): Promise<void> {
    const { name, key } = this.target;
    const { definition } = this.#database.order;
    for (const column of definition === undefined ? this.#own : [...this.#own, this.order])
      await session.run(`ALTER TABLE ${this.sql} DROP COLUMN ${column}`);
    await session.run(`ALTER TABLE ${this.sql} RENAME TO ${quote(nameInSchema(name.full, this.#database))}`);
    if (key.length === 0) return;
    const index = besideTable(name.full, this.#keyIndex, this.#database);
    await session.run(`DROP INDEX ${quoteTable(index, this.#database)}`);
    await this.target.createKey(session);
  }

  get #isOfPartition(): string {
    return `${this.order} >= ? AND ${this.order} < ?`;
  }
}

/** The places of a partition: from the first one, and before the second one. */
function placesOfPartition(partition: number): readonly [bigint, bigint] {
  const first = BigInt(partition) * BigInt(rowsOfPartition);
  return [first, first + BigInt(rowsOfPartition)];
}
