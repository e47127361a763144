import {
  CheckpointError,
  ConfigError,
  SinkError,
  type Change,
  type Json,
  type SinkContext,
  type SinkPage,
  type SinkReport,
  type SinkWriter,
} from '@sluice/core';
import {
  nameInSchema,
  quote,
  quoteTable,
  RefusedValue,
  type Column,
  type Database,
  type Session,
  type SqlValue,
  type TableName,
  type TableTraits,
  type Unique,
} from './database.js';
import { Ledger, type TableSink } from './ledger.js';
import { checkCount, checkDurable, checkStay, StagingTable } from './stagingTable.js';
import {
  checkTable,
  checkTableName,
  storableKey,
  createTableShape,
  type TableShape,
  type NewFields,
} from './tableShape.js';
import { vacateRows } from './vacateRows.js';

/** Where and how the rows of a watch become a table. */
export interface MirrorOptions {
  /** The table. It is created if it is not there; one with rows that are not this mirror's is refused. */
  readonly table: string;
  /** The columns and their order. Default: those of the watched rows. */
  readonly columns?: readonly string[] | undefined;
  /** The columns that identify a row; none may be null. Default: a column `_key` with the row's key in the watch. */
  readonly key?: readonly string[] | undefined;
  /**
   * Rows that are removed stay, with the time in the column `_deleted_at`, which is null in all others; if they come
   * back, it is null again. Starting over deletes them. Default `false`: they are deleted at once.
   */
  readonly deletedAt?: boolean | undefined;
  /** What becomes of fields that are not columns of the watched rows: `discard` (the default), or `freeze`, an error. */
  readonly schema?: NewFields | undefined;
}

/** The column of a row's key, where no columns are. */
const keyColumn: Column = { name: '_key', type: 'text' };
const deletedColumn: Column = { name: '_deleted_at', type: 'timestamp' };

/** The record of the generation that the table has. Without it, its rows are not a mirror's. */
const mirrored = 'mirror';

type Values = readonly SqlValue[];

/** A row of the table, and its key in the watch. */
interface Keyed {
  readonly key: string;
  readonly values: Values;
}

/** What one generation changes. */
interface Generation {
  readonly isFirst: boolean;
  readonly removed: readonly (Keyed & { readonly at: string })[];
  readonly changed: readonly (Keyed & { readonly before: Values })[];
  readonly added: readonly Keyed[];
  /** Rows that the last walk lacked, and that the watch still has. */
  readonly missing: readonly Keyed[];
}

/**
 * Rows that the watch still has, though the last walks lacked them, and whose place another row has taken: the table can't
 * have both. By their keys in the watch.
 */
type Displaced = ReadonlyMap<string, Values>;

/** A sink of changes, and the state of their watch. */
export type Mirror<T> = TableSink<Change<T>>;

/** A sink of changes whose table equals the accepted snapshot of the last generation that was committed. */
export function mirrorSink<T extends object>(database: Database, target: string, options: MirrorOptions): Mirror<T> {
  const { table, columns, key, deletedAt = false, schema: newFields } = options;
  checkTableName(database, table);
  const ledger = new Ledger(database, table);
  const tableOf = async ({ schema, isEndless }: SinkContext<Change<T>>): Promise<MirrorTable<T>> => {
    if (!isEndless)
      throw new ConfigError('A mirror follows the changes of a watch: export watch(source, …) into it, not a source.');
    const wanted = { columns, key, schema: newFields, needsKey: false };
    const shape = new MirrorShape<T>(createTableShape(database, schema?.rows, wanted), deletedAt);
    return new MirrorTable(database, ledger.table, shape, await ledger.load(mirrored));
  };
  return {
    name: database.name,
    target,
    identity: { mirror: true, columns: columns ? [...columns] : null, key: key ? [...key] : null, deletedAt },
    delivery: 'exactly-once',
    state: ledger,
    async check(context) {
      const mirror = await tableOf(context);
      await ledger.read((session) => mirror.checkNew(session));
    },
    async open(context) {
      const mirror = await tableOf(context);
      const generation = context.resumeAt ? decodePosition(context.resumeAt.sinkPosition, table) : 0;
      await ledger.read((session) => (generation === 0 ? mirror.checkNew(session) : mirror.checkOurs(session)));
      return new MirrorWriter<T>({ ledger, mirror, target }, generation);
    },
  };
}

/** The columns of a mirror: those of the rows, then its own. */
class MirrorShape<T> implements TableShape<Change<T>> {
  readonly columns: readonly Column[];
  readonly key: readonly string[];
  readonly #rows: TableShape<T>;
  readonly #hasKeyColumn: boolean;
  readonly hasDeletedAt: boolean;

  /** @throws ConfigError if a column of the rows has the name of one of its own. */
  constructor(rows: TableShape<T>, hasDeletedAt: boolean) {
    this.#rows = rows;
    this.#hasKeyColumn = rows.key.length === 0;
    this.hasDeletedAt = hasDeletedAt;
    const own = [...(this.#hasKeyColumn ? [keyColumn] : []), ...(hasDeletedAt ? [deletedColumn] : [])];
    const clash = own.find(({ name }) => rows.columns.some((column) => column.name === name));
    if (clash)
      throw new ConfigError(
        `The rows have a column ${clash.name}, which is the mirror's own. Leave it out of columns.`,
      );
    this.columns = [...rows.columns, ...own];
    this.key = this.#hasKeyColumn ? [keyColumn.name] : rows.key;
  }

  readValues(change: Change<T>, nth: number): SqlValue[] {
    return this.#values(change.type === 'removed' ? change.before : change.after, change.key, nth);
  }

  /** The changes of a generation, as what they do to the table. */
  generationOf(changes: readonly Change<T>[], unconfirmed: readonly Change<T>[], isFirst: boolean): Generation {
    const removed: Generation['removed'][number][] = [];
    const changed: Generation['changed'][number][] = [];
    const added: Keyed[] = [];
    for (const [at, change] of changes.entries()) {
      const { key, observedAt } = change;
      const values = this.readValues(change, at + 1);
      if (change.type === 'removed') removed.push({ key, values, at: observedAt });
      else if (change.type !== 'changed') added.push({ key, values });
      else changed.push({ key, values, before: this.#values(change.before, key, at + 1) });
    }
    const missing = unconfirmed.map((change, at) => ({ key: change.key, values: this.readValues(change, at + 1) }));
    return { isFirst, removed, changed, added, missing };
  }

  /** The values of some columns as a text that is the same for those that a database may take for equal; none for nulls. */
  looseText(columns: readonly string[], values: Values): string | undefined {
    const found = columns.map((name) => values[this.columns.findIndex((column) => column.name === name)] ?? null);
    if (found.includes(null)) return undefined;
    const texts = found.map((value) => String(value).normalize('NFKD').replace(/\p{M}/gu, '').toLowerCase().trimEnd());
    return JSON.stringify(texts);
  }

  keyOf(values: Values): Values {
    return values.filter((_, nth) => this.key.includes(this.columns[nth]?.name ?? ''));
  }

  /** The values that may change while the key stays. */
  othersOf(values: Values): Values {
    return values.filter((_, nth) => !this.key.includes(this.columns[nth]?.name ?? ''));
  }

  #values(row: T, key: string, nth: number): SqlValue[] {
    const values = this.#rows.readValues(row, nth);
    if (this.#hasKeyColumn) values.push(storableKey(key, '#"'));
    if (this.hasDeletedAt) values.push(null);
    return values;
  }
}

/** The table, and the statements that a generation is. */
class MirrorTable<T> {
  readonly #database: Database;
  readonly #table: TableName;
  readonly shape: MirrorShape<T>;
  /** The generation that the table has; `undefined` if its rows are not a mirror's. */
  readonly generation: number | undefined;
  /** With that generation. */
  readonly displaced: Displaced;
  readonly #stage: StagingTable<Change<T>>;
  readonly #sameKey: string;

  constructor(database: Database, table: TableName, shape: MirrorShape<T>, record: unknown) {
    this.#database = database;
    this.#table = table;
    this.shape = shape;
    this.generation = decodeGeneration(record);
    this.displaced = decodeDisplaced(record);
    this.#stage = new StagingTable(database, table, shape);
    // In the order of the columns, as `keyOf` has the values.
    const names = shape.columns.filter(({ name }) => shape.key.includes(name));
    this.#sameKey = names.map(({ name }) => `${quote(name)} = ?`).join(' AND ');
  }

  /** @throws SinkError if there is a table with other columns, or with rows of others. */
  async checkNew(session: Session): Promise<void> {
    if (!(await this.#isThere(session)) || this.generation !== undefined) return;
    const [row] = await session.rows(`SELECT 1 AS found FROM ${this.#name} LIMIT 1`);
    if (row)
      throw new SinkError(
        `The table ${this.#table.given} has rows, and they are not this mirror's. Name another table, or empty it.`,
        { details: { table: this.#table.given } },
      );
  }

  /** @throws CheckpointError if the table is gone, SinkError if it has other columns now. */
  async checkOurs(session: Session): Promise<void> {
    if (await this.#isThere(session)) return;
    throw new CheckpointError(`The table ${this.#table.given}, which this mirror has filled, is gone.`, {}, [
      { kind: 'restart' },
    ]);
  }

  /** @throws ConfigError if it is not a table; SinkError if it has other columns. */
  async #isThere(session: Session): Promise<boolean> {
    const existing = await session.readColumns(this.#table.full);
    if (!existing) return false;
    const traits = await session.readTraits(this.#table.full);
    if (traits?.kind !== 'table')
      throw new ConfigError(
        `${this.#table.given} is a view or the like, in which keys can't be made unique. Name a table.`,
        { table: this.#table.given },
      );
    checkDurable(this.#table.given, traits);
    checkTable(this.#database, this.#table.given, this.shape, existing);
    return true;
  }

  async apply(session: Session, generation: Generation, before: Displaced): Promise<Displaced> {
    if (!generation.isFirst) return this.#change(session, generation, before);
    const { added, missing } = generation;
    const lacked = new Set(missing.map(({ key }) => key));
    const uniques = await this.#uniques(session);
    const displaced = new Map<string, Values>();
    const here = added.filter(({ key }) => !lacked.has(key));
    for (const row of missing) {
      if (this.#taken([row], uniques, here).length > 0) displaced.set(row.key, row.values);
      else here.push(row);
    }
    const kept = added.filter(({ key }) => !displaced.has(key));
    await this.#replace(
      session,
      kept.map(({ values }) => values),
    );
    return displaced;
  }

  /** Columns of which no two rows may have the same values: the key, then others that the table has. */
  async #uniques(session: Session, traits?: TableTraits): Promise<readonly Unique[]> {
    const found = traits ?? (await session.readTraits(this.#table.full));
    return [{ columns: this.shape.key }, ...(found ? this.#stage.uniquesOf(found) : [])];
  }

  /** Rows that stay are changed in place, and rows that the snapshot lacks go. */
  async #replace(session: Session, rows: readonly Values[]): Promise<void> {
    await this.checkNew(session);
    await this.#stage.create(session);
    await this.#insertStaged(session, rows);
    await this.#stage.publish(session, 'replace', rows.length);
    await this.#stage.createKey(session);
    const [found] = await session.rows(`SELECT count(*) AS rows FROM ${this.#name}`);
    const missing = rows.length - Number(found?.['rows']);
    if (missing === 0) return;
    throw new SinkError(
      `${missing} of ${rows.length} rows have the same ${this.shape.key.join(', ')} as another one.`,
      { details: { option: 'key', table: this.#table.given }, advice: [{ kind: 'set', option: 'key' }] },
    );
  }

  async #change(
    session: Session,
    { removed, changed, added, missing }: Generation,
    before: Displaced,
  ): Promise<Displaced> {
    const { shape } = this;
    const displaced = new Map(before);
    const gone = removed.filter(({ key }) => !displaced.delete(key));
    const stayed: Generation['changed'][number][] = [];
    const arrived = added.map(({ values }) => values);
    /** The keys that rows give up, by their text. Whoever takes one is changed in place, and so is not inserted. */
    const left = new Map<string, Values>();
    const leave = (values: Values): unknown => left.set(encodeValues(shape.keyOf(values)), shape.keyOf(values));
    for (const change of changed) {
      const isHere = !displaced.delete(change.key);
      if (isHere && encodeValues(shape.keyOf(change.values)) === encodeValues(shape.keyOf(change.before)))
        stayed.push(change);
      else {
        arrived.push(change.values);
        if (isHere) leave(change.before);
      }
    }
    const lacked = new Set(missing.map(({ key }) => key));
    for (const [key, values] of before) if (displaced.has(key) && !lacked.has(key)) arrived.push(values);
    for (const key of before.keys()) if (!lacked.has(key)) displaced.delete(key);
    await this.#refuseCutValues(session, [...stayed.map(({ values }) => values), ...arrived]);
    const traits = await session.readTraits(this.#table.full);
    const uniques = await this.#uniques(session, traits);
    for (const { key, values } of this.#taken(missing, uniques, [...stayed, ...arrived.map(asRow)])) {
      if (displaced.has(key)) continue;
      displaced.set(key, values);
      leave(values);
    }
    if (!shape.hasDeletedAt) for (const { values } of gone) leave(values);
    // Another unique column could still have the value of the row that leaves.
    const inPlace = arrived.filter((values) => uniques.length === 1 && left.delete(encodeValues(shape.keyOf(values))));
    await this.#vacate(session, stayed, uniques.slice(1));
    const rows = traits?.hasRules ? await this.#count(session) : 0;
    const deleted = await this.#remove(session, [...left.values()], gone, traits);
    const others = arrived.filter((values) => !inPlace.includes(values));
    const inPlaces = [...stayed.map(({ values }) => values), ...inPlace];
    const inserted = await this.#store(session, inPlaces, others, traits).catch((error: unknown) => {
      throw this.#keptByRemoved(error, uniques.slice(1)) ?? error;
    });
    if (traits?.hasRules) {
      const expected = rows - deleted + inserted;
      checkCount(this.#table.given, 'kept', { expected, found: await this.#count(session) });
      const here = [...stayed.map(({ values }) => values), ...arrived];
      const kept = await this.#countEach(
        session,
        here.map((values) => shape.keyOf(values)),
      );
      checkCount(this.#table.given, 'kept', { expected: here.length, found: kept });
    }
    return displaced;
  }

  /** Changes rows that are there, and adds the others; returns how many those were. */
  async #store(
    session: Session,
    inPlace: readonly Values[],
    others: readonly Values[],
    traits: TableTraits | undefined,
  ): Promise<number> {
    const { shape } = this;
    const inserted = [
      ...(await this.#withoutRow(session, inPlace, traits)),
      ...(shape.hasDeletedAt ? await this.#withoutRow(session, others, traits, { areBack: true }) : others),
    ];
    if (inserted.length > 0) {
      const names = shape.columns.map(({ name }) => name);
      const found = await session.insert(this.#table.full, names, inserted).catch((error: unknown) => {
        throw error instanceof RefusedValue ? this.#refused(error, inserted[error.row] ?? []) : error;
      });
      checkCount(this.#table.given, 'added', { expected: inserted.length, found });
    }
    await this.#stage.fireDeferred(session);
    return inserted.length;
  }

  /** Rows that were removed keep their values, which are to be seen there; so other rows can't have them. */
  #keptByRemoved(error: unknown, uniques: readonly Unique[]): SinkError | undefined {
    const refusal = this.#database.readRefusal(error);
    const strict = uniques.filter(({ isPartial }) => !isPartial);
    if (!this.shape.hasDeletedAt || !refusal?.isTwin || strict.length === 0) return undefined;
    const { given, full } = this.#table;
    const indexes = strict.map(({ columns }) => {
      const index = quote(`${nameInSchema(full, this.#database)}_${columns.join('_')}`);
      return `CREATE UNIQUE INDEX ${index} ON ${this.#name} (${columns.map(quote).join(', ')}) WHERE ${quote(deletedColumn.name)} IS NULL`;
    });
    return new SinkError(
      `${given} can't take the rows of the last poll: ${refusal.message} Rows that were removed keep their values. If one of them has this one, drop that constraint or index, and let only the others be unique: ${indexes.join('; ')}`,
      { details: { table: given }, cause: error },
    );
  }

  #refused(error: RefusedValue, values: Values): SinkError {
    const key = this.shape.keyOf(values).join(', ');
    return new SinkError(
      `The row ${JSON.stringify(key)} has a value in ${error.column} that ${this.#table.given} can't store: ${error.message}. Change the column, or the value with pipePages(map(…)).`,
      { details: { column: error.column, table: this.#table.given }, cause: error },
    );
  }

  /** Removes rows, or marks them. A rule of the table may prevent that. Returns how many are gone. */
  async #remove(
    session: Session,
    keys: readonly Values[],
    gone: Generation['removed'],
    traits: TableTraits | undefined,
  ): Promise<number> {
    const { shape } = this;
    // Rows may go with those that they refer to.
    const before = keys.length > 0 && traits?.isReferenced ? await this.#count(session) : undefined;
    let found = sumOf(await session.runEach(this.#delete, keys));
    if (before !== undefined) {
      const after = await this.#count(session);
      checkStay(this.#table.given, { expected: before - keys.length, found: after });
      found = before - after;
    }
    if (shape.hasDeletedAt)
      await session.runEach(
        this.#markDeleted,
        gone.map(({ values, at }) => [at, ...shape.keyOf(values)]),
      );
    if (!traits?.hasRules) return found;
    const left = await this.#countEach(session, keys);
    checkCount(this.#table.given, 'removed', { expected: keys.length, found: keys.length - left });
    if (!shape.hasDeletedAt) return found;
    const marked = gone.map(({ values }) => shape.keyOf(values));
    const live = await this.#countEach(session, marked, ` AND ${quote(deletedColumn.name)} IS NULL`);
    checkCount(this.#table.given, 'changed', { expected: gone.length, found: gone.length - live });
    return found;
  }

  /** Rows whose values others have now, in columns of which no two may have the same. */
  #taken<R extends { readonly values: Values }>(
    rows: readonly R[],
    uniques: readonly Unique[],
    by: readonly { readonly values: Values }[],
  ): readonly R[] {
    if (rows.length === 0) return [];
    // Where removed rows stay, what only some rows must not share is what those that are there must not.
    const certain = uniques.filter(({ isPartial }) => !isPartial || this.shape.hasDeletedAt);
    return certain.flatMap(({ columns }) => {
      const texts = new Set(by.map(({ values }) => this.shape.looseText(columns, values)));
      return rows.filter(({ values }) => {
        const text = this.shape.looseText(columns, values);
        return text !== undefined && texts.has(text);
      });
    });
  }

  /** Rows that stay may swap values of which no two may be the same. */
  async #vacate(session: Session, stayed: Generation['changed'], uniques: readonly Unique[]): Promise<void> {
    if (stayed.length < 2) return;
    for (const unique of uniques) {
      const { columns, isDeferred = false } = unique;
      const owners = new Map(stayed.map((change) => [this.shape.looseText(columns, change.before), change]));
      const taken = stayed.flatMap((change) => {
        const owner = owners.get(this.shape.looseText(columns, change.values) ?? '');
        return owner && owner !== change ? [this.shape.keyOf(owner.values)] : [];
      });
      if (taken.length === 0 || isDeferred) continue;
      const valuesToBe = (column: string): readonly unknown[] => {
        const nth = this.shape.columns.findIndex(({ name }) => name === column);
        return stayed.map(({ values }) => values[nth]);
      };
      const swapping = {
        table: this.#table,
        key: this.shape.key,
        unique,
        valuesToBe,
        count: taken.length,
        rows: taken,
      };
      await vacateRows(session, this.#database, swapping, async (assignmentOf) => {
        for (const [nth, key] of taken.entries())
          await session.run(`UPDATE ${this.#name} SET ${assignmentOf(String(nth + 1))} WHERE ${this.#sameKey}`, ...key);
      });
    }
  }

  async #count(session: Session, where = '', ...parameters: readonly SqlValue[]): Promise<number> {
    const [found] = await session.rows(`SELECT count(*) AS _sluice_rows FROM ${this.#name}${where}`, ...parameters);
    return Number(found?.['_sluice_rows']);
  }

  async #countEach(session: Session, keys: readonly Values[], only = ''): Promise<number> {
    let rows = 0;
    for (const key of keys) rows += await this.#count(session, ` WHERE ${this.#sameKey}${only}`, ...key);
    return rows;
  }

  /** The staging table refuses values that the table itself would cut. */
  async #refuseCutValues(session: Session, rows: readonly Values[]): Promise<void> {
    if (!(await this.#stage.isStricter(session))) return;
    await this.#stage.create(session);
    await this.#insertStaged(session, rows);
    await this.#stage.drop(session);
  }

  #insertStaged(session: Session, rows: readonly Values[]): Promise<void> {
    return this.#stage.insert(
      session,
      rows.map((values, nth) => [...values, StagingTable.placeOf(0, nth + 1)]),
    );
  }

  /** Changes rows; returns those of which there is none to change, e.g. since somebody else has deleted it. */
  async #withoutRow(
    session: Session,
    rows: readonly Values[],
    traits: TableTraits | undefined,
    { areBack = false } = {},
  ): Promise<readonly Values[]> {
    const others = this.shape.columns.filter(({ name }) => !this.shape.key.includes(name));
    // Of rows that are nothing but a key, nothing changes.
    const changed = (others.length > 0 ? others : this.shape.columns.slice(0, 1)).map(({ name }) => name);
    const keys = this.shape.columns.filter(({ name }) => this.shape.key.includes(name)).map(({ name }) => name);
    // Of two live rows with one key, the second one is an error.
    const only = areBack ? ` AND ${quote(deletedColumn.name)} IS NOT NULL` : '';
    const updating = session.runEach(
      `UPDATE ${this.#name} SET ${changed.map((name) => `${quote(name)} = ?`).join(', ')} WHERE ${this.#sameKey}${only}`,
      rows.map((values) => [
        ...(others.length > 0 ? this.shape.othersOf(values) : values.slice(0, 1)),
        ...this.shape.keyOf(values),
      ]),
      [...changed, ...keys],
    );
    const counts = await updating.catch((error: unknown) => {
      throw error instanceof RefusedValue ? this.#refused(error, rows[error.row] ?? []) : error;
    });
    const absent = rows.filter((_, nth) => counts[nth] === 0);
    if (!traits?.hasRules || areBack) return absent;
    const ignored = await this.#countEach(
      session,
      absent.map((values) => this.shape.keyOf(values)),
    );
    checkCount(this.#table.given, 'changed', { expected: rows.length, found: rows.length - ignored });
    return absent;
  }

  get #delete(): string {
    return `DELETE FROM ${this.#name} WHERE ${this.#sameKey}`;
  }

  get #markDeleted(): string {
    return `UPDATE ${this.#name} SET ${quote(deletedColumn.name)} = ? WHERE ${this.#sameKey}`;
  }

  get #name(): string {
    return quoteTable(this.#table.full, this.#database);
  }
}

interface WriterParts<T> {
  readonly ledger: Ledger;
  readonly mirror: MirrorTable<T>;
  readonly target: string;
}

/** Each page of a watch is a whole generation, and goes into the table with the checkpoint that follows it. */
class MirrorWriter<T> implements SinkWriter<Change<T>> {
  readonly start: Json;
  readonly #parts: WriterParts<T>;
  #generation: number;
  #displaced: Displaced;
  #pending: readonly Generation[] = [];

  constructor(parts: WriterParts<T>, generation: number) {
    this.#parts = parts;
    this.#generation = generation;
    this.start = this.#position;
    const { ledger, mirror } = parts;
    this.#displaced = mirror.displaced;
    let displaced = this.#displaced;
    ledger.joined = {
      write: async (session) => {
        displaced = this.#displaced;
        for (const each of this.#pending) displaced = await mirror.apply(session, each, displaced);
        if (this.#pending.length === 0) return;
        const rows = Object.fromEntries(Array.from(displaced, ([key, values]) => [key, values.map(encodeValue)]));
        await ledger.put(session, mirrored, {
          generation: this.#generation,
          ...(displaced.size > 0 && { displaced: rows }),
        });
      },
      settled: () => {
        this.#pending = [];
        this.#displaced = displaced;
      },
    };
  }

  /** Each generation is a transaction of its own. */
  get isFull(): boolean {
    return this.#pending.length > 0;
  }

  write({ items, generation, unconfirmed = [] }: SinkPage<Change<T>>): Promise<void> {
    if (generation === undefined) {
      if (items.length === 0) return Promise.resolve();
      throw new SinkError('A mirror follows the changes of a watch, and these rows are not those of a generation.');
    }
    const { generation: inTable = 0 } = this.#parts.mirror;
    // A restart that ended before its first poll succeeded leaves watch and table as they were.
    if (this.#generation === 0 && generation > 1) this.#generation = inTable;
    if (generation === this.#generation) return Promise.resolve();
    if (generation !== this.#generation + 1) throw outOfStep(this.#parts.target, this.#generation, generation);
    this.#pending = [...this.#pending, this.#parts.mirror.shape.generationOf(items, unconfirmed, generation === 1)];
    this.#generation = generation;
    return Promise.resolve();
  }

  flush(): Promise<Json> {
    return Promise.resolve(this.#position);
  }

  seal(): Promise<Json> {
    return Promise.resolve(this.#position);
  }

  /** A watch goes on with the next run. */
  suspend(): Promise<SinkReport> {
    return this.close();
  }

  close(): Promise<SinkReport> {
    const { ledger, target } = this.#parts;
    ledger.joined = undefined;
    return Promise.resolve({ target });
  }

  /** What was committed is a snapshot, and stays. */
  abort(): Promise<void> {
    this.#parts.ledger.joined = undefined;
    return Promise.resolve();
  }

  get #position(): Json {
    return { generation: this.#generation };
  }
}

/** @throws CheckpointError if the position is another sink's. */
function decodePosition(position: Json, table: string): number {
  const generation = decodeGeneration(position);
  if (generation !== undefined) return generation;
  throw new CheckpointError(`The checkpoint of ${table} has no position in a mirror.`, {}, [{ kind: 'restart' }]);
}

/** The generation of a record; `undefined` if there is none. */
function decodeGeneration(record: unknown): number | undefined {
  if (typeof record !== 'object' || record === null || !('generation' in record)) return undefined;
  return typeof record.generation === 'number' ? record.generation : undefined;
}

/** The displaced rows of a record. */
function decodeDisplaced(record: unknown): Displaced {
  if (typeof record !== 'object' || record === null || !('displaced' in record)) return new Map();
  const { displaced } = record;
  if (typeof displaced !== 'object' || displaced === null) return new Map();
  const rows = Object.entries(displaced).map(([key, values]: [string, unknown]) => {
    const known: readonly unknown[] = Array.isArray(values) ? values : [];
    return [key, known.map(decodeValue)] as const;
  });
  return new Map(rows);
}

/** Only a boolean is a number in a table. */
function encodeValue(value: SqlValue): string | number | null {
  return typeof value === 'bigint' ? Number(value) : value;
}

function decodeValue(stored: unknown): SqlValue {
  return typeof stored === 'number' ? BigInt(stored) : typeof stored === 'string' ? stored : null;
}

/** The same text for the same values. */
function encodeValues(values: Values): string {
  return JSON.stringify(values.map(encodeValue));
}

function asRow(values: Values): { readonly values: Values } {
  return { values };
}

function sumOf(counts: readonly number[]): number {
  return counts.reduce((sum, count) => sum + count, 0);
}

function outOfStep(target: string, table: number, watch: number): CheckpointError {
  return new CheckpointError(
    `${target} is at generation ${table} of the watch, which goes on with generation ${watch}. Does the watch keep its state in the mirror's database (state: sink.state)?`,
    {},
    [{ kind: 'restart' }],
  );
}
