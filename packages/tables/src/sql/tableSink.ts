import { randomUUID } from 'node:crypto';
import { CheckpointError, ConfigError, systemClock, type Clock, type Json } from '@sluice/core';
import {
  type Fields,
  isRecord,
  pickGap,
  type SinkContext,
  type SinkPage,
  type SinkReport,
  type SinkWriter,
  targetRetryNames,
  type TargetRetryOptions,
  type WalkEnd,
} from '@sluice/core/kit';
import { countRows, hasRows, quoteTable, type Database, type ExistingColumn, type Session } from './database.js';
import { MirrorShape } from './generation.js';
import {
  followPoll,
  HistoryTable,
  openVersion,
  namesBeside,
  readLastPoll,
  type LastPoll,
  type Poll,
} from './historyTable.js';
import { Ledger, published, type TableSink } from './ledger.js';
import { RowBuffer } from './rowBuffer.js';
import { rowsRecord, RowsSeen } from './rowsRecord.js';
import { checkMaxRemoved, usualMaxRemoved, type MaxRemoved } from './maxRemoved.js';
import { checkStaged, checkStagedAs, checkMode, mergeStaged, type Published } from './mergeStaged.js';
import { StagingTable } from './stagingTable.js';
import { TableConnection } from './tableConnection.js';
import { checkTableName, createTableShape, type NewFields, type TableMode, type TableShape } from './tableShape.js';
import { describeAdded } from './targetTable.js';

/** Where and how rows become a table. */
export interface TableOptions extends TargetRetryOptions {
  /** The table. It is created if it is not there. */
  readonly table: string;
  /**
   * What becomes of rows that it has. Default `fail`. In a `history`, each version of a row is a row, with `_valid_from`,
   * `_valid_to` and `_ended` (both null now), and `_generation`: a row that differs gets a new one. That of a row which two
   * complete walks lack ends; `maxRows`, a skipped part, an incomplete page, a total that is not reached, and `incremental`
   * make a walk incomplete.
   */
  readonly mode?: TableMode | 'history' | undefined;
  /** The columns and their order. Default: the source's own. */
  readonly columns?: readonly string[] | undefined;
  /**
   * The columns that identify a row; none may be null. `merge` and `history` need them, and without them add a column
   * `_key` with the source's own key. `replace` changes rows in place with them, which other tables may refer to.
   */
  readonly key?: readonly string[] | undefined;
  /**
   * What becomes of a row's fields that are not columns of the source, such as those that an API added: `discard` (the
   * default) leaves them out, `freeze` ends the export with an error that names row and field. `evolve` is `discard`, and
   * adds a column that the source has and the table lacks: nullable, of the type that is declared. It never drops, renames
   * or retypes one, and adds none of the key. Default: such a table is refused.
   */
  readonly schema?: NewFields | undefined;
  /**
   * Adds a last column, `extra`: JSON of the fields in neither the columns nor the schema, null if there are none. A table
   * that lacks it needs `schema: 'evolve'`. Not with `freeze`. Default `false`.
   */
  readonly extra?: boolean | undefined;
  /**
   * How many rows `replace` may remove, or a `history` end as removed: a share of those that the table has (`'80%'`, or 0.8),
   * or from 1 on a number of rows. An export that would remove more changes nothing and fails. Default `'50%'`; `'100%'`
   * allows all.
   */
  readonly maxRemoved?: MaxRemoved | undefined;
}

/** The names of these options. */
export const tableOptionNames = {
  ...targetRetryNames,
  table: true,
  mode: true,
  columns: true,
  key: true,
  schema: true,
  extra: true,
  maxRemoved: true,
} as const satisfies Readonly<Record<keyof TableOptions, true>>;

/** Where rows of the table go on, which is in the checkpoint. */
type TablePosition = Readonly<{
  /** The id of the export, whose rows the staging table has. */
  run: string;
  mode: TableMode | 'history';
  /** Rows that were written so far. */
  nth: number;
  /** Rows that the staging table has. */
  staged: number;
  /** The hash of its columns. */
  columns: string;
  /** Partitions whose rows have to be removed from the staging table first. */
  dropped: readonly number[];
  /** How the walk ended, if rows that it may lack must not be removed. */
  end: Pick<WalkEnd, keyof WalkEnd>;
}>;

/** A sink that commits rows and checkpoint in one transaction. */
export function tableSink<T extends object>(database: Database, target: string, options: TableOptions): TableSink<T> {
  const { table, mode = 'fail', columns, key, schema, extra, maxRemoved = usualMaxRemoved } = options;
  const { retry, clock, random } = options;
  checkRowOptions(options);
  const isHistory = mode === 'history';
  checkTableName(database, isHistory ? namesBeside(table, database).polls : table);
  const ledger = new Ledger(database, table, new TableConnection(database, table, { retry, clock, random }));
  // Rows that were appended may have been taken out since; those of a merge are to be all that there are.
  ledger.lacksRows = async (session) => {
    if ((await session.readColumns(ledger.table.full)) === undefined) return true;
    return mode !== 'append' && !(await isFilled(session));
  };
  const countRowsOfTable = async (session: Session): Promise<number> =>
    (await session.readColumns(ledger.table.full)) ? countRows(session, quoteTable(ledger.table.full, database)) : 0;
  const isFilled = (session: Session): Promise<boolean> => hasRows(session, quoteTable(ledger.table.full, database));
  const checkContext = (context: SinkContext<T>): void => {
    if (context.isEndless)
      throw new ConfigError('The source never ends, and rows become visible in a table when it ends.');
    if (context.increment === 'all' && mode === 'append') throw rowsTwice();
    if (context.increment === 'new' && mode === 'replace')
      throw new ConfigError(
        (option = 'mode') =>
          `The rows of an increment would replace all others. Say in ${option} what becomes of those: merge or append.`,
        { option: 'mode' },
      );
  };
  /** Rows that an earlier run published are replaced when it starts over, if the table had, and has, no others. */
  const chooseMode = async ({ restart }: SinkContext<T>): Promise<TableMode | 'history'> => {
    if (!restart || mode !== 'fail') return mode;
    const { mode: last, rows, identity } = await loadPublished(ledger);
    const isOther = identity !== undefined && (await ledger.findTable())?.identity !== identity;
    const hasOthers = isOther || (typeof rows === 'number' && (await ledger.read(countRowsOfTable)) > rows);
    return (last === 'fail' || last === 'replace') && !hasOthers ? 'replace' : mode;
  };
  const prepare = async (
    context: SinkContext<T>,
    effective: TablePosition['mode'],
    existing: readonly ExistingColumn[] | undefined,
  ): Promise<WriterParts<T>> => {
    const wanted = { columns, key, schema, extra, mode: effective, isCanonical: isHistory };
    const rows = createTableShape(database, context.schema, wanted, existing, context.resumeAt !== undefined);
    const parts = { ledger, target, mode, maxRemoved, shape: rows, added: await ledger.loadAdded() };
    if (!isHistory) return { ...parts, staging: new StagingTable(database, ledger.table, rows) };
    const last = readLastPoll(await ledger.load(historyRecord));
    const { clock = systemClock, increment } = context;
    const { columns: versions, key: ofVersions } = new MirrorShape(rows, 'versions');
    const ofRows = { columns: versions, key: ofVersions, ownKey: rows.ownKey, mayLack: rows.mayLack };
    const staging = new StagingTable(database, ledger.table, ofRows);
    const before = await ledger.load(rowsRecord);
    const seen = new RowsSeen({ source: context.source, columns: rows.columns, reserved: '#', before });
    const table = new HistoryTable(staging);
    const history = { last, clock, isPartial: increment !== undefined, seen, table };
    return { ...parts, staging, history };
  };
  const check = async (session: Session, { history, staging }: WriterParts<T>, effective: TablePosition['mode']) => {
    if (effective !== 'history') await checkMode(session, staging.target, effective);
    else await history?.table.check(session, history.last !== undefined);
  };
  return {
    name: database.name,
    target,
    identity: {
      mode,
      columns: columns ? [...columns] : null,
      key: key ? [...key] : null,
      ...(extra && { extra }),
    },
    delivery: 'exactly-once',
    state: ledger,
    isRefreshed: mode === 'merge' || mode === 'replace' || isHistory,
    addsColumns: schema === 'evolve',
    async check(context) {
      checkContext(context);
      const effective = await chooseMode(context);
      const existing = await ledger.read((session) => session.readColumns(ledger.table.full));
      const parts = await prepare(context, effective, existing);
      await ledger.read((session) => check(session, parts, effective));
    },
    withoutPartition(position, partition) {
      const known = decodePosition(position, table);
      return { ...known, dropped: [...known.dropped, partition] };
    },
    async finished(position, warn) {
      const known = decodePosition(position, table);
      const found = await findRows(ledger, known);
      if (found === 'there') return { target };
      // Rows that were copied into it would be there twice.
      if (found === 'other' && known.mode === 'append') throw madeAnew(table);
      if (found !== undefined)
        warn?.(`The rows of the finished export are not in ${table} any more, so all rows are exported again.`);
      return undefined;
    },
    async open(context) {
      checkContext(context);
      const { resumeAt } = context;
      const position = resumeAt && decodePosition(resumeAt.sinkPosition, table);
      const effective = position?.mode ?? (await chooseMode(context));
      const { name: staged } = new StagingTable(database, ledger.table, { columns: [], key: [] });
      // The rows of a run that began have the columns that the table had then.
      const existing = await ledger.read((session) => session.readColumns(position ? staged : ledger.table.full));
      const parts = await prepare(context, effective, existing);
      const { staging } = parts;
      const isWithoutOthers = context.increment === 'new' && ledger.hasLostMark;
      if (!position) {
        const isAdded = mode === 'append' && context.increment && existing && (await ledger.read(isFilled));
        if (isAdded && isWithoutOthers) throw rowsTwice();
        if (isAdded && !context.hasMark)
          context.warn?.(
            `${table} has rows, and no export with this definition and these parameters has left a mark: all rows are appended. Those that the table has are there twice then.`,
          );
        if (isWithoutOthers)
          context.warn?.(
            `The rows of earlier increments are not in ${table} any more, so ${context.hasMark ? 'their mark does not count' : 'all rows are exported'}.`,
          );
        const { hash, added } = await ledger.commit(async (session) => {
          await check(session, parts, effective);
          // In a short transaction of its own: nobody can read the table from here to its end.
          const added = await staging.target.addColumns(session);
          if (added.length > 0) await ledger.putAdded(session, [...parts.added, ...added]);
          if (isWithoutOthers) await ledger.removeMarks(session);
          return { hash: await staging.create(session), added };
        });
        for (const name of added) context.warn?.(describeAdded(table, name));
        return new TableWriter<T>(
          { ...parts, added: [...parts.added, ...added] },
          {
            run: randomUUID(),
            mode: effective,
            nth: 0,
            staged: 0,
            columns: hash,
            dropped: [],
            end: { isIncomplete: false },
          },
        );
      }
      if (isWithoutOthers) throw lostIncrements(table);
      if (resumeAt.isSealed && (await findRows(ledger, position)) === 'there')
        return new TableWriter<T>(parts, position, true);
      const now = await ledger.read(async (session) => {
        if (!existing) throw lostRows(table);
        const found = await staging.countRows(session);
        checkStaged(table, position.staged, found);
        let left = found;
        for (const partition of position.dropped) left -= await staging.countRows(session, partition);
        return { staged: left, columns: await staging.hashColumns(session) };
      });
      // Whoever altered the table for a value that it refused wants the rows that are staged, too.
      if (database.stagesDeclaredTypes && position.columns !== now.columns)
        await ledger.commit((session) => staging.alter(session));
      return new TableWriter<T>(parts, { ...position, ...now });
    },
  };
}

/** @throws ConfigError if rows have an option that their mode does not use, or one with a value that it can't have */
export function checkRowOptions({ key, mode, maxRemoved }: Pick<TableOptions, 'key' | 'mode' | 'maxRemoved'>): void {
  if (maxRemoved !== undefined) checkMaxRemoved(maxRemoved);
  if (maxRemoved !== undefined && mode !== 'replace' && mode !== 'history')
    throw new ConfigError(
      (option = 'maxRemoved') => `Rows are removed by mode replace, or end in a history. Leave out ${option}.`,
      { option: 'maxRemoved' },
    );
  if (key && mode !== 'merge' && mode !== 'replace' && mode !== 'history')
    throw new ConfigError(
      (option = 'mode') => `A key is for merge and replace. Say in ${option} which one this is, or leave the key out.`,
      { option: 'mode' },
    );
}

interface WriterParts<T> {
  readonly ledger: Ledger;
  readonly shape: TableShape<T>;
  readonly staging: StagingTable;
  readonly target: string;
  /** As it was given. */
  readonly mode: TableMode | 'history';
  readonly maxRemoved: MaxRemoved;
  /** Columns that were added to the table since rows were published there. */
  readonly added: readonly string[];
  readonly history?: HistoryParts;
}

interface HistoryParts {
  readonly table: HistoryTable;
  /** Before this export. */
  readonly last: LastPoll;
  readonly clock: Clock;
  /** Not all rows of the listing are exported. */
  readonly isPartial: boolean;
  readonly seen: RowsSeen;
}

/** The record of the last poll that the history has. */
const historyRecord = 'history';

class TableWriter<T> implements SinkWriter<T> {
  readonly start: Json;
  readonly #parts: WriterParts<T>;
  readonly #isPublished: boolean;
  readonly #buffer: RowBuffer<T>;
  readonly #opened: TablePosition;
  #nth: number;
  #staged: number;
  #end: TablePosition['end'];
  /** The next record has a position of this writer, and not one that drops yet another partition. */
  #isFlushed = false;

  constructor(parts: WriterParts<T>, position: TablePosition, isPublished = false) {
    this.#parts = parts;
    this.#isPublished = isPublished;
    this.#buffer = new RowBuffer(parts.shape, parts.staging.target.database.rowsOfCommit);
    this.#opened = position;
    this.#nth = position.nth;
    this.#staged = position.staged;
    this.#end = position.end;
    this.start = this.#position;
    let toDrop = position.dropped;
    parts.ledger.joined = {
      write: async (session) => {
        if (this.#isFlushed) for (const partition of toDrop) await parts.staging.dropPartition(session, partition);
        if (this.#buffer.rows.length === 0) return;
        await parts.staging.insert(session, this.#buffer.rows);
        // A run that resumes does not see these rows.
        if (parts.history) await parts.ledger.put(session, rowsRecord, parts.history.seen.toRecord());
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

  write({ items, partition, receivedAt }: Pick<SinkPage<T>, 'items' | 'partition' | 'receivedAt'>): Promise<void> {
    const { history } = this.#parts;
    const version = history ? openVersion(pollAt(history.last, receivedAt ?? history.clock.now())) : [];
    for (const item of items) {
      this.#buffer.add(item, partition, this.#nth + 1, version);
      history?.seen.add(item);
      this.#nth += 1;
      this.#staged += 1;
    }
    return Promise.resolve();
  }

  flush(): Promise<Json> {
    this.#isFlushed = true;
    return Promise.resolve(this.#position);
  }

  seal(end: WalkEnd): Promise<Json> {
    // What is started over replaces the rows of the run before, in whichever state.
    if (end.isIncomplete && (this.#parts.mode === 'replace' || this.#parts.history)) this.#end = pickEnd({ ...end });
    return this.flush();
  }

  async close(): Promise<SinkReport> {
    const { ledger, staging, target, maxRemoved, added } = this.#parts;
    const { run, mode } = this.#opened;
    // What is started over replaces the rows of the run before, however many.
    const max = this.#parts.mode === 'replace' ? maxRemoved : undefined;
    const { rowsNotRemoved, changes }: Published = this.#isPublished
      ? { rowsNotRemoved: 0 }
      : await ledger.commit(async (session) => {
          const done: Published =
            mode === 'history'
              ? { rowsNotRemoved: await this.#publishVersions(session) }
              : await mergeStaged(session, staging, mode, this.#staged, this.#end, max);
          await ledger.putPublished(session, { run, mode });
          if (added.length > 0) await ledger.putAdded(session, []);
          return done;
        });
    ledger.joined = undefined;
    return {
      target,
      ...(rowsNotRemoved > 0 && { rowsNotRemoved }),
      ...(changes && { changes }),
      ...(added.length > 0 && { addedColumns: added }),
    };
  }

  /** Returns how many rows stay because the walk was incomplete. */
  async #publishVersions(session: Session): Promise<number> {
    const { ledger, staging, history, maxRemoved, added } = this.#parts;
    if (!history) throw new Error('The position is of a history.');
    const { table, last, clock, isPartial, seen } = history;
    const isIncomplete = this.#end.isIncomplete || isPartial;
    await table.check(session, last !== undefined);
    checkStaged(staging.target.name.given, this.#staged, await staging.countRows(session));
    if ((await session.readColumns(staging.target.name.full)) !== undefined) await checkStagedAs(session, staging);
    await staging.refuseCollapsed(session);
    await staging.keepLastPerKey(session);
    await table.create(session);
    const latest = (await table.readLatest(session)) ?? 0;
    const poll = pollAt(last, Math.max(latest, clock.now()), isIncomplete);
    const rowsNotRemoved = await table.publish(session, poll, isIncomplete ? 'stay' : 'confirm', maxRemoved, added);
    await table.addPoll(session, poll);
    await ledger.put(session, historyRecord, { poll: { generation: poll.generation, at: poll.at } });
    await ledger.put(session, rowsRecord, seen.toRecord());
    await staging.drop(session);
    // An increment is not meant to have the other rows.
    return this.#end.isIncomplete ? rowsNotRemoved : 0;
  }

  async abort(_reason: unknown, { isResumable }: { readonly isResumable: boolean }): Promise<void> {
    const { ledger, staging } = this.#parts;
    ledger.joined = undefined;
    if (!isResumable) await ledger.commit((session) => staging.drop(session));
  }

  get #position(): TablePosition {
    return { ...this.#opened, nth: this.#nth, staged: this.#staged, dropped: [], end: this.#end };
  }
}

/** The poll that follows the last one. @param ms since 1970 */
function pollAt(last: LastPoll, ms: number, isIncomplete = false): Poll {
  return followPoll(last, { observedAt: new Date(ms).toISOString(), ...(isIncomplete && { isIncomplete }) });
}

/**
 * Whether the rows of a run are where it has published them; `other`: in their place is a table that was made since, with
 * rows. `undefined` if it is not the one that published last.
 */
async function findRows(
  ledger: Ledger,
  { run, mode, staged }: TablePosition,
): Promise<'there' | 'lost' | 'other' | undefined> {
  const { run: last, identity } = await loadPublished(ledger);
  if (last !== run) return undefined;
  const found = await ledger.findTable();
  if (!found) return 'lost';
  // Others bring the table up to date, whatever became of their rows.
  if (mode !== 'fail' && mode !== 'append') return 'there';
  if (found.isEmpty) return staged > 0 || !isSame(found.identity, identity) ? 'lost' : 'there';
  return isSame(found.identity, identity) ? 'there' : 'other';
}

/** An earlier version has not recorded which table it was. */
function isSame(found: string | undefined, recorded: unknown): boolean {
  return recorded === undefined || found === recorded;
}

/** The run that published last; empty if none did. */
async function loadPublished(ledger: Ledger): Promise<Fields> {
  const record = await ledger.load(published);
  return isRecord(record) ? record : {};
}

function isMode(value: unknown): value is TablePosition['mode'] {
  return value === 'history' || value === 'fail' || value === 'append' || value === 'merge' || value === 'replace';
}

/** @throws CheckpointError if the position is another sink's. */
function decodePosition(position: Json, table: string): TablePosition {
  if (typeof position === 'object' && position !== null && 'run' in position && 'end' in position) {
    const { run, mode, nth, staged, columns, dropped, end } = position;
    const isCounted = typeof nth === 'number' && typeof staged === 'number';
    const isDropped = Array.isArray(dropped) && dropped.every(Number.isSafeInteger);
    if (typeof run === 'string' && isMode(mode) && isCounted && typeof columns === 'string' && isDropped)
      return { run, mode, nth, staged, columns, dropped: dropped.map(Number), end: decodeEnd(end) };
  }
  throw new CheckpointError(`The checkpoint of ${table} has no position in a table.`, {}, [{ kind: 'restart' }]);
}

function decodeEnd(end: Json | undefined): TablePosition['end'] {
  if (typeof end !== 'object' || end === null || !('isIncomplete' in end)) return { isIncomplete: false };
  return pickEnd(end);
}

function pickEnd(end: Readonly<Record<string, unknown>>): TablePosition['end'] {
  const { isIncomplete, oldRowsSince, repeatedRows } = end;
  return {
    isIncomplete: isIncomplete === true,
    ...pickGap(end),
    ...(typeof repeatedRows === 'number' && { repeatedRows }),
    ...(typeof oldRowsSince === 'string' && { oldRowsSince }),
  };
}

function rowsTwice(): ConfigError {
  return new ConfigError(
    (option = 'mode') =>
      `All rows would be appended to those of the table, and be there twice. Say in ${option} what becomes of those: merge or replace.`,
    { option: 'mode' },
  );
}

function madeAnew(table: string): CheckpointError {
  return new CheckpointError(
    `${table} is not the table to which the finished export has appended: it was dropped and made anew since, and has rows, which may be those of the export.`,
    { table },
    [{ kind: 'restart' }],
  );
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
