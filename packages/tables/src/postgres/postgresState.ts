import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import {
  CheckpointError,
  type Clock,
  ConfigError,
  LockError,
  SinkError,
  type StateStore,
  systemClock,
} from '@sluice/core';
import {
  checkCount,
  checkOptions,
  isRecord,
  recordState,
  targetRetries,
  targetRetryNames,
  type Release,
  type RetriedTarget,
  type TargetRetry,
  type TargetRetryOptions,
} from '@sluice/core/kit';
import { besideTable, type Database, type Session, type TableHolder, type TableName } from '../sql/database.js';
import { Fence, fencedLists } from '../sql/records/fence.js';
import { RecordTable } from '../sql/records/recordTable.js';
import { asciiJson } from '../sql/sqlValue.js';
import { TableConnection } from '../sql/tableConnection.js';
import { placeNames, postgresDatabase, type PostgresPlace } from './database.js';

/** Options of {@link postgresState}. */
export interface PostgresStateOptions extends Omit<PostgresPlace, 'breakLock'>, TargetRetryOptions {
  /** Of this state among others in the database: one export, watch or forward has it. At most 200 characters. */
  readonly name: string;
  /** Where the table `_sluice_state` is, or will be created. Default: the first one of the user's search path. */
  readonly schema?: string | undefined;
  /**
   * Ms after which another process may take the state over from one that shows no sign of life. It is renewed in a third
   * of that. Default 60,000. With fewer, a process that is stopped for a moment loses its state if another one wants it.
   */
  readonly lease?: number | undefined;
}

/** State in a database of PostgreSQL. */
export interface PostgresState extends StateStore {
  /** The process that holds it; `undefined` if none does. Locks nothing. @throws SinkError if the database can't be read. */
  holder(): Promise<TableHolder | undefined>;
}

const table = '_sluice_state';
const usualLease = 60_000;
const longestName = 200;
/** The format of all records of a state. */
const version = 1;
/** Of a lease, how often it is renewed, and how often one is looked at that may be released early. */
const renewals = 3;
const looks = 60;

/**
 * State in a table of PostgreSQL, 13 or newer: for exports into any target, watches and forwards on machines whose disks
 * do not last. It is created when it is locked.
 *
 * One process holds it, for its exports and watches together, by a lease of the server's clock. A lease that is over ends
 * nobody, but lets another process take over; the next save of the one before is then refused. So a process that was
 * killed costs the next one a wait of at most `lease`. A connection may be one of a pooler of transactions.
 *
 * It needs the packages `pg` and `pg-copy-streams`.
 *
 * @example
 * const state = postgresState({ url: 'postgres://me@localhost/jobs', name: 'holdings' });
 * await exportTo(holdings, webhook({ url: 'https://hooks.example.com', secret }), { state }).run();
 *
 * @throws ConfigError if an option is invalid. Later: LockError if another process holds it, or has taken it over;
 * SinkError if the server refuses; CheckpointError if another version wrote it.
 */
export function postgresState(options: PostgresStateOptions): PostgresState {
  const { url: urlKind, password: passwordKind } = placeNames;
  const kinds = { url: urlKind, password: passwordKind, ...targetRetryNames };
  checkOptions('postgresState()', options, { ...kinds, name: 'text', schema: true, lease: true });
  const { name, schema, lease = usualLease } = options;
  checkCount('lease', lease);
  if (name === '' || name.length > longestName || name.includes('\0'))
    throw new ConfigError(`The name of a state has 1 to ${longestName} characters, and no NUL.`, { option: 'name' });
  const { database, where } = postgresDatabase(options, { isWorker: true });
  const fault = schema === undefined ? undefined : database.findNameFault(`${schema}.${table}`, 'table');
  if (fault !== undefined || schema?.includes('.'))
    throw new ConfigError(`The schema of the state is not a name: ${fault ?? 'it has a dot'}.`, { option: 'schema' });
  return new LeasedState(database, where, { ...options, lease });
}

/** Who holds a state, and how long it may be silent. */
interface Lease {
  /** As its row has it. */
  readonly run: string;
  /** Changes with each renewal. */
  readonly until: string;
  /** Ms until it is over; not positive if it is, or was released. */
  readonly left: number;
}

/** The lease is neither over nor renewed yet. */
class StillHeld extends Error {
  readonly held: LockError;

  constructor(held: LockError) {
    super(held.message);
    this.held = held;
  }
}

class LeasedState implements PostgresState {
  readonly #database: Database;
  readonly #where: string;
  readonly #name: string;
  readonly #lease: number;
  readonly #clock: Clock;
  readonly #untilFree: TargetRetry;
  readonly #connection: TableConnection;
  readonly #fence: Fence;
  readonly #state: StateStore;
  #isOpen = false;

  constructor(
    database: Database,
    where: string,
    { name, schema, lease, ...retries }: PostgresStateOptions & { readonly lease: number },
  ) {
    const { retry, clock = systemClock, random } = retries;
    const { withSchema } = database;
    this.#database = database;
    this.#where = where;
    this.#name = name;
    this.#lease = lease;
    this.#clock = clock;
    const pace = { for: Infinity, maxDelay: Math.ceil(lease / looks) };
    this.#untilFree = targetRetries({ retry: pace, clock, random });
    // A connection of a worker ends a transaction whose process was stopped, which would keep the lease's row for hours.
    // A lock of a session would stay while a dead machine's does, and a pooler has none: the fence and the lease do.
    const unlocked: Database = {
      ...database,
      lock: () => Promise.resolve(() => Promise.resolve()),
      withSchema: (session) =>
        schema === undefined && withSchema ? withSchema(session, table) : Promise.resolve(`${schema}.${table}`),
    };
    this.#connection = new TableConnection(unlocked, `the state ${name}`, { retry, clock, random });
    const records = (): RecordTable => this.#recordsOf(this.#connection.table);
    this.#fence = new Fence({
      connection: this.#connection,
      records,
      takenOver: () => takenOver(name),
      alsoSets: `, until = ${this.#end}`,
    });
    this.#state = recordState({
      open: (...holder) => this.#open(...holder),
      ...fencedLists(this.#fence, records, (work) => this.#read(work)),
    });
  }

  lock: StateStore['lock'] = (...holder) => this.#state.lock(...holder);
  load: StateStore['load'] = (name) => this.#state.load(name);
  save: StateStore['save'] = (name, record) => this.#state.save(name, record);
  remove: StateStore['remove'] = (name) => this.#state.remove(name);
  log: StateStore['log'] = (name) => this.#state.log(name);

  async holder(): Promise<TableHolder | undefined> {
    const lease = await this.#look((session, records) => this.#find(session, records));
    if (!lease || lease.left <= 0) return undefined;
    const { host, pid } = decodeRun(lease.run) ?? {};
    return { ...(host !== undefined && { host }), ...(pid !== undefined && { pid }), isRunning: true };
  }

  async #open(...[signal, onOutage]: Parameters<TableConnection['open']>): Promise<Release> {
    await this.#connection.open(signal, onOutage);
    try {
      await this.#acquire({ signal, onOutage });
    } catch (error) {
      await this.#connection.close();
      throw error;
    }
    this.#isOpen = true;
    const stopRenewing = this.#renew();
    return async () => {
      this.#isOpen = false;
      stopRenewing();
      // If it can't be released, it will be over.
      await this.#fence.touch('until = NULL').catch(() => undefined);
      await this.#connection.close();
    };
  }

  /** Takes the state over, once nobody holds it. @throws LockError if whoever holds it shows a sign of life. */
  async #acquire({ signal, onOutage }: Pick<RetriedTarget, 'signal' | 'onOutage'>): Promise<void> {
    const run = asciiJson({ v: version, run: randomUUID(), host: hostname(), pid: process.pid });
    this.#fence.begin(run);
    let before: Lease | undefined;
    const attempt = async (): Promise<void> => {
      const lease = await this.#connection.transact((session) => this.#take(session, run));
      if (!lease) return;
      before ??= lease;
      const error = inUse(this.#name, lease.run);
      throw before.run === lease.run && before.until === lease.until ? new StillHeld(error) : error;
    };
    const findOutage = (error: unknown) =>
      error instanceof StillHeld ? { cause: 'held by another process', error: error.held } : undefined;
    await this.#untilFree(attempt, { signal, onOutage, findOutage });
  }

  /** The lease of whoever holds it; `undefined` if this run does. */
  async #take(session: Session, run: string): Promise<Lease | undefined> {
    const records = this.#recordsOf(this.#connection.table);
    await this.#database.lockDefinitions?.(session);
    if (!(await records.isThere(session))) await this.#create(session, records);
    const lease = await this.#find(session, records, 'FOR UPDATE');
    // The response to the attempt before this one was lost.
    if (lease?.run === run) return undefined;
    if (lease && decodeRun(lease.run)?.v !== version)
      throw new CheckpointError(
        `The state ${this.#name} at ${this.#where} was written by another version of Sluice. Use that one, or give another name: nothing was changed.`,
      );
    if (lease && lease.left > 0) return lease;
    await this.#fence.take(session);
    await records.removeUnfinished(session);
    await session.run(`UPDATE ${records.sql} SET until = ${this.#end} WHERE target = ? AND name = ''`, records.target);
    return undefined;
  }

  async #create(session: Session, { definition, sql }: RecordTable): Promise<void> {
    await session.run(definition).catch((error: unknown) => {
      if (!isForbidden(error)) throw error;
      throw new SinkError(
        `${this.#where}: the user may not create the table of the states. Let its owner run ${definition}; GRANT SELECT, INSERT, UPDATE, DELETE ON ${sql} TO …;`,
        { cause: error, details: { code: '42501' } },
      );
    });
  }

  async #find(session: Session, { sql, target }: RecordTable, lock = ''): Promise<Lease | undefined> {
    const [found] = await session.rows(
      `SELECT record, until::text AS until, (extract(epoch FROM until - clock_timestamp()) * 1000)::float8 AS left FROM ${sql} WHERE target = ? AND name = '' ${lock}`,
      target,
    );
    return found && { run: String(found['record']), until: String(found['until']), left: Number(found['left'] ?? 0) };
  }

  /** Until the returned function is called. A renewal that fails is no error: what is saved next will be, if need be. */
  #renew(): () => void {
    const again = (): (() => void) =>
      this.#clock.after(this.#lease / renewals, () => {
        void this.#fence
          .touch(`until = ${this.#end}`)
          .catch(() => undefined)
          .then(() => {
            if (!isStopped) cancel = again();
          });
      });
    let isStopped = false;
    let cancel = again();
    return () => {
      isStopped = true;
      cancel();
    };
  }

  #read<R>(work: (session: Session, records: RecordTable) => Promise<R>): Promise<R | undefined> {
    if (!this.#isOpen) return this.#look(work);
    return this.#fence.read((session) => work(session, this.#recordsOf(this.#connection.table)));
  }

  /** Without the lock: what anybody may read. */
  #look<R>(work: (session: Session, records: RecordTable) => Promise<R>): Promise<R | undefined> {
    return this.#connection.look(async (session, found) => {
      const records = this.#recordsOf(found);
      return (await records.isThere(session)) ? work(session, records) : undefined;
    });
  }

  #recordsOf({ full }: TableName): RecordTable {
    const database = this.#database;
    const besides = { column: 'until', type: 'timestamptz' };
    return new RecordTable({ database, table: besideTable(full, table, database), target: this.#name, besides });
  }

  /** When a lease ends that begins now, by the clock of the server. */
  get #end(): string {
    return `clock_timestamp() + interval '${this.#lease} ms'`;
  }
}

function decodeRun(run: string): { readonly v: unknown; readonly host?: string; readonly pid?: number } | undefined {
  try {
    const value: unknown = JSON.parse(run);
    if (!isRecord(value)) return undefined;
    const { v, host, pid } = value;
    return { v, ...(typeof host === 'string' && { host }), ...(typeof pid === 'number' && { pid }) };
  } catch {
    return undefined;
  }
}

function isForbidden(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === '42501';
}

function inUse(name: string, run: string): LockError {
  const { host, pid } = decodeRun(run) ?? {};
  const who = pid === undefined ? '' : ` by process ${pid} of ${host}`;
  return new LockError(
    `The state ${name} is in use${who}. Stop that one first, or give each export and watch a state of its own: nothing was changed.`,
  );
}

function takenOver(name: string): LockError {
  return new LockError(
    `Another process has taken over the state ${name}, since this one had not renewed its lease: this one ends. What it had saved is kept, and the other process goes on from there.`,
  );
}
