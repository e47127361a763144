import { CheckpointError, SinkError } from '@sluice/core';
import {
  countRows,
  hasRows,
  nameInSchema,
  quote,
  RefusedValue,
  type Database,
  type Session,
  type TableColumn,
  type TableName,
  type TableTraits,
  type Unique,
} from './database.js';
import {
  deletedColumn,
  encodeValues,
  findSwapped,
  planChanges,
  planSnapshot,
  type ChangedRow,
  type ComparedWalk,
  type Displaced,
  type Generation,
  type MirrorShape,
  type RemovedRow,
  type TableChanges,
  type Values,
} from './generation.js';
import {
  endVersion,
  followPoll,
  HistoryTable,
  isLive,
  openVersion,
  untoldRemovals,
  type LastPoll,
  type Poll,
} from './historyTable.js';
import { mergeStaged } from './mergeStaged.js';
import { StagingTable } from './stagingTable.js';
import { extraColumn } from './tableShape.js';
import type { TargetTable } from './targetTable.js';
import { vacateRows } from './vacateRows.js';

/** What is recorded with the table of a mirror. */
export interface MirrorState {
  readonly displaced: Displaced;
  readonly poll: LastPoll;
  /** Columns that were added to the table, and that no row has got values of. */
  readonly added: readonly string[];
}

/** The table of a mirror. */
export class MirrorTable<T> {
  readonly #staging: StagingTable;
  /** With all versions of its rows. */
  readonly #history: HistoryTable | undefined;
  readonly #shape: MirrorShape<T>;
  readonly #hasRecord: boolean;

  /** @param hasRecord its rows are a mirror's */
  constructor(database: Database, table: TableName, shape: MirrorShape<T>, hasRecord: boolean) {
    this.#staging = new StagingTable(database, table, shape);
    this.#history = shape.kept === 'versions' ? new HistoryTable(this.#staging, shape.compares) : undefined;
    this.#shape = shape;
    this.#hasRecord = hasRecord;
  }

  /** @throws SinkError if there is a table with other columns, or with rows of others. */
  async checkNew(session: Session): Promise<void> {
    const { name, sql } = this.#staging.target;
    if ((await this.#check(session)) && !this.#hasRecord && (await hasRows(session, sql)))
      throw new SinkError(
        `The table ${name.given} has rows, and they are not this mirror's. Name another table, or empty it.`,
        { details: { table: name.given } },
      );
    await this.#history?.checkNames(session, this.#hasRecord);
  }

  /** Whether it has rows that are there now. */
  hasLiveRows(session: Session): Promise<boolean> {
    const { live } = this.#shape;
    return hasRows(session, this.#staging.target.sql + (live ? ` WHERE ${quote(live.name)} IS NULL` : ''));
  }

  /**
   * @param hadRows the last generation left rows
   * @throws CheckpointError if the table or its rows are gone, SinkError if it has other columns now
   */
  async checkOurs(session: Session, hadRows: boolean): Promise<void> {
    const { given } = this.#staging.target.name;
    const isThere = (await this.#check(session)) !== undefined;
    const hasPolls = (await this.#history?.checkNames(session, true)) ?? true;
    if (isThere && hasPolls && hadRows && !(await this.hasLiveRows(session)))
      throw new CheckpointError(`The table ${given} has no rows, and this mirror has left some.`, {}, [
        { kind: 'restart' },
      ]);
    if (isThere && hasPolls) return;
    const gone = isThere ? `of the polls of ${given}` : `${given}, which this mirror has filled,`;
    throw new CheckpointError(`The table ${gone} is gone.`, {}, [{ kind: 'restart' }]);
  }

  /** The columns that the table lacks and gets. */
  listLacking(session: Session): Promise<readonly TableColumn[]> {
    return this.#staging.target.listLacking(session);
  }

  async addColumns(session: Session): Promise<void> {
    await this.#staging.target.addColumns(session);
  }

  /**
   * Fills columns that were added: a row that does not change comes with no poll. A history gets them in the versions that
   * are valid now.
   *
   * @param rows those that the table has now
   */
  async fill(session: Session, added: readonly string[], rows: readonly Values[]): Promise<void> {
    if (rows.length === 0) return;
    // What is a column now was one of the other fields.
    await new MirrorUpdate(session, this.#staging, this.#shape, undefined).fill([...added, extraColumn], rows);
  }

  async #check(session: Session): Promise<TableTraits | undefined> {
    const otherKind = "is a view or the like, in which keys can't be made unique. Name a table.";
    const traits = await this.#staging.target.check(session, ['table'], otherKind);
    await this.#history?.checkKeys(session, traits);
    return traits;
  }

  /** Returns what is to be recorded then. */
  async apply(session: Session, { walk, changes }: ComparedWalk, before: MirrorState): Promise<MirrorState> {
    const traits = await session.readTraits(this.#staging.target.name.full);
    const update = new MirrorUpdate(session, this.#staging, this.#shape, traits);
    const poll = this.#history && followPoll(before.poll, walk);
    let { displaced } = before;
    if (changes?.isFirst) {
      const plan = planSnapshot(this.#shape, changes, update.uniques);
      displaced = plan.displaced;
      await this.checkNew(session);
      this.#checkTwins(plan.rows.length, await this.#replace(session, plan.rows, walk, poll, before.added));
    } else if (changes) displaced = await update.run(changes, displaced, poll);
    if (poll && !changes?.isFirst) await this.#history.createViews(session);
    if (poll) await this.#history.addPoll(session, poll);
    const added = changes ? [] : before.added;
    return { displaced, poll: poll && { generation: poll.generation, at: poll.at }, added };
  }

  /**
   * Rows that stay are changed in place, and rows that the snapshot lacks go; or their versions end. Returns how many rows
   * are there.
   */
  async #replace(
    session: Session,
    rows: readonly Values[],
    walk: ComparedWalk['walk'],
    poll: Poll | undefined,
    added: readonly string[],
  ): Promise<number> {
    const { target } = this.#staging;
    if (!this.#history || !poll) {
      await stage(session, this.#staging, rows);
      const end = { isIncomplete: walk.isIncomplete === true };
      const { rowsNotRemoved } = await mergeStaged(session, this.#staging, 'replace', rows.length, end);
      if (rowsNotRemoved > 0) throw untoldRemovals(target.name.given);
      await target.createKey(session);
      return countRows(session, target.sql);
    }
    await this.#history.create(session);
    await stage(
      session,
      this.#staging,
      rows.map((values) => [...values, ...openVersion(poll)]),
    );
    const twins = await this.#staging.keepLastPerKey(session);
    if (twins === 0) await this.#history.publish(session, poll, 'end', undefined, added);
    await this.#staging.drop(session);
    return rows.length - twins;
  }

  #checkTwins(rows: number, found: number): void {
    if (rows === found) return;
    throw this.#staging.target.collapsed(rows - found, rows);
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

  /** Sets some columns of rows that are there now. */
  async fill(names: readonly string[], rows: readonly Values[]): Promise<void> {
    const { columns, sql } = this.#target;
    const { live } = this.#shape;
    const isFilled = columns.map(({ name }) => names.includes(name));
    const filled = columns.filter((_, nth) => isFilled[nth]).map(({ name }) => name);
    // The source may have lost what it had gained.
    if (filled.length === 0) return;
    const only = live ? ` AND ${quote(live.name)} IS NULL` : '';
    const filling = this.#session.runEach(
      `UPDATE ${sql} SET ${filled.map((name) => `${quote(name)} = ?`).join(', ')} WHERE ${this.#sameKey}${only}`,
      rows.map((values) => [...values.filter((_, nth) => isFilled[nth]), ...this.#shape.keyOf(values)]),
      [...filled, ...columns.filter(({ name }) => this.#shape.key.includes(name)).map(({ name }) => name)],
    );
    await filling.catch((error: unknown) => {
      throw this.#nameRow(error, rows);
    });
  }

  /** Returns the rows that are displaced then. */
  async run(generation: Generation, before: Displaced, poll: Poll | undefined): Promise<Displaced> {
    const plan = planChanges(this.#shape, generation, this.uniques, before);
    if (poll) await this.#addVersions(plan, poll);
    else await this.#change(plan);
    return plan.displaced;
  }

  async #change({ stayed, inPlace, arrived, left, gone }: TableChanges): Promise<void> {
    const changed = [...stayed.map(({ values }) => values), ...inPlace];
    await this.#refuseCutValues([...changed, ...arrived]);
    await this.#vacate(stayed);
    const hasRules = this.#traits?.hasRules === true;
    const rows = hasRules ? await this.#count() : 0;
    const deleted = await this.#remove(left, gone);
    const inserted = await this.#store(changed, arrived).catch((error: unknown) => {
      throw this.#explainTwin(error) ?? error;
    });
    if (!hasRules) return;
    this.#target.checkCount('kept', rows - deleted + inserted, await this.#count());
    const here = [...changed, ...arrived].map((values) => this.#shape.keyOf(values));
    this.#target.checkCount('kept', here.length, await this.#countEach(here));
  }

  /** Ends the versions that rows have, and adds those that they get. */
  async #addVersions({ stayed, inPlace, arrived, left, gone }: TableChanges, poll: Poll): Promise<void> {
    // What has changed may be a column that the table lacks, or only the notation of a value.
    const compared = (values: Values): string => encodeValues(this.#shape.comparedOf(values));
    const changed = stayed.filter(({ values, before }) => compared(values) !== compared(before));
    const rows = [...changed.map(({ values }) => values), ...inPlace, ...arrived];
    const encodeKey = (values: Values): string => encodeValues(this.#shape.keyOf(values));
    const next = new Set(rows.map(encodeKey));
    const keys = [...[...changed, ...gone].map(({ values }) => values), ...inPlace].map((row) =>
      this.#shape.keyOf(row),
    );
    const ended = new Map([...keys, ...left].map((key) => [encodeValues(key), key]));
    const versions = rows.map((values) => [...values, ...openVersion(poll)]);
    await this.#refuseCutValues(versions);
    const hasRules = this.#traits?.hasRules === true;
    const before = hasRules ? await this.#count() : 0;
    await this.#session.runEach(
      `UPDATE ${this.#target.sql} SET ${endVersion} WHERE ${this.#sameKey} AND ${isLive}`,
      Array.from(ended, ([text, key]) => [poll.at, next.has(text) ? 'changed' : 'removed', ...key]),
    );
    const live = hasRules ? await this.#countEach([...ended.values()], ` AND ${isLive}`) : 0;
    this.#target.checkCount('changed', ended.size, ended.size - live);
    await this.#insert(versions).catch((error: unknown) => {
      throw this.#explainTwin(error) ?? error;
    });
    await this.#target.fireDeferred(this.#session);
    if (!hasRules) return;
    this.#target.checkCount('kept', before + versions.length, await this.#count());
    const here = rows.map((values) => this.#shape.keyOf(values));
    this.#target.checkCount('kept', here.length, await this.#countEach(here, ` AND ${isLive}`));
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
    const marked = this.#shape.live ? gone : [];
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
    const rows = [
      ...(await this.#update(changed)),
      ...(this.#shape.live ? await this.#update(arrived, { areBack: true }) : arrived),
    ];
    await this.#insert(rows);
    await this.#target.fireDeferred(this.#session);
    return rows.length;
  }

  async #insert(rows: readonly Values[]): Promise<void> {
    if (rows.length === 0) return;
    const { name, columns } = this.#target;
    const names = columns.map((column) => column.name);
    const found = await this.#session.insert(name.full, names, rows).catch((error: unknown) => {
      throw this.#nameRow(error, rows);
    });
    this.#target.checkCount('added', rows.length, found);
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
    if (!this.#shape.live || !refusal?.isTwin || strict.length === 0) return undefined;
    const indexes = strict.map(({ columns }) => {
      const index = quote(`${nameInSchema(name.full, database)}_${columns.join('_')}`);
      return `CREATE UNIQUE INDEX ${index} ON ${sql} (${columns.map(quote).join(', ')}) WHERE ${quote(this.#shape.live?.name ?? '')} IS NULL`;
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
