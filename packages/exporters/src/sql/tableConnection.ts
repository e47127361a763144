import { setTimeout as delay } from 'node:timers/promises';
import { SinkError, SluiceError, type Release } from '@sluice/core';
import { ConnectionLost, type Connection, type Database, type Session, type TableName } from './database.js';

/** Ms before each attempt to reach a database again whose connection was lost. */
const reconnectAfter = [100, 500, 1_000, 2_000, 4_000, 8_000, 15_000];
/** The same for whoever only looks, without a signal to cancel it. */
const lookAgainAfter = reconnectAfter.slice(0, 4);

interface OpenConnection {
  readonly connection: Connection;
  readonly release: Release;
}

/** The connection of whoever writes a table. It holds the table's lock, and is opened again if it is lost. */
export class TableConnection {
  readonly #database: Database;
  readonly #isShared: boolean;
  #table: TableName;
  #open: OpenConnection | undefined;
  /** Of whoever holds the lock. */
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
    await this.#retry([], () => this.#connect(signal));
  }

  async close(): Promise<void> {
    this.#signal = undefined;
    await this.#disconnect();
  }

  async #disconnect(): Promise<void> {
    const open = this.#open;
    this.#open = undefined;
    await open?.release().catch(() => undefined);
    await open?.connection.close().catch(() => undefined);
  }

  /** Reads on a connection of its own, without the lock, and creates nothing. */
  look<R>(work: (session: Session, table: TableName) => Promise<R>): Promise<R> {
    const { signal } = new AbortController();
    return this.#retry(lookAgainAfter, async () => {
      const connection = await (this.#database.connectToRead?.(signal) ?? this.#database.connect(signal));
      try {
        return await connection.transaction(async (session) => work(session, await this.#named(session)));
      } finally {
        await connection.close();
      }
    });
  }

  /** The table with its schema, which the server knows. */
  async #named(session: Session): Promise<TableName> {
    const { given } = this.#table;
    return { given, full: (await this.#database.withSchema?.(session, given)) ?? given };
  }

  /** One transaction after the other. */
  enqueue<R>(work: () => Promise<R>): Promise<R> {
    const turn = this.#last.then(work, work);
    this.#last = turn.catch(() => undefined);
    return turn;
  }

  /** Runs a transaction once those before it have ended. */
  transactInTurn<R>(work: (session: Session) => Promise<R>): Promise<R> {
    return this.enqueue(() => this.transact(work));
  }

  /** Repeats a transaction on a new connection, if that of an attempt was lost. */
  async transact<R>(work: (session: Session) => Promise<R>): Promise<R> {
    const signal = this.#signal;
    if (!signal) throw new Error('The table is not locked.');
    const attempt = async (): Promise<R> => {
      const { connection } = this.#open ?? (await this.#reconnect(signal));
      return connection.transaction(work);
    };
    return this.#retry(reconnectAfter, attempt, signal);
  }

  async #reconnect(signal: AbortSignal): Promise<OpenConnection> {
    try {
      return await this.#connect(signal);
    } catch (error) {
      // The next attempt may succeed, whatever it was.
      throw new ConnectionLost('The database could not be reached again.', { cause: error });
    }
  }

  /** Repeats an attempt after each pause whose connection was lost. @throws SinkError if all of them are */
  async #retry<R>(pauses: readonly number[], attempt: () => Promise<R>, signal?: AbortSignal): Promise<R> {
    for (const pause of [...pauses, undefined]) {
      try {
        return await attempt();
      } catch (error) {
        if (!(error instanceof ConnectionLost)) throw error;
        if (pause === undefined) throw unreachable(this.#database, this.#table.given, error);
        if (signal) await this.#disconnect();
        await delay(pause, undefined, { signal });
      }
    }
    throw new Error('Unreachable.');
  }

  async #connect(signal: AbortSignal): Promise<OpenConnection> {
    const connection = await this.#database.connect(signal);
    try {
      if (this.#database.withSchema) this.#table = await connection.transaction((session) => this.#named(session));
      const release = await this.#database.lock(connection, this.#table, signal, this.#isShared);
      return (this.#open = { connection, release });
    } catch (error) {
      await connection.close();
      throw error;
    }
  }
}

function unreachable(database: Database, table: string, { cause, ...lost }: ConnectionLost): SluiceError {
  if (SluiceError.is(cause)) return cause;
  return new SinkError(
    `The connection to the database of ${table} (${database.name}) was lost, and could not be opened again. What was committed is kept: the same export goes on from there.`,
    { cause: cause ?? lost, details: { isTemporary: true } },
  );
}
