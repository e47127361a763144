import { CheckpointError, SinkError } from '@sluice/core';
import {
  countRows,
  hasRows,
  nameInSchema,
  quote,
  RefusedValue,
  type Database,
  type Session,
  type TableName,
  type TableTraits,
  type Unique,
} from './database.js';
import {
  deletedColumn,
  findSwapped,
  planChanges,
  planSnapshot,
  type ChangedRow,
  type Displaced,
  type Generation,
  type MirrorShape,
  type RemovedRow,
  type Values,
} from './generation.js';
import { publish } from './publish.js';
import { StagingTable } from './stagingTable.js';
import type { TargetTable } from './targetTable.js';
import { vacateRows } from './vacateRows.js';

/** The table of a mirror. */
export class MirrorTable<T> {
  readonly #staging: StagingTable;
  readonly #shape: MirrorShape<T>;
  readonly #hasRecord: boolean;

  /** @param hasRecord its rows are a mirror's */
  constructor(database: Database, table: TableName, shape: MirrorShape<T>, hasRecord: boolean) {
    this.#staging = new StagingTable(database, table, shape);
    this.#shape = shape;
    this.#hasRecord = hasRecord;
  }

  /** @throws SinkError if there is a table with other columns, or with rows of others. */
  async checkNew(session: Session): Promise<void> {
    if (!(await this.#check(session)) || this.#hasRecord) return;
    const { name, sql } = this.#staging.target;
    if (await hasRows(session, sql))
      throw new SinkError(
        `The table ${name.given} has rows, and they are not this mirror's. Name another table, or empty it.`,
        { details: { table: name.given } },
      );
  }

  /** @throws CheckpointError if the table is gone, SinkError if it has other columns now. */
  async checkOurs(session: Session): Promise<void> {
    if (await this.#check(session)) return;
    const { given } = this.#staging.target.name;
    throw new CheckpointError(`The table ${given}, which this mirror has filled, is gone.`, {}, [{ kind: 'restart' }]);
  }

  #check(session: Session): Promise<TableTraits | undefined> {
    const otherKind = "is a view or the like, in which keys can't be made unique. Name a table.";
    return this.#staging.target.check(session, ['table'], otherKind);
  }

  /** Returns the rows that are displaced then. */
  async apply(session: Session, generation: Generation, before: Displaced): Promise<Displaced> {
    const traits = await session.readTraits(this.#staging.target.name.full);
    const update = new MirrorUpdate(session, this.#staging, this.#shape, traits);
    if (!generation.isFirst) return update.run(generation, before);
    const { rows, displaced } = planSnapshot(this.#shape, generation, update.uniques);
    await this.#replace(session, rows);
    return displaced;
  }

  /** Rows that stay are changed in place, and rows that the snapshot lacks go. */
  async #replace(session: Session, rows: readonly Values[]): Promise<void> {
    const { target } = this.#staging;
    await this.checkNew(session);
    await stage(session, this.#staging, rows);
    await publish(session, this.#staging, 'replace', rows.length);
    await target.createKey(session);
    const missing = rows.length - (await countRows(session, target.sql));
    if (missing === 0) return;
    throw new SinkError(`${missing} of ${rows.length} rows have the same ${target.key.join(', ')} as another one.`, {
      details: { option: 'key', table: target.name.given },
      advice: [{ kind: 'set', option: 'key' }],
    });
  }
}

async function stage(session: Session, staging: StagingTable, rows: readonly Values[]): Promise<void> {
  await staging.create(session);
  await staging.insert(
    session,
    rows.map((values, nth) => [...values, StagingTable.placeOf(0, nth + 1)]),
  );
}

/** The statements of a generation, within one transaction. A mirror has few changes, so it stages none of them. */
class MirrorUpdate<T> {
  readonly #session: Session;
  readonly #staging: StagingTable;
  readonly #target: TargetTable;
  readonly #shape: MirrorShape<T>;
  /** Columns of which no two rows may have the same values: first the key, then others. */
  readonly uniques: readonly Unique[];
  readonly #traits: TableTraits | undefined;
  readonly #sameKey: string;

  constructor(session: Session, staging: StagingTable, shape: MirrorShape<T>, traits: TableTraits | undefined) {
    this.#session = session;
    this.#staging = staging;
    this.#target = staging.target;
    this.#shape = shape;
    this.#traits = traits;
    this.uniques = [{ columns: shape.key }, ...(traits ? staging.target.listUniques(traits) : [])];
    // In the order of the columns, as `keyOf` has the values.
    const names = shape.columns.filter(({ name }) => shape.key.includes(name));
    this.#sameKey = names.map(({ name }) => `${quote(name)} = ?`).join(' AND ');
  }

  /** Returns the rows that are displaced then. */
  async run(generation: Generation, before: Displaced): Promise<Displaced> {
    const { stayed, inPlace, arrived, left, gone, displaced } = planChanges(
      this.#shape,
      generation,
      this.uniques,
      before,
    );
    const changed = [...stayed.map(({ values }) => values), ...inPlace];
    await this.#refuseCutValues([...changed, ...arrived]);
    await this.#vacate(stayed);
    const hasRules = this.#traits?.hasRules === true;
    const rows = hasRules ? await this.#count() : 0;
    const deleted = await this.#remove(left, gone);
    const inserted = await this.#store(changed, arrived).catch((error: unknown) => {
      throw this.#explainTwin(error) ?? error;
    });
    if (!hasRules) return displaced;
    this.#target.checkCount('kept', rows - deleted + inserted, await this.#count());
    const here = [...changed, ...arrived].map((values) => this.#shape.keyOf(values));
    this.#target.checkCount('kept', here.length, await this.#countEach(here));
    return displaced;
  }

  /** The staging table refuses values that the table itself would cut. */
  async #refuseCutValues(rows: readonly Values[]): Promise<void> {
    if ((await this.#staging.listCuts(this.#session)).length === 0) return;
    await stage(this.#session, this.#staging, rows);
    await this.#staging.drop(this.#session);
  }

  /** Rows that stay may swap values of which no two may be the same. */
  async #vacate(stayed: readonly ChangedRow[]): Promise<void> {
    const { columns, sql } = this.#target;
    for (const unique of this.uniques.slice(1)) {
      const rows = findSwapped(this.#shape, stayed, unique).map(({ values }) => this.#shape.keyOf(values));
      if (rows.length === 0 || unique.isDeferred) continue;
      const valuesToBe = (column: string): readonly unknown[] => {
        const nth = columns.findIndex(({ name }) => name === column);
        return stayed.map(({ values }) => values[nth]);
      };
      const swapping = { unique, valuesToBe, count: rows.length, rows };
      await vacateRows(this.#session, this.#target, swapping, async (assignmentOf) => {
        for (const [nth, key] of rows.entries())
          await this.#session.run(`UPDATE ${sql} SET ${assignmentOf(String(nth + 1))} WHERE ${this.#sameKey}`, ...key);
      });
    }
  }

  /** Removes rows, or marks them. A rule of the table may prevent that. Returns how many are gone. */
  async #remove(keys: readonly Values[], gone: readonly RemovedRow[]): Promise<number> {
    const { sql } = this.#target;
    const deletedAt = quote(deletedColumn.name);
    // Rows may go with those that they refer to.
    const before = keys.length > 0 && this.#traits?.isReferenced ? await this.#count() : undefined;
    const counts = await this.#session.runEach(`DELETE FROM ${sql} WHERE ${this.#sameKey}`, keys);
    let found = counts.reduce((sum, count) => sum + count, 0);
    if (before !== undefined) {
      const after = await this.#count();
      this.#target.checkStay(before - keys.length, after);
      found = before - after;
    }
    const marked = this.#shape.hasDeletedAt ? gone : [];
    await this.#session.runEach(
      `UPDATE ${sql} SET ${deletedAt} = ? WHERE ${this.#sameKey}`,
      marked.map(({ values, at }) => [at, ...this.#shape.keyOf(values)]),
    );
    if (!this.#traits?.hasRules) return found;
    const left = await this.#countEach(keys);
    this.#target.checkCount('removed', keys.length, keys.length - left);
    const markedKeys = marked.map(({ values }) => this.#shape.keyOf(values));
    const live = await this.#countEach(markedKeys, ` AND ${deletedAt} IS NULL`);
    this.#target.checkCount('changed', marked.length, marked.length - live);
    return found;
  }

  /** Changes rows that are there, and adds the others; returns how many those were. */
  async #store(changed: readonly Values[], arrived: readonly Values[]): Promise<number> {
    const { name, columns } = this.#target;
    const rows = [
      ...(await this.#update(changed)),
      ...(this.#shape.hasDeletedAt ? await this.#update(arrived, { areBack: true }) : arrived),
    ];
    if (rows.length > 0) {
      const names = columns.map((column) => column.name);
      const found = await this.#session.insert(name.full, names, rows).catch((error: unknown) => {
        throw this.#nameRow(error, rows);
      });
      this.#target.checkCount('added', rows.length, found);
    }
    await this.#target.fireDeferred(this.#session);
    return rows.length;
  }

  /** Changes rows; returns those of which there is none to change, e.g. since somebody else has deleted it. */
  async #update(rows: readonly Values[], { areBack = false } = {}): Promise<readonly Values[]> {
    const { columns, key, sql } = this.#target;
    const others = columns.filter(({ name }) => !key.includes(name));
    // Of rows that are nothing but a key, nothing changes.
    const changed = (others.length > 0 ? others : columns.slice(0, 1)).map(({ name }) => name);
    const keys = columns.filter(({ name }) => key.includes(name)).map(({ name }) => name);
    // Of two live rows with one key, the second one is an error.
    const only = areBack ? ` AND ${quote(deletedColumn.name)} IS NOT NULL` : '';
    const updating = this.#session.runEach(
      `UPDATE ${sql} SET ${changed.map((name) => `${quote(name)} = ?`).join(', ')} WHERE ${this.#sameKey}${only}`,
      rows.map((values) => [
        ...(others.length > 0 ? this.#shape.othersOf(values) : values.slice(0, 1)),
        ...this.#shape.keyOf(values),
      ]),
      [...changed, ...keys],
    );
    const counts = await updating.catch((error: unknown) => {
      throw this.#nameRow(error, rows);
    });
    const absent = rows.filter((_, nth) => counts[nth] === 0);
    if (!this.#traits?.hasRules || areBack) return absent;
    const ignored = await this.#countEach(absent.map((values) => this.#shape.keyOf(values)));
    this.#target.checkCount('changed', rows.length, rows.length - ignored);
    return absent;
  }

  #nameRow(error: unknown, rows: readonly Values[]): unknown {
    if (!(error instanceof RefusedValue)) return error;
    const { given: table } = this.#target.name;
    const key = this.#shape.keyOf(rows[error.row] ?? []).join(', ');
    return new SinkError(
      `The row ${JSON.stringify(key)} has a value in ${error.column} that ${table} can't store: ${error.message}. Change the column, or the value with pipePages(map(…)).`,
      { details: { column: error.column, table }, cause: error },
    );
  }

  /** Rows that were removed keep their values, which are to be seen there; so other rows can't have them. */
  #explainTwin(error: unknown): SinkError | undefined {
    const { database, name, sql } = this.#target;
    const refusal = database.readRefusal(error);
    const strict = this.uniques.slice(1).filter(({ isPartial }) => !isPartial);
    if (!this.#shape.hasDeletedAt || !refusal?.isTwin || strict.length === 0) return undefined;
    const indexes = strict.map(({ columns }) => {
      const index = quote(`${nameInSchema(name.full, database)}_${columns.join('_')}`);
      return `CREATE UNIQUE INDEX ${index} ON ${sql} (${columns.map(quote).join(', ')}) WHERE ${quote(deletedColumn.name)} IS NULL`;
    });
    return new SinkError(
      `${name.given} can't take the rows of the last poll: ${refusal.message} Rows that were removed keep their values. If one of them has this one, drop that constraint or index, and let only the others be unique: ${indexes.join('; ')}`,
      { details: { table: name.given }, cause: error },
    );
  }

  #count(where = '', ...key: Values): Promise<number> {
    return countRows(this.#session, this.#target.sql + where, ...key);
  }

  async #countEach(keys: readonly Values[], only = ''): Promise<number> {
    let rows = 0;
    for (const key of keys) rows += await this.#count(` WHERE ${this.#sameKey}${only}`, ...key);
    return rows;
  }
}
