import { randomUUID } from 'node:crypto';
import { LockError, type Sink, type StateStore } from '@sluice/core';
import { isRecord, recordState, type Release, type StateLog } from '@sluice/core/kit';
import {
  besideTable,
  countRows,
  foldTableName,
  hasRows,
  quoteTable,
  type Database,
  type Session,
  type TableHolder,
  type TableName,
} from './database.js';
import { Fence, fencedLists } from './records/fence.js';
import { RecordTable } from './records/recordTable.js';
import type { TableMode } from './tableShape.js';
import { TableConnection } from './tableConnection.js';

/** The record of what was published last. */
export const published = 'published';

/** The record of the columns that were added to the table. */
const addedColumns = 'added';

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

/** The records of a table's exports, in the database of the table. A fence ends a run when another one takes over. */
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
  readonly #fence: Fence;
  /** Who holds the lock, and the logs. */
  readonly #state: StateStore;
  #isOpen = false;

  constructor(database: Database, table: string, connection = new TableConnection(database, table)) {
    this.#database = database;
    this.#connection = connection;
    this.#target = foldTableName(table, database);
    const records = (): RecordTable => this.#records;
    this.#fence = new Fence({ connection, records, takenOver: () => takenOver(this.table.given) });
    this.#state = recordState({
      open: (...holder) => this.#begin(...holder),
      ...fencedLists(this.#fence, records, (work) => this.read((session) => work(session, this.#records))),
    });
  }

  /** The table of the rows. */
  get table(): TableName {
    return this.#connection.table;
  }

  get #records(): RecordTable {
    return this.#recordsOf(this.table);
  }

  /** In the schema of the rows: a user may have rights in no other one. */
  #recordsOf({ full }: TableName): RecordTable {
    const database = this.#database;
    return new RecordTable({ database, table: besideTable(full, '_sluice', database), target: this.#target });
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
        const records = this.#recordsOf(table);
        if (!(await records.isThere(session))) return undefined;
        // What a mark is without its rows is for nobody to read.
        return (await records.first(session, list)) ?? undefined;
      });
    return this.read(async (session) => {
      const record = await this.#records.first(session, list);
      if (!name.startsWith(mark)) return record;
      this.hasLostMark = record === null || (record !== undefined && (await this.lacksRows?.(session)) === true);
      return this.hasLostMark ? undefined : record;
    });
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
    return this.commit((session) => this.#records.remove(session, recordName(name)));
  }

  log(name: string): StateLog {
    return this.#state.log(name);
  }

  /** Replaces a record, as a part of a transaction. */
  async put(session: Session, name: string, record: object): Promise<void> {
    await this.#records.remove(session, recordName(name));
    await this.#records.append(session, recordName(name), record);
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
    if (by.mode === 'replace') await this.#records.change(session, 'UPDATE', recordName(mark), "SET record = 'null'");
  }

  /** The columns that were added to the table since rows were published there, whichever run did. */
  async loadAdded(): Promise<readonly string[]> {
    const record = await this.load(addedColumns);
    const { columns } = isRecord(record) ? record : {};
    return Array.isArray(columns) ? columns.map(String) : [];
  }

  /** As a part of the transaction that adds columns, or publishes the first rows that have them. */
  putAdded(session: Session, columns: readonly string[]): Promise<void> {
    return this.put(session, addedColumns, { columns });
  }

  /** As a part of a transaction. */
  removeMarks(session: Session): Promise<void> {
    return this.#records.change(session, 'DELETE FROM', recordName(mark));
  }

  /** Runs queries. @throws LockError if another run has taken over. */
  read<R>(work: (session: Session) => Promise<R>): Promise<R> {
    return this.#fence.read(work);
  }

  /** Runs a transaction of this run, once, whatever happens to the connection: as {@link Fence.commit}. */
  commit<R>(work: (session: Session) => Promise<R>): Promise<R> {
    return this.#fence.commit(work);
  }

  /** From now on, the transactions of earlier runs match nothing. */
  async #takeOver(): Promise<void> {
    this.#fence.begin(JSON.stringify(randomUUID()));
    await this.#connection.transact(async (session) => {
      await this.#database.lockDefinitions?.(session);
      if (!(await this.#records.isThere(session))) await session.run(this.#records.definition);
      await this.#records.removeUnfinished(session);
      await this.#fence.take(session);
    });
  }
}

/** Records never have the name of the control row, nor that of a log. */
function recordName(name: string): string {
  return `record/${name}`;
}

function takenOver(table: string): LockError {
  return new LockError(
    `Another run has taken over the table ${table}: this one ends. What it had committed is kept, and the other run goes on from there.`,
  );
}
