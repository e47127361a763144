import { ConfigError, SinkError, SluiceError } from '@sluice/core';
import type { Claim, StatedGap, StatedTotal } from '@sluice/core/kit';
import {
  besideTable,
  countRows,
  foldTableName,
  readNumber,
  quoteTable,
  type Database,
  type Session,
  type TableName,
} from '../sql/database.js';
import { Ledger } from '../sql/ledger.js';
import { usualMaxRemoved } from '../sql/maxRemoved.js';
import { checkMode, mergeStaged } from '../sql/mergeStaged.js';
import { StagingTable } from '../sql/stagingTable.js';
import { TableConnection } from '../sql/tableConnection.js';
import { checkTableName, createTableShape } from '../sql/tableShape.js';
import { checkRowOptions } from '../sql/tableSink.js';
import { isFollowed, type ClaimRequest, type NewRun, type RunRows, type RunTable, type StoredRun } from './runTable.js';
import { TableClaim, type RunTables } from './tableClaim.js';

/**
 * The tables of runs beside the table that they fill.
 *
 * Rows wait in a staging table of the run, in the order of the plan. The commit of the last partition moves them to the
 * table, in its own transaction. So readers never see a part of a run, and a run whose partitions are done is in its
 * table: nothing can stop between.
 */
export class PostgresRunTable implements RunTable {
  readonly #database: Database;
  readonly #connection: TableConnection;
  readonly #ledger: Ledger;
  /** The table, whichever of its names was given. */
  readonly #target: string;
  #opened: Promise<void> | undefined;

  constructor(database: Database, table: string) {
    checkTableName(database, table);
    this.#database = database;
    this.#connection = new TableConnection(database, table, { isShared: true });
    this.#ledger = new Ledger(database, table, this.#connection);
    this.#target = foldTableName(table, database);
  }

  get name(): string {
    return this.#connection.table.given;
  }

  find(by: { readonly id?: string; readonly name?: string } = {}): Promise<StoredRun | undefined> {
    return this.#read(async (session, { runs }, table) => {
      if ((await session.readColumns(this.#beside(table, '_sluice_runs'))) === undefined) return undefined;
      const [where, ...values] =
        by.id !== undefined ? [' AND run = ?', by.id] : by.name !== undefined ? [' AND name = ?', by.name] : [''];
      const [found] = await session.rows(
        `SELECT * FROM ${runs} WHERE target = ?${where} ORDER BY nth DESC LIMIT 1`,
        this.#target,
        ...values,
      );
      return found && decodeRun(found);
    });
  }

  begin<T>(run: NewRun, rows: RunRows<T>): Promise<StoredRun> {
    checkRowOptions(rows.options);
    return this.#write(async (session, tables, table) => {
      await this.#database.lockDefinitions?.(session);
      await create(session, tables);
      const { runs } = tables;
      const known = await session.rows(`SELECT * FROM ${runs} WHERE target = ? ORDER BY nth`, this.#target);
      const same = known.map(decodeRun).find(({ name }) => name === run.name);
      if (same && !isFollowed(same, rows.options)) return same;
      if (same) await this.#remove(session, tables, table, same.id);
      for (const other of known.map(decodeRun)) {
        if (other.state === 'open')
          throw new ConfigError(
            `The table ${table.given} has the run ${other.name}, which is not finished. Let workers finish it, or cancel it. To go on with it, submit it by this name.`,
            { table: table.given },
          );
        // It was never worked on, since its plan is not complete.
        if (other.state === 'planned') await this.#remove(session, tables, table, other.id);
      }
      const shape = createTableShape(this.#database, rows.schema, rows.options, await session.readColumns(table.full));
      const staging = new StagingTable(this.#database, table, shape, run.id);
      await checkMode(session, staging.target, rows.options.mode ?? 'fail');
      await staging.target.addColumns(session);
      await staging.create(session);
      // Few bytes, whatever the rows: it finds those of a partition that starts over.
      await session.run(`CREATE INDEX ON ${staging.sql} USING brin (${staging.order}) WITH (autosummarize = on)`);
      const [stored = {}] = await session.rows(
        `INSERT INTO ${runs} (run, target, name, state, record) VALUES (?, ?, ?, 'planned', ?) RETURNING *`,
        run.id,
        this.#target,
        run.name,
        run.record,
      );
      return decodeRun(stored);
    });
  }

  putChunk(run: string, first: number, chunk: string): Promise<boolean> {
    return this.#write(async (session, { plans }) => {
      await session.run(
        `INSERT INTO ${plans} (run, first, chunk) VALUES (?, ?, ?) ON CONFLICT DO NOTHING`,
        run,
        BigInt(first),
        chunk,
      );
      const [found] = await session.rows(`SELECT chunk FROM ${plans} WHERE run = ? AND first = ?`, run, BigInt(first));
      return found?.['chunk'] === chunk;
    });
  }

  findChunk(run: string, partition: number): Promise<string | undefined> {
    return this.#read(async (session, { plans }) => {
      const [found] = await session.rows(
        `SELECT chunk FROM ${plans} WHERE run = ? AND first <= ? ORDER BY first DESC LIMIT 1`,
        run,
        BigInt(partition),
      );
      return found && String(found['chunk']);
    });
  }

  chunks(run: string): Promise<number> {
    return this.#read(async (session, { plans }) => {
      return countRows(session, `${plans} WHERE run = ?`, run);
    });
  }

  complete(run: string, plan: string, partitions: number): Promise<string | undefined> {
    return this.#write(async (session, { runs }) => {
      await session.run(
        `UPDATE ${runs} SET state = 'open', plan = ?, partitions = ? WHERE run = ? AND state = 'planned'`,
        plan,
        BigInt(partitions),
        run,
      );
      const [found] = await session.rows(`SELECT plan FROM ${runs} WHERE run = ?`, run);
      return found && String(found['plan']);
    });
  }

  done(run: string, from: number, before: number): Promise<readonly number[]> {
    return this.#read(async (session, { partitions }) => {
      const found = await session.rows(
        `SELECT partition FROM ${partitions} WHERE run = ? AND partition >= ? AND partition < ? AND state = 'done'`,
        run,
        BigInt(from),
        BigInt(before),
      );
      return found.map(({ partition }) => readNumber(partition));
    });
  }

  totalGap(run: string): Promise<StatedGap> {
    return this.#read((session, tables) => totalGap(session, tables, run));
  }

  async claim<T>(request: ClaimRequest<T>): Promise<Claim<T> | 'done' | 'cancelled'> {
    const { run, options } = request;
    return this.#write(async (session, tables, table) => {
      const [found] = await session.rows(`SELECT state FROM ${tables.runs} WHERE run = ?`, run);
      if (!found) throw new ConfigError(`The run is gone from the database of ${table.given}: somebody removed it.`);
      if (found['state'] === 'cancelled') return 'cancelled';
      if (found['state'] === 'finished') return 'done';
      // The table may have got the column of the key since the run began.
      const { name: staged } = this.#unshaped(table, run);
      const shape = createTableShape(this.#database, request.schema, options, await session.readColumns(staged), true);
      const staging = new StagingTable(this.#database, table, shape, run);
      return TableClaim.begin(session, request, {
        connection: this.#connection,
        tables,
        staging,
        shape,
        publish: async (within, rows, isIncomplete) => {
          await this.#endStale(within, staging);
          const { mode = 'fail', requireTotal } = options;
          const isCompared = mode === 'replace' && requireTotal !== false && !isIncomplete;
          const gap = isCompared ? await totalGap(within, tables, run) : {};
          const isOther = Object.keys(gap).length > 0;
          const end = { isIncomplete: isIncomplete || isOther, ...gap };
          const max = options.maxRemoved ?? usualMaxRemoved;
          const merged = mergeStaged(within, staging, mode, rows, end, max);
          const { rowsNotRemoved } = await merged.catch((error: unknown) => {
            throw asFinal(error, isOther);
          });
          if ((await within.readColumns(this.#beside(table, '_sluice'))) !== undefined)
            await this.#ledger.putPublished(within, { run, mode });
          return rowsNotRemoved;
        },
      });
    });
  }

  async cancel(run: string): Promise<void> {
    await this.#aside((session, { runs }) =>
      session.run(`UPDATE ${runs} SET state = 'cancelled' WHERE run = ? AND state IN ('planned', 'open')`, run),
    );
  }

  clean(run: string): Promise<number> {
    return this.#aside(async (session, { runs, partitions }, table) => {
      const [found] = await session.rows(`SELECT state FROM ${runs} WHERE run = ?`, run);
      if (found?.['state'] !== 'cancelled' && found?.['state'] !== 'finished') return 0;
      await this.#dropStaging(session, table, run);
      return session.run(`DELETE FROM ${partitions} WHERE run = ?`, run);
    });
  }

  async close(): Promise<void> {
    const opened = this.#opened;
    this.#opened = undefined;
    await opened?.catch(() => undefined);
    await this.#connection.close();
  }

  async #remove(session: Session, tables: RunTables, table: TableName, run: string): Promise<void> {
    await this.#dropStaging(session, table, run);
    for (const each of [tables.plans, tables.partitions, tables.runs])
      await session.run(`DELETE FROM ${each} WHERE run = ?`, run);
  }

  async #dropStaging(session: Session, table: TableName, run: string): Promise<void> {
    const staging = this.#unshaped(table, run);
    await this.#endStale(session, staging);
    await staging.drop(session);
  }

  /**
   * Ends the connections of workers that still write the staging table, though no commit of theirs is accepted any more:
   * one that was stopped while it sent rows would keep the table for ever, since the server waits for those.
   */
  async #endStale(session: Session, { sql }: StagingTable): Promise<void> {
    await session.rows(
      `SELECT pg_terminate_backend(l.pid) FROM pg_locks l JOIN pg_stat_activity a USING (pid)
       WHERE l.locktype = 'relation' AND l.relation = to_regclass(?) AND l.pid <> pg_backend_pid()
       AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
       AND a.application_name LIKE 'sluice %' AND a.usename = current_user`,
      sql,
    );
  }

  /** The staging table of a run, before its columns are known. */
  #unshaped(table: TableName, run: string): StagingTable {
    return new StagingTable(this.#database, table, { columns: [], key: [] }, run);
  }

  #beside({ full }: TableName, name: string): string {
    return besideTable(full, name, this.#database);
  }

  #tables(table: TableName): RunTables {
    const named = (name: string): string => quoteTable(this.#beside(table, name));
    return { runs: named('_sluice_runs'), plans: named('_sluice_plans'), partitions: named('_sluice_partitions') };
  }

  /** Without the lock, unless it is held anyway. */
  #read<R>(work: (session: Session, tables: RunTables, table: TableName) => Promise<R>): Promise<R> {
    return this.#opened ? this.#write(work) : this.#aside(work);
  }

  /** In a transaction that may be repeated, without the lock: beside workers and exports. */
  #aside<R>(work: (session: Session, tables: RunTables, table: TableName) => Promise<R>): Promise<R> {
    return this.#connection.look((session, table) => work(session, this.#tables(table), table));
  }

  /** In a transaction that may be repeated, with the lock. */
  async #write<R>(work: (session: Session, tables: RunTables, table: TableName) => Promise<R>): Promise<R> {
    const opened = (this.#opened ??= this.#connection.open(new AbortController().signal));
    try {
      await opened;
    } catch (error) {
      if (this.#opened === opened) this.#opened = undefined;
      throw error;
    }
    const { table } = this.#connection;
    return this.#connection.transactInTurn((session) => work(session, this.#tables(table), table));
  }
}

/** Of the partitions of a run that have fewer rows than the API said, or else more: the sum of its totals, and of the rows. */
async function totalGap(session: Session, { partitions }: RunTables, run: string): Promise<StatedGap> {
  const sumOf = async (totals: string): Promise<StatedTotal | undefined> => {
    const [found] = await session.rows(
      `SELECT sum((totals->>'total')::bigint) AS total, sum((totals->>'listed')::bigint) AS listed
       FROM (SELECT ${totals} AS totals FROM ${partitions} WHERE run = ? AND state = 'done') AS done
       WHERE (totals->>'listed')::bigint <> (totals->>'total')::bigint`,
      run,
    );
    if (!found || found['total'] === null) return undefined;
    return { total: readNumber(found['total']), listed: readNumber(found['listed']) };
  };
  const shortOfTotal = await sumOf(`position::json->'totals'`);
  if (shortOfTotal) return { shortOfTotal };
  const overTotal = await sumOf(`position::json->'totals'->'over'`);
  return overTotal ? { overTotal } : {};
}

/** The error, with what to do if no attempt can succeed: a run keeps its options and its incomplete pages. */
function asFinal(error: unknown, isShort: boolean): unknown {
  if (!SluiceError.is(error, 'sink') || error.details['isLost'] !== true) return error;
  const { summary, details } = error;
  const orElse = isShort ? ', or with --no-require-total (requireTotal: false) if the total counts something else' : '';
  const remedies = new Map<unknown, string>([
    ['maxRemoved', '--max-removed 100% (maxRemoved) if they are really gone'],
    ['key', 'key columns that identify a row'],
  ]);
  const remedy = remedies.get(details['option']) ?? `key columns${orElse}`;
  const what = `${summary} Cancel this run, and submit another one by another name, with ${remedy}.`;
  return new SinkError(what, { details, cause: error });
}

async function create(session: Session, { runs, plans, partitions }: RunTables): Promise<void> {
  await session.run(
    `CREATE TABLE IF NOT EXISTS ${runs} (run text PRIMARY KEY, nth bigint GENERATED ALWAYS AS IDENTITY, target text NOT NULL, name text NOT NULL, state text NOT NULL, record text NOT NULL, plan text, partitions bigint NOT NULL DEFAULT 0, done bigint NOT NULL DEFAULT 0, rows bigint NOT NULL DEFAULT 0, incomplete boolean NOT NULL DEFAULT false, not_removed bigint NOT NULL DEFAULT 0, UNIQUE (target, name))`,
  );
  await session.run(
    `CREATE TABLE IF NOT EXISTS ${plans} (run text NOT NULL, first bigint NOT NULL, chunk text NOT NULL, PRIMARY KEY (run, first))`,
  );
  await session.run(
    `CREATE TABLE IF NOT EXISTS ${partitions} (run text NOT NULL, partition bigint NOT NULL, claim text NOT NULL, position text, state text NOT NULL, saves bigint NOT NULL, rows bigint NOT NULL, restarts bigint NOT NULL, incomplete boolean NOT NULL, PRIMARY KEY (run, partition))`,
  );
}

function decodeRun(found: Readonly<Record<string, unknown>>): StoredRun {
  const { run, name, record, state, plan, partitions, done, rows } = found;
  return {
    id: String(run),
    name: String(name),
    record: String(record),
    state: state === 'planned' || state === 'finished' || state === 'cancelled' ? state : 'open',
    plan: typeof plan === 'string' ? plan : undefined,
    partitions: readNumber(partitions),
    done: readNumber(done),
    rows: readNumber(rows),
    isIncomplete: found['incomplete'] === true,
    rowsNotRemoved: readNumber(found['not_removed']),
  };
}
