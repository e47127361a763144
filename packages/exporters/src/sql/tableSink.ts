import { randomUUID } from 'node:crypto';
import {
  CheckpointError,
  ConfigError,
  isStatedTotal,
  type Json,
  type SinkContext,
  type SinkReport,
  type SinkWriter,
  type WalkEnd,
} from '@sluice/core';
import { quoteTable, type Database } from './database.js';
import { Ledger, published, type TableSink } from './ledger.js';
import { RowBuffer } from './rowBuffer.js';
import { checkStaged, StagingTable, type TableMode } from './stagingTable.js';
import { checkTableName, createTableShape, type NewFields, type TableShape } from './tableShape.js';

/** Where and how rows become a table. */
export interface TableOptions {
  /** The table. It is created if it is not there. */
  readonly table: string;
  /** What becomes of rows that it has. Default `fail`. */
  readonly mode?: TableMode | undefined;
  /** The columns and their order. Default: the source's own. */
  readonly columns?: readonly string[] | undefined;
  /**
   * The columns that identify a row; none may be null. `merge` needs them, and without them adds a column `_key` with
   * the source's own key. `replace` changes rows in place with them, which other tables may refer to.
   */
  readonly key?: readonly string[] | undefined;
  /**
   * What becomes of a row's fields that are not columns of the source, such as those that an API added: `discard` (the
   * default) leaves them out, `freeze` ends the export with an error that names row and field.
   */
  readonly schema?: NewFields | undefined;
}

/** Where rows of the table go on, which is in the checkpoint. */
interface TablePosition extends Partial<WalkEnd> {
  /** The id of the staging table's rows. */
  readonly stage: string;
  readonly mode: TableMode;
  /** Rows that were written so far. */
  readonly nth: number;
  /** Rows that the staging table has. */
  readonly staged: number;
  /** The hash of its columns. */
  readonly columns: string;
  /** Partitions whose rows have to be removed from the staging table first. */
  readonly dropped?: readonly number[];
}

/** A sink that commits rows and checkpoint in one transaction. */
export function tableSink<T extends object>(database: Database, target: string, options: TableOptions): TableSink<T> {
  const { table, mode = 'fail', columns, key, schema } = options;
  checkKeyOption(options);
  checkTableName(database, table);
  const ledger = new Ledger(database, table);
  // Rows that were appended may have been taken out since; those of a merge are to be all that there are.
  ledger.lacksRows = async (session) => {
    const { full } = ledger.table;
    if ((await session.readColumns(full)) === undefined) return true;
    if (mode === 'append') return false;
    return (await session.rows(`SELECT 1 AS found FROM ${quoteTable(full, database)} LIMIT 1`)).length === 0;
  };
  const shapeOf = (context: SinkContext<T>): TableShape<T> => {
    if (context.isEndless)
      throw new ConfigError('The source never ends, and rows become visible in a table when it ends.');
    if (context.increment === 'all' && mode === 'append')
      throw new ConfigError(
        (option = 'mode') =>
          `All rows would be appended to those of the table, and be there twice. Say in ${option} what becomes of those: merge or replace.`,
        { option: 'mode' },
      );
    if (context.increment === 'new' && mode === 'replace')
      throw new ConfigError(
        (option = 'mode') =>
          `The rows of an increment would replace all others. Say in ${option} what becomes of those: merge or append.`,
        { option: 'mode' },
      );
    return createTableShape(database, context.schema, { columns, key, schema, needsKey: mode === 'merge' });
  };
  /** Whether the table had no rows but those of the run that published last. */
  const isOurs = async (): Promise<boolean> => {
    const { mode: last } = await loadPublished(ledger);
    return last === 'fail' || last === 'replace';
  };
  /** Rows that an earlier run published are replaced when it starts over. */
  const modeOf = async ({ restart }: SinkContext<T>): Promise<TableMode> =>
    restart && mode === 'fail' && (await isOurs()) ? 'replace' : mode;
  const check = async (context: SinkContext<T>): Promise<void> => {
    const stage = new StagingTable(database, ledger.table, shapeOf(context));
    const effective = await modeOf(context);
    await ledger.read((session) => stage.checkTarget(session, effective));
  };
  return {
    name: database.name,
    target,
    identity: { mode, columns: columns ? [...columns] : null, key: key ? [...key] : null },
    delivery: 'exactly-once',
    state: ledger,
    ...((mode === 'merge' || mode === 'replace') && { isRefreshed: true }),
    check,
    withoutPartition(position, partition) {
      const { dropped = [], ...rest } = decodePosition(position, table);
      return { ...rest, dropped: [...dropped, partition] };
    },
    async finished(position) {
      return (await isPublished(ledger, decodePosition(position, table))) ? { target } : undefined;
    },
    async open(context) {
      const shape = shapeOf(context);
      const { resumeAt } = context;
      const parts = { ledger, shape, target, mode, stage: new StagingTable(database, ledger.table, shape) };
      const isWithoutOthers = context.increment === 'new' && ledger.hasLostMark;
      if (!resumeAt) {
        const begun = { stage: randomUUID(), mode: await modeOf(context), nth: 0, staged: 0 };
        if (isWithoutOthers)
          context.warn?.(`The rows of earlier increments are not in ${table} any more, so all rows are exported.`);
        const hash = await ledger.commit(async (session) => {
          await parts.stage.checkTarget(session, begun.mode);
          if (isWithoutOthers) await ledger.removeMarks(session);
          return parts.stage.create(session);
        });
        return new TableWriter<T>(parts, { ...begun, columns: hash });
      }
      const position = decodePosition(resumeAt.sinkPosition, table);
      if (isWithoutOthers) throw lostIncrements(table);
      if (resumeAt.isSealed && (await isPublished(ledger, position)))
        return new TableWriter<T>(parts, position, { isPublished: true });
      const { stage } = parts;
      const now = await ledger.read(async (session) => {
        if (!(await stage.exists(session))) throw lostRows(table);
        const found = await stage.rows(session);
        checkStaged(table, { expected: position.staged, found });
        let kept = found;
        for (const partition of position.dropped ?? []) kept -= await stage.rows(session, partition);
        return { staged: kept, columns: await stage.columns(session) };
      });
      // Whoever altered the table for a value that it refused wants the rows that are staged, too.
      if (database.stagesDeclaredTypes && position.columns !== now.columns)
        await ledger.commit((session) => stage.alter(session));
      return new TableWriter<T>(parts, { ...position, ...now });
    },
  };
}

/** @throws ConfigError if rows have a key that their mode does not use */
export function checkKeyOption({ key, mode }: Pick<TableOptions, 'key' | 'mode'>): void {
  if (key && mode !== 'merge' && mode !== 'replace')
    throw new ConfigError(
      (option = 'mode') => `A key is for merge and replace. Say in ${option} which one this is, or leave the key out.`,
      { option: 'mode' },
    );
}

interface WriterParts<T> {
  readonly ledger: Ledger;
  readonly shape: TableShape<T>;
  readonly stage: StagingTable<T>;
  readonly target: string;
  /** As it was given. */
  readonly mode: TableMode;
}

class TableWriter<T> implements SinkWriter<T> {
  readonly start: Json;
  readonly #parts: WriterParts<T>;
  readonly #id: string;
  readonly #mode: TableMode;
  readonly #isPublished: boolean;
  #nth: number;
  #staged: number;
  readonly #columns: string;
  #end: WalkEnd;
  /** The next record has a position of this writer, and not one that drops yet another partition. */
  #isFlushed = false;
  readonly #buffer: RowBuffer<T>;

  constructor(
    parts: WriterParts<T>,
    { stage, mode, nth, staged, columns, dropped = [], isIncomplete = false, shortOfTotal }: TablePosition,
    { isPublished = false } = {},
  ) {
    this.#parts = parts;
    this.#buffer = new RowBuffer(parts.shape);
    this.#id = stage;
    this.#mode = mode;
    this.#nth = nth;
    this.#staged = staged;
    this.#columns = columns;
    this.#end = { isIncomplete, ...(shortOfTotal && { shortOfTotal }) };
    this.#isPublished = isPublished;
    this.start = this.#position;
    let toDrop = dropped;
    parts.ledger.joined = {
      write: async (session) => {
        if (this.#isFlushed) for (const partition of toDrop) await parts.stage.dropPartition(session, partition);
        if (this.#buffer.rows.length > 0) await parts.stage.insert(session, this.#buffer.rows);
      },
      settled: () => {
        if (this.#isFlushed) toDrop = [];
        this.#buffer.clear();
      },
    };
  }

  get isFull(): boolean {
    return this.#buffer.isFull;
  }

  write({ items, partition }: { readonly items: readonly T[]; readonly partition: number }): Promise<void> {
    for (const item of items) {
      this.#buffer.add(item, partition, this.#nth + 1);
      this.#nth += 1;
      this.#staged += 1;
    }
    return Promise.resolve();
  }

  flush(): Promise<Json> {
    this.#isFlushed = true;
    return Promise.resolve(this.#position);
  }

  seal({ isIncomplete, shortOfTotal }: WalkEnd): Promise<Json> {
    this.#isFlushed = true;
    // What is started over replaces the rows of the run before, in whichever state.
    if (!isIncomplete || this.#parts.mode !== 'replace') return Promise.resolve(this.#position);
    const end = { isIncomplete, ...(shortOfTotal && { shortOfTotal }) };
    this.#end = end;
    return Promise.resolve({ ...this.#position, ...end });
  }

  async close(): Promise<SinkReport> {
    const { ledger, stage, target } = this.#parts;
    const rowsNotRemoved = this.#isPublished
      ? 0
      : await ledger.commit(async (session) => {
          const kept = await stage.publish(session, this.#mode, this.#staged, this.#end);
          await ledger.putPublished(session, { stage: this.#id, mode: this.#mode });
          return kept;
        });
    ledger.joined = undefined;
    return { target, ...(rowsNotRemoved > 0 && { rowsNotRemoved }) };
  }

  async abort(_reason: unknown, { isResumable }: { readonly isResumable: boolean }): Promise<void> {
    const { ledger, stage } = this.#parts;
    ledger.joined = undefined;
    if (!isResumable) await ledger.commit((session) => stage.drop(session));
  }

  get #position(): Readonly<Record<string, Json>> {
    return {
      stage: this.#id,
      mode: this.#mode,
      nth: this.#nth,
      staged: this.#staged,
      columns: this.#columns,
    };
  }
}

/** Whether its rows are in the table, unless somebody has dropped that since. */
async function isPublished(ledger: Ledger, { stage }: TablePosition): Promise<boolean> {
  return (await loadPublished(ledger)).stage === stage && (await ledger.hasTable());
}

/** The run that published last; empty if none did. */
async function loadPublished(ledger: Ledger): Promise<{ readonly stage?: unknown; readonly mode?: unknown }> {
  const record = await ledger.load(published);
  return typeof record === 'object' && record !== null ? record : {};
}

function isMode(value: unknown): value is TableMode {
  return value === 'fail' || value === 'append' || value === 'merge' || value === 'replace';
}

/** @throws CheckpointError if the position is another sink's. */
function decodePosition(position: Json, table: string): TablePosition {
  if (typeof position === 'object' && position !== null && 'stage' in position && 'nth' in position) {
    const { stage, nth, staged, columns, dropped, mode, isIncomplete, shortOfTotal } = position;
    const isDropped = dropped === undefined || (Array.isArray(dropped) && dropped.every(Number.isSafeInteger));
    const isCounted = typeof nth === 'number' && typeof staged === 'number';
    if (typeof stage === 'string' && isCounted && typeof columns === 'string' && isMode(mode) && isDropped)
      return {
        stage,
        mode,
        nth,
        staged,
        columns,
        ...(Array.isArray(dropped) && { dropped: dropped.map(Number) }),
        ...(isIncomplete === true && { isIncomplete }),
        ...(isStatedTotal(shortOfTotal) && { shortOfTotal }),
      };
  }
  throw new CheckpointError(`The checkpoint of ${table} has no position in a table.`, {}, [{ kind: 'restart' }]);
}

function lostIncrements(table: string): CheckpointError {
  return new CheckpointError(
    `The rows of earlier increments are not in ${table} any more, and the unfinished one has only what is new since.`,
    { isLost: true },
    [{ kind: 'restart' }],
  );
}

function lostRows(table: string): CheckpointError {
  return new CheckpointError(
    `The rows of the unfinished export into ${table} are gone: somebody removed its staging table.`,
    { isLost: true },
    [{ kind: 'restart' }],
  );
}
