import { randomUUID } from 'node:crypto';
import { CheckpointError, ConfigError, LockError, SluiceError, type Sink, type StateStore } from '@sluice/core';
import { recordState, type Release, type StateLog } from '@sluice/core/kit';
import {
  besideTable,
  ConnectionLost,
  countRows,
  foldTableName,
  hasRows,
  readInteger,
  quoteTable,
  type Database,
  type Session,
  type TableHolder,
  type TableName,
} from './database.js';
import { asciiJson } from './sqlValue.js';
import type { TableMode } from './tableShape.js';
import { TableConnection } from './tableConnection.js';

/** The name of the row that each transaction of a run changes first. */
const control = '';

/** The record of what was published last. */
export const published = 'published';

/** What the names of records begin with that say up to where rows were exported, so that the next export has only new ones. */
const mark = 'mark-';

/** What anybody can see of a table. */
export interface TableLook {
  /** Somebody may have dropped it, and before an export has ended it may not be there yet. */
  readonly isThere: boolean;
  /** The process that writes it; absent if none does. */
  readonly holder?: TableHolder;
}

/** The checkpoints of a table, which are in its database. */
export interface TableState extends StateStore {
  /** Looks at the table without locking or changing anything. @throws SinkError if the database can't be read. */
  look(): Promise<TableLook>;
}

/** A sink that keeps its checkpoints beside its table. */
export interface TableSink<T> extends Sink<T> {
  readonly state: TableState;
}

/** A table as it is now. */
interface FoundTable {
  readonly isEmpty: boolean;
  /** Absent if nothing tells it from one that was there before. */
  readonly identity: string | undefined;
}

/** What is committed with the next record. */
export interface Joined {
  /** Runs in the record's transaction, maybe more than once: an earlier attempt was rolled back then. */
  readonly write: (session: Session) => Promise<void>;
  /** The transaction is committed. */
  readonly settled: () => void;
}

/**
 * The records of a table's exports, in the database of the table.
 *
 * Each transaction increments the run's sequence first, where run and sequence are those that it knows. If another run
 * took over, none matches, and this one ends. After a lost connection the sequence tells whether the transaction was
 * committed, so nothing is written twice.
 */
export class Ledger implements TableState {
  readonly #database: Database;
  readonly #connection: TableConnection;
  /** The table, whichever of its names was given. */
  readonly #target: string;
  /** Rows that wait for the next record. */
  joined: Joined | undefined;
  /** Whether rows that a mark stands for are gone. It does not count then. Default: they are there. */
  lacksRows: ((session: Session) => Promise<boolean>) | undefined;
  /** The mark that was asked for last was such a one. */
  hasLostMark = false;
  /** Who holds the lock, and the logs. */
  readonly #state = recordState({
    open: (...holder) => this.#begin(...holder),
    read: (list) => this.read((session) => this.#records(session, list, this.table)),
    write: (list, records, { isReplaced }) =>
      this.commit(async (session) => {
        if (isReplaced) await this.#delete(session, list);
        for (const record of records) await this.#append(session, list, record);
      }),
  });
  #isOpen = false;
  /** Its run and number. The first one of a run takes the ledger over from any other. */
  #token = '';
  #sequence = 0;
  /** Why the last COMMIT failed. If the connection was lost for good meanwhile, it may have been done. */
  #failure: { readonly error: unknown } | undefined;

  constructor(database: Database, table: string, connection = new TableConnection(database, table)) {
    this.#database = database;
    this.#connection = connection;
    this.#target = foldTableName(table, database);
  }

  /** The table of the rows. */
  get table(): TableName {
    return this.#connection.table;
  }

  /** The table of checkpoints as SQL has it. */
  get #ledger(): string {
    return quoteTable(this.#ledgerOf(this.table), this.#database);
  }

  /** In the schema of the rows: a user may have rights in no other one. */
  #ledgerOf({ full }: TableName): string {
    return besideTable(full, '_sluice', this.#database);
  }

  /** Connects, and takes the table over. An export and a watch share the connection; exports wait for each other. */
  lock(...holder: Parameters<StateStore['lock']>): Promise<Release> {
    return this.#state.lock(...holder);
  }

  async #begin(...holder: Parameters<TableConnection['open']>): Promise<Release> {
    await this.#connection.open(...holder);
    try {
      await this.#takeOver();
    } catch (error) {
      await this.#connection.close();
      throw error;
    }
    this.#isOpen = true;
    return () => {
      this.#isOpen = false;
      return this.#connection.close();
    };
  }

  /** Without the lock, it is what anybody may read while a run holds the table. */
  async load(name: string): Promise<unknown> {
    const list = recordName(name);
    if (!this.#isOpen)
      return this.#connection.look(async (session, table) => {
        if (!(await this.#isThere(session, this.#ledgerOf(table)))) return undefined;
        // What a mark is without its rows is for nobody to read.
        return (await this.#records(session, list, table))[0] ?? undefined;
      });
    return this.read(async (session) => {
      const [record] = await this.#records(session, list, this.table);
      if (!name.startsWith(mark)) return record;
      this.hasLostMark = record === null || (record !== undefined && (await this.lacksRows?.(session)) === true);
      return this.hasLostMark ? undefined : record;
    });
  }

  async #records(session: Session, list: string, table: TableName): Promise<readonly unknown[]> {
    const found = await session.rows(
      `SELECT record FROM ${quoteTable(this.#ledgerOf(table), this.#database)} WHERE target = ? AND name = ? ORDER BY nth`,
      this.#target,
      list,
    );
    return found.map(({ record }) => decodeRecord(record, list));
  }

  async look(): Promise<TableLook> {
    return this.#connection.look(async (session, table) => {
      const isThere = (await session.readColumns(table.full)) !== undefined;
      const holder = await this.#database.holder(session, table);
      return { isThere, ...(holder && { holder }) };
    });
  }

  /** What has the name of the table. As `load`, with or without the lock. */
  findTable(): Promise<FoundTable | undefined> {
    const find = async (session: Session, { full }: TableName): Promise<FoundTable | undefined> =>
      (await session.readColumns(full)) && {
        isEmpty: !(await hasRows(session, quoteTable(full, this.#database))),
        identity: await this.#database.identify(session, full),
      };
    return this.#isOpen ? this.read((session) => find(session, this.table)) : this.#connection.look(find);
  }

  async save(name: string, record: object): Promise<void> {
    const joined = this.joined;
    await this.commit(async (session) => {
      await joined?.write(session);
      await this.put(session, name, record);
    });
    joined?.settled();
  }

  remove(name: string): Promise<void> {
    return this.commit((session) => this.#delete(session, recordName(name)));
  }

  log(name: string): StateLog {
    return this.#state.log(name);
  }

  /** Replaces a record, as a part of a transaction. */
  async put(session: Session, name: string, record: object): Promise<void> {
    await this.#delete(session, recordName(name));
    await this.#append(session, recordName(name), record);
  }

  /** Records whose rows were published, as a part of their transaction. */
  async putPublished(
    session: Session,
    by: { readonly run: string; readonly mode: TableMode | 'history' },
  ): Promise<void> {
    const isAlone = by.mode === 'fail' || by.mode === 'replace';
    const rows = isAlone ? await countRows(session, quoteTable(this.table.full, this.#database)) : undefined;
    // A merge or a replace brings whatever is there up to date.
    const isOnce = by.mode === 'fail' || by.mode === 'append';
    const identity = isOnce ? await this.#database.identify(session, this.table.full, by.run) : undefined;
    await this.put(session, published, {
      ...by,
      ...(rows !== undefined && { rows }),
      ...(identity !== undefined && { identity }),
    });
    // The rows that they stand for are gone. The next increment is to know that, and not only to begin anew.
    if (by.mode === 'replace') await this.#changeMarks(session, `UPDATE ${this.#ledger} SET record = 'null'`);
  }

  /** As a part of a transaction. */
  removeMarks(session: Session): Promise<void> {
    return this.#changeMarks(session, `DELETE FROM ${this.#ledger}`);
  }

  async #changeMarks(session: Session, change: string): Promise<void> {
    const name = recordName(mark);
    await session.run(`${change} WHERE target = ? AND substr(name, 1, ${name.length}) = ?`, this.#target, name);
  }

  async #append(session: Session, list: string, record: object): Promise<void> {
    await session.run(
      `INSERT INTO ${this.#ledger} (target, name, nth, record) VALUES (?, ?, (SELECT coalesce(max(nth), -1) + 1 FROM ${this.#ledger} WHERE target = ? AND name = ?), ?)`,
      this.#target,
      list,
      this.#target,
      list,
      asciiJson(record),
    );
  }

  async #delete(session: Session, name: string): Promise<void> {
    await session.run(`DELETE FROM ${this.#ledger} WHERE target = ? AND name = ?`, this.#target, name);
  }

  /** Runs queries. They are repeated if the connection is lost. @throws LockError if another run has taken over. */
  read<R>(work: (session: Session) => Promise<R>): Promise<R> {
    const checkOurs = async (session: Session): Promise<void> => {
      if ((await this.#current(session))?.token !== this.#token) throw takenOver(this.table.given);
    };
    return this.#connection.enqueue(async () => {
      const queries = { areRefused: false };
      try {
        return await this.#connection.transact(async (session) => {
          queries.areRefused = false;
          const result = await work(session).catch((error: unknown) => {
            queries.areRefused = !(error instanceof ConnectionLost);
            throw error;
          });
          // After the queries, or what they found could be the other run's.
          await checkOurs(session);
          return result;
        });
      } catch (error) {
        // What the other run did may be why. After an error of the server, its transaction takes no more queries.
        if (queries.areRefused && !isTemporary(error)) await this.#connection.transact(checkOurs);
        throw error;
      }
    });
  }

  /**
   * Runs a transaction of this run, once, whatever happens to the connection. After one that was committed in spite of
   * its error, each ends with that: work that was repeated would be written twice.
   */
  commit<R>(work: (session: Session) => Promise<R>): Promise<R> {
    return this.#connection.enqueue(async () => {
      const before = this.#sequence;
      let outcome: { readonly result: R } | undefined;
      const transaction = async (session: Session): Promise<void> => {
        const isCommitted = async (): Promise<boolean> => {
          const now = outcome && (await this.#current(session));
          return now?.token === this.#token && now.sequence === before + 1;
        };
        // An attempt before this one was committed, and only its response was lost.
        if (await isCommitted()) return;
        const changed = await session.run(
          `UPDATE ${this.#ledger} SET nth = nth + 1 WHERE target = ? AND name = ? AND record = ? AND nth = ?`,
          this.#target,
          control,
          JSON.stringify(this.#token),
          BigInt(before),
        );
        if (changed !== 1) {
          // Its COMMIT may have been on the way still, and arrived while this statement waited for its lock.
          if (await isCommitted()) return;
          throw this.#failure ? this.#failure.error : takenOver(this.table.given);
        }
        // No attempt before this one was committed.
        this.#failure = undefined;
        outcome = undefined;
        outcome = { result: await work(session) };
      };
      try {
        await this.#connection.transact(transaction);
      } catch (error) {
        if (outcome) this.#failure = { error };
        throw error;
      }
      this.#sequence = before + 1;
      if (!outcome) throw new Error('A transaction ended without an outcome.');
      return outcome.result;
    });
  }

  /** From now on, the transactions of earlier runs match nothing. */
  async #takeOver(): Promise<void> {
    this.#token = randomUUID();
    this.#sequence = 0;
    this.#failure = undefined;
    await this.#connection.transact(async (session) => {
      await this.#database.lockDefinitions?.(session);
      if (!(await this.#isThere(session, this.#ledgerOf(this.table))))
        await session.run(
          `CREATE TABLE ${this.#ledger} (target text NOT NULL, name text NOT NULL, nth bigint NOT NULL, record text NOT NULL, PRIMARY KEY (target, name, nth))`,
        );
      await this.#delete(session, control);
      await session.run(
        `INSERT INTO ${this.#ledger} (target, name, nth, record) VALUES (?, ?, 0, ?)`,
        this.#target,
        control,
        JSON.stringify(this.#token),
      );
    });
  }

  /** Whether the table of checkpoints is there. @throws ConfigError if something else has its name. */
  async #isThere(session: Session, ledger: string): Promise<boolean> {
    const found = await session.readColumns(ledger);
    const names = new Set(found?.map(({ name }) => name));
    const missing = ['target', 'name', 'nth', 'record'].filter((name) => !names.has(name));
    if (found && (missing.length > 0 || (await session.readTraits(ledger))?.kind !== 'table'))
      throw new ConfigError(
        `${ledger} in this database is not the table in which Sluice keeps checkpoints: it ${missing.length > 0 ? `has no ${missing.join(', ')}` : 'is not a table'}. Rename it, or write into another database${this.#database.hasSchemas ? ' or schema' : ''}.`,
        { table: ledger },
      );
    return found !== undefined;
  }

  async #current(session: Session): Promise<{ readonly token: unknown; readonly sequence: number } | undefined> {
    const [found] = await session.rows(
      `SELECT nth, record FROM ${this.#ledger} WHERE target = ? AND name = ?`,
      this.#target,
      control,
    );
    return found && { token: decodeRecord(found['record'], 'the run'), sequence: Number(readInteger(found['nth'])) };
  }
}

/** Records never have the name of the control row, nor that of a log. */
function recordName(name: string): string {
  return `record/${name}`;
}

function decodeRecord(record: unknown, name: string): unknown {
  try {
    return JSON.parse(String(record));
  } catch {
    throw new CheckpointError(`The row ${name} of the table _sluice can't be read.`, {}, [{ kind: 'restart' }]);
  }
}

/** Whether an error says nothing of the rows. */
function isTemporary(error: unknown): boolean {
  return SluiceError.is(error) && (error.code === 'lock' || error.details['isTemporary'] === true);
}

function takenOver(table: string): LockError {
  return new LockError(
    `Another run has taken over the table ${table}: this one ends. What it had committed is kept, and the other run goes on from there.`,
  );
}
