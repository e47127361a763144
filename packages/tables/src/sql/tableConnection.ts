import { setTimeout as delay } from 'node:timers/promises';
import { SinkError, SluiceError } from '@sluice/core';
import {
  targetRetries,
  type Release,
  type SinkContext,
  type TargetRetry,
  type TargetRetryOptions,
} from '@sluice/core/kit';
import {
  ConnectionLost,
  type Connection,
  type Database,
  type DatabaseOutage,
  type Session,
  type TableName,
} from './database.js';

/** Ms before each attempt of whoever only looks, without a signal to cancel it. */
const lookAgainAfter = [100, 500, 1_000, 2_000];
/** Ms that the first attempt waits for a lock: then it is known what the export waits for, and the next one waits longer. */
const firstLockWait = 4_000;

interface Holder {
  readonly signal: AbortSignal;
  readonly onOutage: SinkContext<never>['onOutage'];
}

interface OpenConnection {
  readonly connection: Connection;
  readonly release: Release;
}

/** The connection of whoever writes a table. It holds the table's lock, and is opened again if it is lost. */
export class TableConnection {
  readonly #database: Database;
  readonly #isShared: boolean;
  readonly #retry: TargetRetry;
  #table: TableName;
  #open: OpenConnection | undefined;
  /** Of whoever holds the lock. */
  #holder: Holder | undefined;
  /** A transaction was committed since the table was locked. */
  #hasWorked = false;
  /** The last transaction that was asked for. */
  #last: Promise<unknown> = Promise.resolve();

  /** @param isShared others may write the table, too, who share its lock */
  constructor(
    database: Database,
    table: string,
    { isShared = false, ...retries }: TargetRetryOptions & { readonly isShared?: boolean } = {},
  ) {
    this.#database = database;
    this.#isShared = isShared;
    this.#retry = targetRetries(retries);
    this.#table = { given: table, full: table };
  }

  /** Its schema is known once the connection is open. */
  get table(): TableName {
    return this.#table;
  }

  /** @throws LockError if somebody else writes the table; SinkError if the database can't be reached in time */
  async open(signal: AbortSignal, onOutage?: SinkContext<never>['onOutage']): Promise<void> {
    this.#holder = { signal, onOutage };
    this.#hasWorked = false;
    await this.#repeat(this.#holder, () => this.#connect(signal));
  }

  async close(): Promise<void> {
    this.#holder = undefined;
    await this.#disconnect();
  }

  async #disconnect(): Promise<void> {
    const open = this.#open;
    this.#open = undefined;
    await open?.release().catch(() => undefined);
    await open?.connection.close().catch(() => undefined);
  }

  /** Reads on a connection of its own, without the lock, and creates nothing. */
  async look<R>(work: (session: Session, table: TableName) => Promise<R>): Promise<R> {
    const { signal } = new AbortController();
    const attempt = async (): Promise<R> => {
      const connection = await (this.#database.connectToRead?.(signal) ?? this.#database.connect(signal));
      try {
        return await connection.transaction(async (session) => work(session, await this.#named(session)));
      } finally {
        await connection.close();
      }
    };
    for (const pause of lookAgainAfter) {
      try {
        return await attempt();
      } catch (error) {
        if (!(error instanceof ConnectionLost)) throw error;
      }
      await delay(pause);
    }
    return attempt().catch((error: unknown) => {
      throw error instanceof ConnectionLost ? this.#unreachable(error) : error;
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

  /** Repeats a transaction while the database is away, on a new connection if that of an attempt was lost. */
  async transact<R>(work: (session: Session) => Promise<R>): Promise<R> {
    const holder = this.#holder;
    if (!holder) throw new Error('The table is not locked.');
    const result = await this.#repeat(holder, async (nth) => {
      const { connection } = this.#open ?? (await this.#reconnect(holder.signal));
      return connection.transaction(work, nth === 1 ? { maxLockWait: firstLockWait } : {});
    });
    this.#hasWorked = true;
    return result;
  }

  async #reconnect(signal: AbortSignal): Promise<OpenConnection> {
    try {
      return await this.#connect(signal);
    } catch (error) {
      // The next attempt may succeed, whatever it was.
      throw new ConnectionLost('The database could not be reached again.', { cause: error });
    }
  }

  #repeat<R>({ signal, onOutage }: Holder, attempt: (nth: number) => Promise<R>): Promise<R> {
    const repeated = async (nth: number): Promise<R> => {
      try {
        return await attempt(nth);
      } catch (error) {
        const outage = this.#outage(error);
        if (outage && !outage.isConnected) await this.#disconnect();
        throw error;
      }
    };
    const findOutage = (error: unknown) => {
      const outage = this.#outage(error);
      return outage && { cause: outage.cause, error: this.#unreachable(error) };
    };
    return this.#retry(repeated, { signal, onOutage, findOutage });
  }

  #outage(error: unknown): DatabaseOutage | undefined {
    const { findOutage } = this.#database;
    if (!(error instanceof ConnectionLost)) return findOutage(error, this.#hasWorked);
    // A lock that can't be had again may be that of the lost connection. A run that was taken over is refused later.
    const otherwise = SluiceError.is(error.cause, 'lock') ? 'locked by another run' : 'connection lost';
    return { cause: findOutage(error.cause, true)?.cause ?? otherwise };
  }

  #unreachable(error: unknown): SluiceError {
    const { cause, ...lost } = error instanceof ConnectionLost ? error : { cause: error };
    if (SluiceError.is(cause)) return cause;
    return new SinkError(
      `The connection to the database of ${this.#table.given} (${this.#database.name}) was lost, and could not be opened again. What was committed is kept: the same export goes on from there.`,
      { cause: cause ?? lost, details: { isTemporary: true } },
    );
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
