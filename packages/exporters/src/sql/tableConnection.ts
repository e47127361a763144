import { setTimeout as delay } from 'node:timers/promises';
import { SinkError, SluiceError, type Release } from '@sluice/core';
import { ConnectionLost, type Connection, type Database, type Session, type TableName } from './database.js';

/** Ms before each attempt to reach a database again whose connection was lost. */
const reconnectAfter = [100, 500, 1_000, 2_000, 4_000, 8_000, 15_000];
/** The same for whoever only looks, without a signal to cancel it. */
const lookAgainAfter = reconnectAfter.slice(0, 4);

/** The connection of whoever writes a table. It holds the table's lock, and is opened again if it is lost. */
export class TableConnection {
  readonly #database: Database;
  readonly #isShared: boolean;
  #table: TableName;
  #open: { connection: Connection; release: Release } | undefined;
  #signal: AbortSignal | undefined;
  /** The last transaction that was asked for. */
  #last: Promise<unknown> = Promise.resolve();

  /** @param isShared others may write the table, too, who share its lock */
  constructor(database: Database, table: string, { isShared = false } = {}) {
    this.#database = database;
    this.#isShared = isShared;
    this.#table = { given: table, full: table };
  }

  /** Its schema is known once the connection is open. */
  get table(): TableName {
    return this.#table;
  }

  /** @throws LockError if somebody else writes the table; SinkError if the database can't be reached */
  async open(signal: AbortSignal): Promise<void> {
    this.#signal = signal;
    try {
      await this.#connect(signal);
    } catch (error) {
      throw error instanceof ConnectionLost ? unreachable(this.#database, this.#table.given, error) : error;
    }
  }

  async close(): Promise<void> {
    const open = this.#open;
    this.#open = undefined;
    await open?.release().catch(() => undefined);
    await open?.connection.close().catch(() => undefined);
  }

  /** Reads on a connection of its own, without the lock, and creates nothing. */
  async look<R>(work: (session: Session, table: TableName) => Promise<R>): Promise<R> {
    const { signal } = new AbortController();
    const looked = async (): Promise<R> => {
      const connection = await (this.#database.connectToRead?.(signal) ?? this.#database.connect(signal));
      try {
        return await connection.transaction(async (session) => work(session, await this.#named(session)));
      } finally {
        await connection.close();
      }
    };
    for (const pause of lookAgainAfter) {
      try {
        return await looked();
      } catch (error) {
        if (!(error instanceof ConnectionLost)) throw error;
        await delay(pause);
      }
    }
    return looked().catch((error: unknown) => {
      throw error instanceof ConnectionLost ? unreachable(this.#database, this.#table.given, error) : error;
    });
  }

  /** The table with its schema, which the server knows. */
  async #named(session: Session): Promise<TableName> {
    const { given } = this.#table;
    return { given, full: (await this.#database.withSchema?.(session, given)) ?? given };
  }

  /** One transaction after the other. */
  inTurn<R>(work: () => Promise<R>): Promise<R> {
    const turn = this.#last.then(work, work);
    this.#last = turn.catch(() => undefined);
    return turn;
  }

  /** Repeats a transaction on a new connection, if that of an attempt was lost. */
  async repeated<R>(work: (session: Session) => Promise<R>): Promise<R> {
    for (const pause of [...reconnectAfter, undefined]) {
      try {
        return await this.#opened.transaction(work);
      } catch (error) {
        if (!(error instanceof ConnectionLost)) throw error;
        if (pause === undefined) throw unreachable(this.#database, this.#table.given, error);
        await this.#reconnect(pause);
      }
    }
    throw new Error('Unreachable.');
  }

  async #reconnect(pause: number): Promise<void> {
    await this.close();
    await delay(pause, undefined, { signal: this.#signal });
    try {
      await this.#connect(this.#signal ?? new AbortController().signal);
    } catch (error) {
      // The next attempt of the loop fails alike, and counts.
      const lost = new ConnectionLost('The database could not be reached again.', { cause: error });
      const connection = { transaction: () => Promise.reject(lost), close: () => Promise.resolve() };
      this.#open = { connection, release: () => Promise.resolve() };
    }
  }

  async #connect(signal: AbortSignal): Promise<void> {
    const connection = await this.#database.connect(signal);
    try {
      if (this.#database.withSchema) this.#table = await connection.transaction((session) => this.#named(session));
      const release = await this.#database.lock(connection, this.#table, signal, this.#isShared);
      this.#open = { connection, release };
    } catch (error) {
      await connection.close();
      throw error;
    }
  }

  get #opened(): Connection {
    if (!this.#open) throw new Error('The table is not locked.');
    return this.#open.connection;
  }
}

function unreachable(database: Database, table: string, { cause, ...lost }: ConnectionLost): SluiceError {
  if (SluiceError.is(cause)) return cause;
  return new SinkError(
    `The connection to the database of ${table} (${database.name}) was lost, and could not be opened again. What was committed is kept: the same export goes on from there.`,
    { cause: cause ?? lost },
  );
}
