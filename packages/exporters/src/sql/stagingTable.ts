import { createHash } from 'node:crypto';
import { CheckpointError, ConfigError, shownText, SinkError, type WalkEnd } from '@sluice/core';
import {
  besideTable,
  foldTableName,
  readInteger,
  nameInSchema,
  quote,
  quoteTable,
  RefusedValue,
  type Changes,
  type Database,
  type Session,
  type SqlValue,
  type TableName,
  type TableTraits,
  type Unique,
} from './database.js';
import { checkTable, type TableShape } from './tableShape.js';
import { readExtremes, vacateRows } from './vacateRows.js';

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
const staged = '_sluice_staged';
const later = '_sluice_later';
const nth = '_sluice_nth';

/** The parts of a column's definition. */
type Definition = 'name' | 'type' | 'equality' | 'check';

/** What a table has before rows are added to it. */
interface Before {
  /** Rows with the values of new ones. */
  readonly hasEqual: boolean;
  readonly changes?: Changes | undefined;
}

/** Rows that were added to a table with rules. */
interface Added {
  /** The rows that it should have. */
  readonly expected: number;
  readonly added: number;
  readonly before: Before;
  readonly traits: TableTraits;
}

/** The table into which an export writes, and which becomes the target, or goes into it, in one transaction. */
export class StagingTable<T> {
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
    const identity = foldTableName(table.full, database);
    this.#hash = shortHash(identity);
    this.#own = of === undefined ? this.#hash : shortHash(`${of} ${identity}`);
    this.#stageName = besideTable(table.full, `_sluice_${this.#own}`, database);
    this.#stage = quoteTable(this.#stageName, database);
    this.#target = quoteTable(table.full, database);
    this.#columns = shape.columns.map(({ name }) => quote(name)).join(', ');
  }

  /** Its name, with the schema. */
  get name(): string {
    return this.#stageName;
  }

  /** Begins anew, and drops what an earlier run left. Returns the hash of its columns. */
  async create(session: Session): Promise<string> {
    const { order } = this.#database;
    const found = await this.#definitions(session);
    const columns = found.map(({ name, type, equality, check }) => name + ' ' + type + equality + check);
    if (order.definition !== undefined) columns.push(`${order.column} ${order.definition}`);
    await this.drop(session);
    await session.run(`CREATE TABLE ${this.#stage} (${columns.join(', ')})`);
    return shortHash(JSON.stringify(found));
  }

  /** The hash of the columns with which it would be created now. */
  async columns(session: Session): Promise<string> {
    return shortHash(JSON.stringify(await this.#definitions(session)));
  }

  /**
   * Gives it the columns with which it would be created now. It keeps its rows.
   *
   * @throws CheckpointError if they do not fit
   */
  async alter(session: Session): Promise<void> {
    const definitions = await this.#definitions(session);
    for (const [nth, { name, type, equality, check }] of definitions.entries()) {
      const actions = [
        `DROP CONSTRAINT IF EXISTS ${name}`,
        `ALTER COLUMN ${name} TYPE ${type}${equality} USING CAST(CAST(${name} AS text) AS ${type})`,
        ...(check === '' ? [] : [`ADD${check}`]),
      ];
      try {
        // Not all at once, since the database does not always say for which column it fails.
        await session.run(`ALTER TABLE ${this.#stage} ${actions.join(', ')}`);
      } catch (error) {
        if (!this.#database.readRefusal(error)) throw error;
        const column = this.#shape.columns[nth]?.name ?? name;
        throw new CheckpointError(
          `The column ${column} of ${this.#table.given} was altered during the export: unless it is altered back, rows that were fetched before do not fit.`,
          { table: this.#table.given, column },
          [{ kind: 'restart' }],
        );
      }
    }
  }

  /** Its columns, as SQL has them. */
  async #definitions(session: Session): Promise<readonly Readonly<Record<Definition, string>>[]> {
    const { types, stagesDeclaredTypes = false, cut } = this.#database;
    const fold = this.#database.foldName ?? ((name: string) => name);
    const existing = new Map(
      (await session.readColumns(this.#table.full))?.map((column) => [fold(column.name), column]),
    );
    return this.#shape.columns.map(({ name, type }) => {
      const { declared, collation } = existing.get(fold(name)) ?? {};
      const isCut = declared === undefined ? undefined : cut?.(name, declared);
      // Values that the target would refuse are refused at once, and those that it takes for equal are so here.
      const given = declared !== undefined && stagesDeclaredTypes ? declared : types[type];
      const ownType = isCut === undefined ? given : `text`;
      const equality = collation === undefined ? '' : ` COLLATE ${collation}`;
      const check = isCut === undefined ? '' : ` CONSTRAINT ${quote(name)} CHECK (NOT (${isCut}))`;
      return { name: quote(name), type: ownType, equality, check };
    });
  }

  /** Whether the table has columns that change values which the staging table refuses. */
  async isStricter(session: Session): Promise<boolean> {
    return (await this.#cuts(session)).length > 0;
  }

  async drop(session: Session): Promise<void> {
    await session.run(`DROP TABLE IF EXISTS ${this.#stage}`);
  }

  async exists(session: Session): Promise<boolean> {
    return (await session.readColumns(this.#stageName)) !== undefined;
  }

  /** The place of a row in the plan, which follows its values. */
  static placeOf(partition: number, nth: number): bigint {
    return BigInt(partition) * rowsOfPartition + BigInt(nth);
  }

  async insert(session: Session, placed: readonly (readonly SqlValue[])[]): Promise<void> {
    const names = [...this.#shape.columns.map(({ name }) => name), this.#database.order.column];
    try {
      const added = await session.insert(this.#stageName, names, placed);
      checkCount(this.#stageName, 'added', { expected: placed.length, found: added });
    } catch (error) {
      if (!(error instanceof RefusedValue)) throw error;
      const row = placed[error.row] ?? [];
      const value = row[names.indexOf(error.column)];
      throw this.#refused({ column: error.column, value, order: row[names.length - 1] }, error.message, error);
    }
  }

  #refused(
    {
      column,
      value,
      order,
    }: { readonly column: string; readonly value: SqlValue | undefined; readonly order: unknown },
    why: string,
    cause?: unknown,
  ): SinkError {
    const nth = Number(readInteger(order) % rowsOfPartition);
    const shown = shownText(String(value ?? ''));
    return new SinkError(
      `Row ${nth}: ${column} is ${shown}, which ${this.#table.given} can't store: ${why}. Change the column, or the value with pipePages(map(…)).`,
      { details: { row: nth, column }, cause },
    );
  }

  /** The number of rows, of one partition or of all. */
  async rows(session: Session, partition?: number): Promise<number> {
    if (partition === undefined) return this.#count(session, this.#stage);
    return this.#count(session, `${this.#stage} WHERE ${this.#ofPartition}`, ...placesOfPartition(partition));
  }

  async dropPartition(session: Session, partition: number): Promise<void> {
    await session.run(`DELETE FROM ${this.#stage} WHERE ${this.#ofPartition}`, ...placesOfPartition(partition));
  }

  /**
   * @throws ConfigError if it is a view, or other tables would lose rows; SinkError if the target has rows that this mode
   * does not touch, rows with the same key, or other columns, or loses its rows in a crash.
   */
  async checkTarget(session: Session, mode: TableMode): Promise<TableTraits | undefined> {
    const existing = await session.readColumns(this.#table.full);
    const traits = existing && (await session.readTraits(this.#table.full));
    if (!traits) return undefined;
    const { given } = this.#table;
    if (traits.kind === 'other')
      throw new ConfigError(`${given} takes no rows, since it is a view or the like. Name a table.`, { table: given });
    checkDurable(given, traits);
    checkTable(this.#database, given, this.#shape, existing);
    if (mode === 'replace' && this.#shape.key.length === 0 && traits.isReferenced)
      throw new ConfigError(
        `Other tables refer to ${given}, and their rows would go or change with all of its rows. With a key, mode replace changes rows that stay in place.`,
        { table: given },
        [{ kind: 'set', option: 'key' }],
      );
    if (mode === 'merge' || mode === 'replace') await this.#refuseTwins(session, traits);
    if (mode !== 'fail') return traits;
    const [row] = await session.rows(`SELECT 1 AS found FROM ${this.#target} LIMIT 1`);
    if (row)
      throw new SinkError(
        (option = 'mode') =>
          `The table ${this.#table.given} has rows already. Name another table, or say in ${option} what becomes of them: append, merge or replace.`,
        { details: { option: 'mode', table: this.#table.given } },
      );
    return traits;
  }

  /**
   * Makes the rows those of the target.
   *
   * @param rows how many were staged, if that is known
   * @param end if rows may be missing, `replace` removes none. Returns how many stay for that.
   * @throws SinkError if the target does not take them all, whatever it does with them, or if `replace` can't tell old rows
   * from new ones after an incomplete walk; CheckpointError if staged rows are gone, or their keys were compared in another
   * way than those of the target are now
   */
  async publish(
    session: Session,
    mode: TableMode,
    rows?: number,
    end: WalkEnd = { isIncomplete: false },
  ): Promise<number> {
    const traits = await this.checkTarget(session, mode);
    const staged = await this.rows(session);
    if (rows !== undefined) checkStaged(this.#table.given, { expected: rows, found: staged });
    if (traits) await this.#checkStagedAs(session);
    const twins = this.#shape.key.length > 0 ? await this.#keepLastPerKey(session) : 0;
    if (!traits) {
      await this.#becomeTarget(session);
      return 0;
    }
    const isByKey = this.#shape.key.length > 0 && (mode === 'merge' || mode === 'replace');
    const kept = mode === 'replace' && end.isIncomplete ? await this.#countMissing(session, isByKey, end) : 0;
    const rowsBefore = traits.hasRules ? await this.#count(session, this.#target) : 0;
    const removed = mode === 'replace' && kept === 0 ? await this.#remove(session, traits, isByKey) : 0;
    if (isByKey) await this.#update(session, traits);
    const before = traits.hasRules && !isByKey ? await this.#lookBefore(session, traits) : undefined;
    const added = await this.#insert(session, traits, isByKey ? undefined : staged - twins);
    if (traits.hasRules)
      await this.#checkAfter(session, mode, { expected: rowsBefore - removed + added, added, before, traits });
    await this.drop(session);
    return kept;
  }

  /** Counts the rows of the target that the walk did not find. @throws SinkError if there are rows, and no key. */
  async #countMissing(session: Session, isByKey: boolean, { shortOfTotal: short }: WalkEnd): Promise<number> {
    if (isByKey) return this.#count(session, this.#missing);
    if ((await this.#count(session, this.#target)) === 0) return 0;
    const whyIn = (option: string): string =>
      short
        ? `the API listed ${short.listed} rows and says that there are ${short.total}`
        : `a part was skipped, the API reported errors, or the limit in ${option} was reached`;
    throw new SinkError(
      (option = 'maxRows') =>
        `The walk was incomplete, so no row of ${this.#table.given} may be removed: ${whyIn(option)}. Without key columns no row can be told from a new one, so nothing was changed.`,
      {
        details: { table: this.#table.given, isLost: true, ...(!short && { option: 'maxRows' }) },
        advice: [
          { kind: 'set', option: 'key' },
          ...(short ? [{ kind: 'allow', option: 'requireTotal' } as const] : []),
        ],
      },
    );
  }

  /** The target may have been altered while rows were staged. */
  async #checkStagedAs(session: Session): Promise<void> {
    const { column: order } = this.#database.order;
    for (const { name, condition } of await this.#cuts(session)) {
      const [row] = await session.rows(
        `SELECT ${quote(name)} AS value, ${order} AS place FROM ${this.#stage} WHERE ${condition} LIMIT 1`,
      );
      if (row)
        throw this.#refused({ column: name, value: String(row['value']), order: row['place'] }, 'it would be cut');
    }
    const collationsOf = async (table: string): Promise<string> => {
      const columns = (await session.readColumns(table)) ?? [];
      return JSON.stringify(this.#shape.key.map((key) => columns.find(({ name }) => name === key)?.collation ?? null));
    };
    if (this.#shape.key.length === 0) return;
    if ((await collationsOf(this.#stageName)) === (await collationsOf(this.#table.full))) return;
    throw new CheckpointError(
      `The key of ${this.#table.given} was altered during the export: it takes other texts for equal now.`,
      { table: this.#table.given },
      [{ kind: 'restart' }],
    );
  }

  /** Columns of the target that cut text, and when. */
  async #cuts(session: Session): Promise<readonly { readonly name: string; readonly condition: string }[]> {
    const { cut } = this.#database;
    if (!cut) return [];
    const known = new Set(this.#shape.columns.map(({ name }) => name));
    return ((await session.readColumns(this.#table.full)) ?? []).flatMap(({ name, declared }) => {
      const condition = known.has(name) ? cut(name, declared) : undefined;
      return condition === undefined ? [] : [{ name, condition }];
    });
  }

  async #becomeTarget(session: Session): Promise<void> {
    const { order } = this.#database;
    if (order.definition !== undefined) await session.run(`ALTER TABLE ${this.#stage} DROP COLUMN ${order.column}`);
    const name = quote(nameInSchema(this.#table.full, this.#database));
    await session.run(`ALTER TABLE ${this.#stage} RENAME TO ${name}`);
    if (this.#shape.key.length === 0) return;
    const stageIndex = besideTable(this.#table.full, `_sluice_stage_${this.#own}`, this.#database);
    await session.run(`DROP INDEX ${quoteTable(stageIndex, this.#database)}`);
    await this.createKey(session);
  }

  /** Makes the key of the target unique, and fast to find. */
  async createKey(session: Session): Promise<void> {
    const index = quote(`_sluice_key_${this.#hash}`);
    // A table with triggers that wait gets no index.
    await this.fireDeferred(session);
    await session.run(`CREATE UNIQUE INDEX IF NOT EXISTS ${index} ON ${this.#target} (${this.#keyNames})`);
  }

  /** The last row of a key is the one that the API sent last, by the order of the plan. Returns how many others there were. */
  async #keepLastPerKey(session: Session): Promise<number> {
    const index = quote(`_sluice_stage_${this.#own}`);
    const same = this.#shape.key.map((name) => `${later}.${quote(name)} = ${this.#stage}.${quote(name)}`);
    await session.run(`CREATE INDEX ${index} ON ${this.#stage} (${this.#keyNames})`);
    return session.run(
      `DELETE FROM ${this.#stage} WHERE EXISTS (SELECT 1 FROM ${this.#stage} AS ${later} WHERE ${same.join(' AND ')} AND ${later}.${this.#order} > ${this.#stage}.${this.#order})`,
    );
  }

  async #update(session: Session, traits: TableTraits): Promise<void> {
    const values = this.#shape.columns.filter(({ name }) => !this.#shape.key.includes(name));
    if (values.length === 0) return;
    const set = values.map(({ name }) => `${quote(name)} = ${staged}.${quote(name)}`).join(', ');
    // JSON has no equality in every database; its text has.
    const valuesOf = (of: string): string =>
      values
        .map(({ name, type }) => (type === 'json' ? `CAST(${of}.${quote(name)} AS text)` : `${of}.${quote(name)}`))
        .join(', ');
    // Rows that are as they were are not touched: nor are their triggers, and readers' caches.
    const differ = `${this.#sameKey} AND (${valuesOf(this.#target)}) IS DISTINCT FROM (${valuesOf(staged)})`;
    for (const unique of this.uniquesOf(traits)) await this.#vacateTaken(session, unique);
    const expected = traits.hasRules
      ? await this.#count(session, `${this.#target}, ${this.#stage} AS ${staged} WHERE ${differ}`)
      : undefined;
    const found = await session.run(
      `UPDATE ${this.#target} SET ${set} FROM ${this.#stage} AS ${staged} WHERE ${differ}`,
    );
    checkCount(this.#table.given, 'changed', { expected, found });
  }

  /** What two rows with different keys may not share, of the columns that rows have. */
  uniquesOf({ uniques }: TableTraits): readonly Unique[] {
    const { key, columns: own } = this.#shape;
    return uniques.flatMap((unique) => {
      const columns = unique.columns.filter((column) => own.some(({ name }) => name === column));
      if (columns.length === 0 || key.every((name) => columns.includes(name))) return [];
      // Rows that differ in another column may share these.
      return [{ ...unique, columns, isPartial: unique.isPartial === true || columns.length < unique.columns.length }];
    });
  }

  /** Rows that stay may swap values of which no two may be the same. */
  async #vacateTaken(session: Session, unique: Unique): Promise<void> {
    const { key } = this.#shape;
    const values = unique.columns.filter((name) => !key.includes(name));
    if (values.length === 0 || unique.isDeferred) return;
    const all = unique.columns.map(quote);
    const isTaken = `(${all.map((name) => `${this.#target}.${name}`).join(', ')}) IN (SELECT ${all.join(', ')} FROM ${this.#stage})`;
    const changes = values.map((name) => `${this.#target}.${quote(name)} IS DISTINCT FROM ${staged}.${quote(name)}`);
    const keys = key.map((name) => `${staged}.${quote(name)}`).join(', ');
    const taken = `SELECT ${keys}, row_number() OVER () AS ${nth} FROM ${this.#target}, ${this.#stage} AS ${staged} WHERE ${this.#sameKey} AND (${changes.join(' OR ')}) AND ${isTaken}`;
    const found = await session.rows(`${taken} LIMIT 3`);
    // A column may take no value in between, so none is made where no row needs it.
    if (found.length === 0) return;
    const swapping = {
      table: this.#table,
      key,
      unique,
      count: await this.#count(session, `(${taken}) AS ${staged}`),
      rows: found.map((row) => key.map((name) => String(row[name]))),
      valuesToBe: (column: string) => readExtremes(session, this.#stage, column),
    };
    await vacateRows(session, this.#database, swapping, (assignmentOf) =>
      session.run(
        `UPDATE ${this.#target} SET ${assignmentOf(`${staged}.${nth}`)} FROM (${taken}) AS ${staged} WHERE ${this.#sameKey}`,
      ),
    );
  }

  /** By key, rows that stay are changed in place, so that what refers to them from other tables is not touched. */
  async #remove(session: Session, { hasRules, isReferenced }: TableTraits, isByKey: boolean): Promise<number> {
    const gone = isByKey ? this.#missing : this.#target;
    const expected = hasRules ? await this.#count(session, gone) : undefined;
    const stay = isByKey && isReferenced ? await this.#count(session, this.#staying) : 0;
    const found = await session.run(`DELETE FROM ${gone}`);
    checkCount(this.#table.given, 'removed', { expected, found });
    if (stay > 0) checkStay(this.#table.given, { expected: stay, found: await this.#count(session, this.#staying) });
    return found;
  }

  /** @throws SinkError if rows of the target have the same key: they can't be told apart. */
  async #refuseTwins(session: Session, { uniques }: TableTraits): Promise<void> {
    const { key } = this.#shape;
    if (
      key.length === 0 ||
      uniques.some(({ columns, isPartial }) => !isPartial && columns.every((name) => key.includes(name)))
    )
      return;
    const isKnown = key.map((name) => `${quote(name)} IS NOT NULL`).join(' AND ');
    const [twins] = await session.rows(
      `SELECT ${this.#keyNames}, count(*) AS _sluice_rows FROM ${this.#target} WHERE ${isKnown} GROUP BY ${this.#keyNames} HAVING count(*) > 1 LIMIT 1`,
    );
    if (!twins) return;
    const shown = key.map((name) => `${name} ${shownText(String(twins[name]))}`).join(', ');
    throw new SinkError(
      `The table ${this.#table.given} has ${String(twins['_sluice_rows'])} rows with the same key (${shown}), which can't be told apart. Nothing was changed. Remove all but one, or choose a key that identifies a row.`,
      { details: { option: 'key', table: this.#table.given } },
    );
  }

  /** @param expected the number of rows; `undefined`: those whose key the target lacks are added */
  async #insert(session: Session, { hasRules }: TableTraits, expected: number | undefined): Promise<number> {
    const values = this.#shape.columns.map(({ name }) => `${staged}.${quote(name)}`).join(', ');
    const source = `${this.#stage} AS ${staged}${expected === undefined ? this.#withoutTarget : ''}`;
    const missing = expected ?? (hasRules ? await this.#count(session, source) : undefined);
    const found = await session.run(
      `INSERT INTO ${this.#target} (${this.#columns}) SELECT ${values} FROM ${source} ORDER BY ${staged}.${this.#order}`,
    );
    checkCount(this.#table.given, 'added', { expected: missing, found });
    return found;
  }

  async #lookBefore(session: Session, { keepsRows = false }: TableTraits): Promise<Before> {
    if (keepsRows) return { hasEqual: false };
    return {
      hasEqual: (await this.#count(session, `${this.#target} WHERE ${this.#isStaged}`)) > 0,
      changes: await session.readChanges?.(this.#table.full),
    };
  }

  /**
   * A trigger may remove what was added, a rule put it elsewhere, a conflict clause replace other rows by it.
   *
   * @param before absent if rows have a key, which tells whether they are there
   */
  async #checkAfter(
    session: Session,
    mode: TableMode,
    { expected, added, before, traits }: Omit<Added, 'before'> & { readonly before: Before | undefined },
  ): Promise<void> {
    await this.fireDeferred(session);
    const found = await this.#count(session, this.#target);
    // Triggers, and others meanwhile, may add rows to those that are there, and remove such as were there before.
    if (found > expected ? mode === 'replace' : found < expected && traits.isAdded === undefined)
      checkCount(this.#table.given, 'kept', { expected, found });
    if (before) return this.#checkAdded(session, { expected, added, before, traits }, found);
    const lost = await this.#count(session, `${this.#stage} AS ${staged}${this.#withoutTarget}`);
    const all = await this.rows(session);
    checkCount(this.#table.given, 'kept', { expected: all, found: all - lost });
  }

  /** Any of three is enough, since a trigger may change the values of new rows, and add, change and remove others. */
  async #checkAdded(session: Session, { expected, added, before, traits }: Added, found: number): Promise<void> {
    const { keepsRows = false, isAdded = 'TRUE' } = traits;
    const changes = before.changes && (await session.readChanges?.(this.#table.full));
    const since = (of: keyof Changes): number => (changes?.[of] ?? 0) - (before.changes?.[of] ?? 0);
    // A database that does not count gives fewer than were added. A view may hide a row, and show another.
    const isCounted = traits.kind === 'table' ? since('added') >= added : since('added') === added;
    if (found >= expected && (keepsRows || (isCounted && since('removed') === 0))) return;
    // Old rows with the same values would stand for new ones.
    const lost = await this.#countLost(session, before.hasEqual ? isAdded : 'TRUE');
    if (lost === 0) return;
    const areAllOurs = traits.isAdded !== undefined && since('added') === added && since('changed') === 0;
    if (areAllOurs && (await this.#count(session, `${this.#target} WHERE ${isAdded}`)) >= added) return;
    if (found < expected) checkCount(this.#table.given, 'kept', { expected, found });
    checkCount(this.#table.given, 'kept', { expected: added, found: added - lost });
  }

  /** How many staged rows have no row of the target with the same values, of those that a condition holds for. */
  async #countLost(session: Session, condition: string): Promise<number> {
    const all = `SELECT ${this.#textOf(this.#stage)} AS ${later}, 1 AS ${nth} FROM ${this.#stage} UNION ALL SELECT ${this.#textOf(this.#target)}, -1 FROM ${this.#target} WHERE ${condition} AND ${this.#isStaged}`;
    const [found] = await session.rows(
      `SELECT coalesce(sum(${staged}), 0) AS _sluice_rows FROM (SELECT sum(${nth}) AS ${staged} FROM (${all}) AS ${later} GROUP BY ${later} HAVING sum(${nth}) > 0) AS ${staged}`,
    );
    return Number(readInteger(found?.['_sluice_rows']));
  }

  /** The rows of the target that have the values of a staged one. */
  get #isStaged(): string {
    return `${this.#textOf(this.#target)} IN (SELECT ${this.#textOf(this.#stage)} FROM ${this.#stage})`;
  }

  /** One text for all values of a row, since databases find one quickly, and not all types and nulls have an equality. */
  #textOf(table: string): string {
    const texts = this.#shape.columns.map(({ name }) => `CAST(${table}.${quote(name)} AS text)`);
    const marked = texts.map((text) => `coalesce(CAST(length(${text}) AS text) || ':' || ${text}, '-')`);
    return `(${marked.join(' || ')}) COLLATE ${this.#database.exactCollation}`;
  }

  /** Lets constraints and triggers act now that wait for the end of the transaction. */
  async fireDeferred(session: Session): Promise<void> {
    const { fireDeferred } = this.#database;
    if (fireDeferred !== undefined) await session.run(fireDeferred);
  }

  /** The rows of the target whose key no new row has. */
  get #missing(): string {
    return `${this.#target} WHERE NOT EXISTS (SELECT 1 FROM ${this.#stage} AS ${staged} WHERE ${this.#sameKey})`;
  }

  /** The rows of the target whose key a new row has. */
  get #staying(): string {
    return `${this.#target} WHERE EXISTS (SELECT 1 FROM ${this.#stage} AS ${staged} WHERE ${this.#sameKey})`;
  }

  /** A join, since for it a database without an index of the key makes one. */
  get #withoutTarget(): string {
    const [first = ''] = this.#shape.key;
    return ` LEFT JOIN ${this.#target} ON ${this.#sameKey} WHERE ${this.#target}.${quote(first)} IS NULL`;
  }

  async #count(session: Session, from: string, ...parameters: readonly SqlValue[]): Promise<number> {
    const [found] = await session.rows(`SELECT count(*) AS _sluice_rows FROM ${from}`, ...parameters);
    return Number(readInteger(found?.['_sluice_rows']));
  }

  get #ofPartition(): string {
    return `${this.#order} >= ? AND ${this.#order} < ?`;
  }

  get #order(): string {
    return this.#database.order.column;
  }

  get #keyNames(): string {
    return this.#shape.key.map(quote).join(', ');
  }

  get #sameKey(): string {
    return this.#shape.key.map((name) => `${this.#target}.${quote(name)} = ${staged}.${quote(name)}`).join(' AND ');
  }
}

/** The places of a partition: from the first one, and before the second one. */
function placesOfPartition(partition: number): readonly [bigint, bigint] {
  const first = BigInt(partition) * rowsOfPartition;
  return [first, first + rowsOfPartition];
}

/** How many rows a statement was for, and how many it did; `undefined` if only a rule of the table could make a difference. */
interface Count {
  readonly expected: number | undefined;
  readonly found: number;
}

/** @throws SinkError if a table did not do what a statement said. Its transaction is rolled back then. */
export function checkCount(
  table: string,
  done: 'added' | 'changed' | 'removed' | 'kept',
  { expected, found }: Count,
): void {
  if (expected === undefined || found === expected) return;
  const by = 'a trigger, rule, policy or conflict clause of its own';
  const what =
    found < expected
      ? `has ${done} ${found} of ${expected} rows: ${by} does not take the others`
      : `has ${found} rows instead of ${expected}: ${by} adds others`;
  throw new SinkError(`The table ${table} ${what}. Nothing was changed. Change that, or name another table.`, {
    details: { table, expected, found },
  });
}

/** @throws SinkError if rows went with others that were removed */
export function checkStay(
  table: string,
  { expected, found }: { readonly expected: number; readonly found: number },
): void {
  if (found >= expected) return;
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

/** @throws CheckpointError if rows that were committed are gone */
export function checkStaged(
  table: string,
  { expected, found }: { readonly expected: number; readonly found: number },
): void {
  if (found === expected) return;
  throw new CheckpointError(
    `The unfinished export into ${table} has staged ${expected} rows, and ${found} are there: somebody changed its staging table.`,
    { table },
    [{ kind: 'restart' }],
  );
}

/** @throws SinkError if a crash of the server would empty the table */
export function checkDurable(table: string, { isUnlogged = false }: TableTraits): void {
  if (!isUnlogged) return;
  throw new SinkError(
    `The table ${table} is UNLOGGED, or a part of it is: a crash of the server empties it, and the export would be complete. Run ALTER TABLE … SET LOGGED, or name another table.`,
    { details: { table } },
  );
}

/** For names beside a table. Short, since PostgreSQL cuts names at 63 bytes. */
function shortHash(table: string): string {
  return createHash('sha256').update(table).digest('hex').slice(0, 12);
}
