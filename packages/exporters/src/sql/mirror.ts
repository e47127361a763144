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
  quoted,
  quotedTable,
  RefusedValue,
  type Column,
  type Database,
  type Session,
  type SqlValue,
  type TableName,
} from './database.js';
import { Ledger, type TableSink } from './ledger.js';
import { checkDurable, Stage } from './stage.js';
import { checkTable, checkTableName, storableKey, tableShape, type TableShape, type NewFields } from './tableShape.js';

/** Where and how the rows of a watch become a table. */
export interface MirrorOptions {
  /** The table. It is created if it is not there; one with rows that are not this mirror's is refused. */
  readonly table: string;
  /** The columns and their order. Default: those of the watched rows. */
  readonly columns?: readonly string[];
  /** The columns that identify a row; none may be null. Default: a column `_key` with the row's key in the watch. */
  readonly key?: readonly string[];
  /**
   * Rows that are removed stay, with the time in the column `_deleted_at`, which is null in all others; if they come
   * back, it is null again. Starting over deletes them. Default `false`: they are deleted at once.
   */
  readonly deletedAt?: boolean;
  /** What becomes of fields that are not columns of the watched rows: `discard` (the default), or `freeze`, an error. */
  readonly schema?: NewFields;
}

/** The column of a row's key, where no columns are. */
const keyColumn: Column = { name: '_key', type: 'text' };
const deletedColumn: Column = { name: '_deleted_at', type: 'timestamp' };

/** The record of the generation that the table has. Without it, its rows are not a mirror's. */
const mirrored = 'mirror';

type Values = readonly SqlValue[];

/** What one generation does to the table. */
interface Generation {
  readonly isFirst: boolean;
  /** The keys of rows whose key columns changed: they are inserted again, since two rows may swap their keys. */
  readonly moved: readonly Values[];
  /** The keys of removed rows, each with the time. */
  readonly removed: readonly { readonly key: Values; readonly at: string }[];
  readonly changed: readonly Values[];
  readonly added: readonly Values[];
}

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
    const shape = new MirrorShape<T>(tableShape(database, schema?.rows, wanted), deletedAt);
    return new MirrorTable(database, ledger.table, shape, generationIn(await ledger.load(mirrored)));
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

  valuesOf(change: Change<T>, nth: number): SqlValue[] {
    return this.#values(change.type === 'removed' ? change.before : change.after, change.key, nth);
  }

  /** The changes of a generation, as what they do to the table. */
  generationOf(changes: readonly Change<T>[], isFirst: boolean): Generation {
    const moved: Values[] = [];
    const removed: Generation['removed'][number][] = [];
    const changed: Values[] = [];
    const added: Values[] = [];
    for (const [at, change] of changes.entries()) {
      const values = this.valuesOf(change, at + 1);
      if (change.type === 'removed') removed.push({ key: this.keyOf(values), at: change.observedAt });
      else if (change.type !== 'changed') added.push(values);
      else {
        const before = this.keyOf(this.#values(change.before, change.key, at + 1));
        const isSame = this.keyOf(values).every((value, nth) => value === before[nth]);
        if (!isSame) moved.push(before);
        (isSame ? changed : added).push(values);
      }
    }
    return { isFirst, moved, removed, changed, added };
  }

  keyOf(values: Values): Values {
    return values.filter((_, nth) => this.key.includes(this.columns[nth]?.name ?? ''));
  }

  /** The values that may change while the key stays. */
  othersOf(values: Values): Values {
    return values.filter((_, nth) => !this.key.includes(this.columns[nth]?.name ?? ''));
  }

  #values(row: T, key: string, nth: number): SqlValue[] {
    const values = this.#rows.valuesOf(row, nth);
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
  readonly #stage: Stage<Change<T>>;
  readonly #sameKey: string;

  constructor(database: Database, table: TableName, shape: MirrorShape<T>, generation: number | undefined) {
    this.#database = database;
    this.#table = table;
    this.shape = shape;
    this.generation = generation;
    this.#stage = new Stage(database, table, shape);
    // In the order of the columns, as `keyOf` has the values.
    const names = shape.columns.filter(({ name }) => shape.key.includes(name));
    this.#sameKey = names.map(({ name }) => `${quoted(name)} = ?`).join(' AND ');
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
    const existing = await session.columnsOf(this.#table.full);
    if (!existing) return false;
    const traits = await session.traitsOf(this.#table.full);
    if (traits?.kind !== 'table')
      throw new ConfigError(
        `${this.#table.given} is a view or the like, in which keys can't be made unique. Name a table.`,
        { table: this.#table.given },
      );
    checkDurable(this.#table.given, traits);
    checkTable(this.#database, this.#table.given, this.shape, existing);
    return true;
  }

  apply(session: Session, generation: Generation): Promise<void> {
    return generation.isFirst ? this.#replace(session, generation.added) : this.#change(session, generation);
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
      `${missing} of ${rows.length} rows have the same ${this.shape.key.join(', ')} as another one. Name columns as key that identify a row.`,
      { details: { option: 'key', table: this.#table.given } },
    );
  }

  async #change(session: Session, { moved, removed, changed, added }: Generation): Promise<void> {
    await this.#refuseCutValues(session, [...changed, ...added]);
    await session.runEach(this.#delete, moved);
    if (this.shape.hasDeletedAt)
      await session.runEach(
        this.#markDeleted,
        removed.map(({ key, at }) => [at, ...key]),
      );
    else
      await session.runEach(
        this.#delete,
        removed.map(({ key }) => key),
      );
    const inserted = [
      ...(await this.#withoutRow(session, changed)),
      ...(this.shape.hasDeletedAt ? await this.#withoutRow(session, added, { areBack: true }) : added),
    ];
    if (inserted.length === 0) return;
    const names = this.shape.columns.map(({ name }) => name);
    await session.insert(this.#table.full, names, inserted).catch((error: unknown) => {
      if (!(error instanceof RefusedValue)) throw error;
      const key = this.shape.keyOf(inserted[error.row] ?? []).join(', ');
      throw new SinkError(
        `The row ${JSON.stringify(key)} has a value in ${error.column} that ${this.#table.given} can't store: ${error.message}. Change the column, or the value with pipePages(map(…)).`,
        { details: { column: error.column, table: this.#table.given }, cause: error },
      );
    });
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
      rows.map((values, nth) => [...values, Stage.placeOf(0, nth + 1)]),
    );
  }

  /** Changes rows; returns those of which there is none to change, e.g. since somebody else has deleted it. */
  async #withoutRow(session: Session, rows: readonly Values[], { areBack = false } = {}): Promise<readonly Values[]> {
    const others = this.shape.columns.filter(({ name }) => !this.shape.key.includes(name));
    // Of rows that are nothing but a key, nothing changes.
    const set = (others.length > 0 ? others : this.shape.columns.slice(0, 1)).map(({ name }) => quoted(name));
    // Of two live rows with one key, the second one is an error.
    const only = areBack ? ` AND ${quoted(deletedColumn.name)} IS NOT NULL` : '';
    const counts = await session.runEach(
      `UPDATE ${this.#name} SET ${set.map((name) => `${name} = ?`).join(', ')} WHERE ${this.#sameKey}${only}`,
      rows.map((values) => [
        ...(others.length > 0 ? this.shape.othersOf(values) : values.slice(0, 1)),
        ...this.shape.keyOf(values),
      ]),
    );
    return rows.filter((_, nth) => counts[nth] === 0);
  }

  get #delete(): string {
    return `DELETE FROM ${this.#name} WHERE ${this.#sameKey}`;
  }

  get #markDeleted(): string {
    return `UPDATE ${this.#name} SET ${quoted(deletedColumn.name)} = ? WHERE ${this.#sameKey}`;
  }

  get #name(): string {
    return quotedTable(this.#table.full, this.#database);
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
  #pending: readonly Generation[] = [];

  constructor(parts: WriterParts<T>, generation: number) {
    this.#parts = parts;
    this.#generation = generation;
    this.start = this.#position;
    const { ledger, mirror } = parts;
    ledger.joined = {
      write: async (session) => {
        for (const each of this.#pending) await mirror.apply(session, each);
        if (this.#pending.length > 0) await ledger.put(session, mirrored, { generation: this.#generation });
      },
      settled: () => {
        this.#pending = [];
      },
    };
  }

  /** Each generation is a transaction of its own. */
  get isFull(): boolean {
    return this.#pending.length > 0;
  }

  write({ items, generation }: SinkPage<Change<T>>): Promise<void> {
    if (generation === undefined) {
      if (items.length === 0) return Promise.resolve();
      throw new SinkError('A mirror follows the changes of a watch, and these rows are not those of a generation.');
    }
    const { generation: inTable = 0 } = this.#parts.mirror;
    // A restart that ended before its first poll succeeded leaves watch and table as they were.
    if (this.#generation === 0 && generation > 1) this.#generation = inTable;
    if (generation === this.#generation) return Promise.resolve();
    if (generation !== this.#generation + 1) throw outOfStep(this.#parts.target, this.#generation, generation);
    this.#pending = [...this.#pending, this.#parts.mirror.shape.generationOf(items, generation === 1)];
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
  const generation = generationIn(position);
  if (generation !== undefined) return generation;
  throw new CheckpointError(`The checkpoint of ${table} has no position in a mirror.`, {}, [{ kind: 'restart' }]);
}

/** The generation of a record; `undefined` if there is none. */
function generationIn(record: unknown): number | undefined {
  if (typeof record !== 'object' || record === null || !('generation' in record)) return undefined;
  return typeof record.generation === 'number' ? record.generation : undefined;
}

function outOfStep(target: string, table: number, watch: number): CheckpointError {
  return new CheckpointError(
    `${target} is at generation ${table} of the watch, which goes on with generation ${watch}. Does the watch keep its state in the mirror's database (state: sink.state)?`,
    {},
    [{ kind: 'restart' }],
  );
}
