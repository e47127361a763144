import { CheckpointError, ConfigError, SinkError, SluiceError, type Change, type Due, type Json } from '@sluice/core';
import {
  isRecord,
  type SinkContext,
  type SinkPage,
  type SinkReport,
  type SinkWriter,
  targetRetryNames,
  type TargetRetryOptions,
} from '@sluice/core/kit';
import type { Database, SqlValue } from './database.js';
import { encodeValue, MirrorShape, type ComparedWalk, type Displaced, type Values } from './generation.js';
import { namesBeside, readLastPoll } from './historyTable.js';
import { Ledger, type TableSink } from './ledger.js';
import { MirrorTable, type MirrorState } from './mirrorTable.js';
import { rowsRecord, RowsSeen } from './rowsRecord.js';
import { TableConnection } from './tableConnection.js';
import { describeAdded } from './targetTable.js';
import { checkTableName, createTableShape, type NewFields } from './tableShape.js';

/** Where and how the rows of a watch become a table. */
export interface MirrorOptions extends TargetRetryOptions {
  /** The table. It is created if it is not there; one with rows that are not this mirror's is refused. */
  readonly table: string;
  /** The columns and their order. Default: those of the watched rows. */
  readonly columns?: readonly string[] | undefined;
  /** The columns that identify a row; none may be null. Default: a column `_key` with the row's key in the watch. */
  readonly key?: readonly string[] | undefined;
  /**
   * What the table has: the rows as they are now (`mirror`, the default), or every version that they had (`history`), each
   * with `_valid_from`, `_valid_to` and `_ended` (both null now), and `_generation`. Starting over goes on with a history.
   */
  readonly mode?: MirrorMode | undefined;
  /**
   * In mode `mirror`: rows that are removed stay, with the time in the column `_deleted_at`, which is null in all others; if they come
   * back, it is null again. Starting over deletes them. Default `false`: they are deleted at once.
   */
  readonly deletedAt?: boolean | undefined;
  /**
   * What becomes of fields that are not columns of the watched rows: `discard` (the default), or `freeze`, an error. `evolve`
   * is `discard`, and adds a column that the rows have and the table lacks, with the values of the last accepted poll: in
   * all rows, and in a history in the versions that are valid now. Default: such a table is refused.
   */
  readonly schema?: NewFields | undefined;
  /** As that of a table: a last column `extra` with other fields. Default `false`. */
  readonly extra?: boolean | undefined;
}

/** What a table that follows a watch has. */
export type MirrorMode = 'mirror' | 'history';

/** The names of these options. */
export const mirrorOptionNames = {
  ...targetRetryNames,
  table: true,
  columns: true,
  key: true,
  mode: true,
  deletedAt: true,
  schema: true,
  extra: true,
} as const satisfies Readonly<Record<keyof MirrorOptions, true>>;

/** The record of the generation that the table has. Without it, its rows are not a mirror's. */
const mirrored = 'mirror';

/** A sink of changes, and the state of their watch. It leaves out what rules find, since that is no change of a row. */
export type Mirror<T> = TableSink<Change<T> | Due<T>>;

/**
 * A sink of changes whose table equals the accepted snapshot of the last generation that was committed; or that of every
 * generation.
 */
export function mirrorSink<T extends object>(database: Database, target: string, options: MirrorOptions): Mirror<T> {
  const { table, columns, key, mode = 'mirror', deletedAt = false, schema: newFields, extra } = options;
  const { retry, clock, random } = options;
  const isHistory = mode === 'history';
  checkTableName(database, isHistory ? namesBeside(table, database).polls : table);
  if (isHistory && deletedAt)
    throw new ConfigError(
      (option = 'deletedAt') => `A history keeps removed rows, with their times: leave out ${option}.`,
      { option: 'deletedAt' },
    );
  const kept = isHistory ? 'versions' : deletedAt ? 'removed' : 'present';
  const ledger = new Ledger(database, table, new TableConnection(database, table, { retry, clock, random }));
  const prepare = async ({ schema, source, isEndless }: SinkContext<Change<T> | Due<T>>): Promise<WriterParts<T>> => {
    if (!isEndless)
      throw new ConfigError('A mirror follows the changes of a watch: export watch(source, …) into it, not a source.');
    const wanted = { columns, key, schema: newFields, extra, isCanonical: isHistory };
    const shape = new MirrorShape<T>(createTableShape(database, schema?.rows, wanted), kept, schema?.compares);
    const record = await ledger.load(mirrored);
    const inTable = decodeGeneration(record);
    const poll = readLastPoll(record);
    if (inTable !== undefined && isHistory !== (poll !== undefined)) throw otherMode(table, isHistory);
    const mirror = new MirrorTable(database, ledger.table, shape, inTable !== undefined);
    const rows = { source, columns: shape.columns, reserved: '#"', compares: schema?.compares } as const;
    const seen = isHistory ? new RowsSeen({ ...rows, before: await ledger.load(rowsRecord) }) : undefined;
    const hadRows = isRecord(record) && record['hasRows'] === true;
    return {
      ledger,
      target,
      shape,
      mirror,
      inTable,
      record,
      hadRows,
      seen,
      addedColumns: [],
      state: { displaced: decodeDisplaced(record), poll, added: await ledger.loadAdded() },
    };
  };
  /** Adds the columns that the table lacks. They get the values of its rows, also if a run that was killed has added them. */
  const addColumns = async (parts: WriterParts<T>, context: SinkContext<Change<T> | Due<T>>, generation: number) => {
    const { shape, mirror, state, record, seen } = parts;
    const lacking = shape.mayLack ? await ledger.read((session) => mirror.listLacking(session)) : [];
    const added = [...state.added, ...lacking.map(({ name }) => name)];
    if (added.length === 0) return parts;
    // A watch that starts over gives all rows again.
    const list = generation === 0 ? undefined : context.committed;
    const rows = new Map<string, Values>();
    // Outside of the transaction: it reads records of the same database.
    for await (const page of list?.() ?? []) {
      const changes = page.filter(isDifference);
      for (const { after } of changes) seen?.add(after);
      const { added } = keptByWatch(() => shape.readGeneration(changes, [], false));
      for (const { key, values } of added) rows.set(key, values);
    }
    const stored = shape.columns.filter((column) => !lacking.includes(column));
    const displaced = new Map<string, Values>();
    for (const [key, values] of state.displaced) {
      const found = shape.columns.map((column) => values[stored.indexOf(column)] ?? null);
      displaced.set(key, rows.get(key) ?? found);
      // Its place in the table is another row's.
      rows.delete(key);
    }
    // Nobody can read the table from here to the end of its transaction, so the values come with the next one.
    await ledger.commit(async (session) => {
      await mirror.addColumns(session);
      if (isRecord(record)) await ledger.put(session, mirrored, { ...record, ...encodeDisplaced(displaced) });
      await ledger.putAdded(session, added);
    });
    for (const { name } of lacking) context.warn?.(describeAdded(table, name));
    const known = { ...parts, addedColumns: added, state: { ...state, displaced, added } };
    if (!list) return known;
    await ledger.commit(async (session) => {
      await mirror.fill(session, added, [...rows.values()]);
      if (seen) await ledger.put(session, rowsRecord, seen.toRecord());
      await ledger.putAdded(session, []);
    });
    return { ...known, state: { ...known.state, added: [] } };
  };
  return {
    name: database.name,
    target,
    identity: {
      mirror: true,
      columns: columns ? [...columns] : null,
      key: key ? [...key] : null,
      deletedAt,
      ...(isHistory && { mode }),
      ...(extra && { extra }),
    },
    addsColumns: newFields === 'evolve',
    delivery: 'exactly-once',
    state: ledger,
    async check(context) {
      const { mirror } = await prepare(context);
      await ledger.read((session) => mirror.checkNew(session));
    },
    async open(context) {
      const parts = await prepare(context);
      const { mirror } = parts;
      const generation = context.resumeAt ? decodePosition(context.resumeAt.sinkPosition, table) : 0;
      await ledger.read((session) =>
        generation === 0 ? mirror.checkNew(session) : mirror.checkOurs(session, parts.hadRows),
      );
      return new MirrorWriter<T>(await addColumns(parts, context, generation), generation);
    },
  };
}

interface WriterParts<T> {
  readonly ledger: Ledger;
  readonly target: string;
  readonly shape: MirrorShape<T>;
  readonly mirror: MirrorTable<T>;
  /** The generation that the table has; `undefined` if its rows are not a mirror's. */
  readonly inTable: number | undefined;
  /** As it is stored. */
  readonly record: unknown;
  readonly hadRows: boolean;
  /** Columns that the table got since its last generation. */
  readonly addedColumns: readonly string[];
  /** What a history records of its rows. */
  readonly seen: RowsSeen | undefined;
  /** With that generation. */
  readonly state: MirrorState;
}

function isDifference<T>(item: Change<T> | Due<T>): item is Change<T> {
  return item.type !== 'due' && item.type !== 'resolved';
}

/** Each generation of a watch goes into the table as a whole, with the checkpoint that follows its last page. */
class MirrorWriter<T> implements SinkWriter<Change<T> | Due<T>> {
  readonly start: Json;
  readonly #parts: WriterParts<T>;
  #generation: number;
  #state: MirrorState;
  #pending: readonly ComparedWalk[] = [];
  /** Changes of a generation whose last page has not come. */
  readonly #begun: Change<T>[] = [];

  constructor(parts: WriterParts<T>, generation: number) {
    this.#parts = parts;
    this.#generation = generation;
    this.start = this.#position;
    const { ledger, mirror, seen } = parts;
    this.#state = parts.state;
    let state = this.#state;
    ledger.joined = {
      write: async (session) => {
        state = this.#state;
        for (const each of this.#pending) state = await mirror.apply(session, each, state);
        if (this.#pending.length === 0) return;
        const { displaced, poll, added } = state;
        if (added.length < this.#state.added.length) await ledger.putAdded(session, added);
        await ledger.put(session, mirrored, {
          generation: this.#generation,
          hasRows: await mirror.hasLiveRows(session),
          ...encodeDisplaced(displaced),
          ...(poll && { poll }),
        });
        if (seen && this.#pending.some(({ changes }) => changes))
          await ledger.put(session, rowsRecord, seen.toRecord());
      },
      settled: () => {
        this.#pending = [];
        this.#state = state;
      },
    };
  }

  /** Each generation is a transaction of its own. */
  get isFull(): boolean {
    return this.#pending.length > 0;
  }

  get isCommittable(): boolean {
    return this.#begun.length === 0;
  }

  write({ items, isContinued, generation, unconfirmed = [], walk }: SinkPage<Change<T> | Due<T>>): Promise<void> {
    const found = items.filter(isDifference);
    if (isContinued) {
      for (const change of found) this.#begun.push(change);
      return Promise.resolve();
    }
    const { inTable = 0, shape, target, seen } = this.#parts;
    // A restart that ended before its first poll succeeded leaves watch and table as they were.
    if (this.#generation === 0 && generation !== 1) this.#generation = inTable;
    if (generation === undefined || walk === undefined) {
      if (items.length > 0)
        throw new SinkError('A mirror follows the changes of a watch, and these rows are not those of a generation.');
      // A history says of a walk without changes, too, that it was.
      if (walk && shape.kept === 'versions') this.#pending = [...this.#pending, { walk }];
      return Promise.resolve();
    }
    const changes = [...this.#begun.splice(0), ...found];
    for (const { after } of changes) if (after) seen?.add(after);
    if (generation === this.#generation) return Promise.resolve();
    if (generation !== this.#generation + 1) throw outOfStep(target, this.#generation, generation);
    const read = keptByWatch(() => shape.readGeneration(changes, unconfirmed.filter(isDifference), generation === 1));
    this.#pending = [...this.#pending, { walk, changes: read }];
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
    const { ledger, target, addedColumns } = this.#parts;
    ledger.joined = undefined;
    return Promise.resolve({ target, ...(addedColumns.length > 0 && { addedColumns }) });
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
  const { generation } = isRecord(record) ? record : {};
  return typeof generation === 'number' ? generation : undefined;
}

/** The displaced rows as a part of a record. */
function encodeDisplaced(displaced: Displaced): object {
  const rows = Object.fromEntries(Array.from(displaced, ([key, values]) => [key, values.map(encodeValue)]));
  return { displaced: displaced.size > 0 ? rows : undefined };
}

/** The displaced rows of a record. */
function decodeDisplaced(record: unknown): Displaced {
  const { displaced } = isRecord(record) ? record : {};
  if (!isRecord(displaced)) return new Map();
  const rows = Object.entries(displaced).map(([key, values]: [string, unknown]) => {
    const known: readonly unknown[] = Array.isArray(values) ? values : [];
    return [key, known.map(decodeValue)] as const;
  });
  return new Map(rows);
}

function decodeValue(stored: unknown): SqlValue {
  return typeof stored === 'number' ? BigInt(stored) : typeof stored === 'string' ? stored : null;
}

/** The watch has stored its changes, and the next run gets them again, whatever the API lists by then. */
function keptByWatch<R>(read: () => R): R {
  try {
    return read();
  } catch (error) {
    if (!SluiceError.is(error, 'sink')) throw error;
    throw new SinkError(`${error.summary} Where the API has corrected it since, the watch does not go on by itself.`, {
      details: error.details,
      cause: error,
      advice: [{ kind: 'restart' }],
    });
  }
}

function otherMode(table: string, isHistory: boolean): SinkError {
  const [found, wanted] = isHistory ? ['mirror', 'history'] : ['history', 'mirror'];
  return new SinkError(
    (option = 'mode') =>
      `The table ${table} is a ${found}, and can't become a ${wanted}. Say ${found} in ${option}, or name another table.`,
    { details: { option: 'mode', table } },
  );
}

function outOfStep(target: string, table: number, watch: number): CheckpointError {
  return new CheckpointError(
    `${target} is at generation ${table} of the watch, which goes on with generation ${watch}. Does the watch keep its state in the mirror's database (state: sink.state)?`,
    {},
    [{ kind: 'restart' }],
  );
}
