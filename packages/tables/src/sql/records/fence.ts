import { type LockError, SluiceError } from '@sluice/core';
import type { RecordLists } from '@sluice/core/kit';
import { ConnectionLost, readInteger, type Session } from '../database.js';
import { charactersAtOnce, type RecordTable } from './recordTable.js';
import { asciiJson } from '../sqlValue.js';
import type { TableConnection } from '../tableConnection.js';

/** The name of the row that each transaction of a run changes first. */
const control = '';

/** Options of {@link Fence}. */
export interface FenceOptions {
  readonly connection: Pick<TableConnection, 'enqueue' | 'transact'>;
  /** The records that it protects, and among which its row is. Their table is known when the connection is open. */
  readonly records: () => RecordTable;
  readonly takenOver: () => LockError;
  /** What each commit sets in its row besides, as SQL: `, until = now()`. Default: nothing. */
  readonly alsoSets?: string;
}

/**
 * Keeps all but the last of several runs from changing records.
 *
 * Each transaction increments the run's sequence first, where run and sequence are those that it knows. If another run
 * took over, none matches, and this one ends. After a lost connection the sequence tells whether the transaction was
 * committed, so nothing is written twice.
 */
export class Fence {
  readonly #options: FenceOptions;
  /** The run, as its row has it, and the number of its last transaction. */
  #run = '';
  #sequence = 0;
  /** Why the last COMMIT failed. If the connection was lost for good meanwhile, it may have been done. */
  #failure: { readonly error: unknown } | undefined;

  constructor(options: FenceOptions) {
    this.#options = options;
  }

  /** Begins a run. It counts once its `take` is committed. @param run as JSON, and unlike any other one */
  begin(run: string): void {
    this.#run = run;
    this.#sequence = 0;
    this.#failure = undefined;
  }

  /** As a part of a transaction: from its commit on, the transactions of earlier runs match nothing. */
  async take(session: Session): Promise<void> {
    const { sql, target } = this.#options.records();
    await this.#options.records().remove(session, control);
    await session.run(`INSERT INTO ${sql} (target, name, nth, record) VALUES (?, ?, 0, ?)`, target, control, this.#run);
  }

  /** Runs queries. They are repeated if the connection is lost. @throws LockError if another run has taken over. */
  read<R>(work: (session: Session) => Promise<R>): Promise<R> {
    const { connection, takenOver } = this.#options;
    const checkOurs = async (session: Session): Promise<void> => {
      if ((await this.#current(session))?.run !== this.#run) throw takenOver();
    };
    return connection.enqueue(async () => {
      const queries = { areRefused: false };
      try {
        return await connection.transact(async (session) => {
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
        if (queries.areRefused && !isTemporary(error)) await connection.transact(checkOurs);
        throw error;
      }
    });
  }

  /**
   * Runs a transaction of this run, once, whatever happens to the connection. After one that was committed in spite of
   * its error, each ends with that: work that was repeated would be written twice.
   */
  commit<R>(work: (session: Session) => Promise<R>): Promise<R> {
    const { connection, records, takenOver, alsoSets = '' } = this.#options;
    return connection.enqueue(async () => {
      const before = this.#sequence;
      let outcome: { readonly result: R } | undefined;
      const transaction = async (session: Session): Promise<void> => {
        const isCommitted = async (): Promise<boolean> => {
          const now = outcome && (await this.#current(session));
          return now?.run === this.#run && now.sequence === before + 1;
        };
        // An attempt before this one was committed, and only its response was lost.
        if (await isCommitted()) return;
        const { sql, target } = records();
        const changed = await session.run(
          `UPDATE ${sql} SET nth = nth + 1${alsoSets} WHERE target = ? AND name = ? AND record = ? AND nth = ?`,
          target,
          control,
          this.#run,
          BigInt(before),
        );
        if (changed !== 1) {
          // Its COMMIT may have been on the way still, and arrived while this statement waited for its lock.
          if (await isCommitted()) return;
          throw this.#failure ? this.#failure.error : takenOver();
        }
        // No attempt before this one was committed.
        this.#failure = undefined;
        outcome = undefined;
        outcome = { result: await work(session) };
      };
      try {
        await connection.transact(transaction);
      } catch (error) {
        if (outcome) this.#failure = { error };
        throw error;
      }
      this.#sequence = before + 1;
      if (!outcome) throw new Error('A transaction ended without an outcome.');
      return outcome.result;
    });
  }

  /** Changes something of its row in a transaction of its own, which may be repeated, if this run still counts. */
  async touch(set: string): Promise<void> {
    const { connection, records } = this.#options;
    await connection.enqueue(() =>
      connection.transact((session) => {
        const { sql, target } = records();
        return session.run(
          `UPDATE ${sql} SET ${set} WHERE target = ? AND name = ? AND record = ?`,
          target,
          control,
          this.#run,
        );
      }),
    );
  }

  async #current(session: Session): Promise<{ readonly run: string; readonly sequence: number } | undefined> {
    const { sql, target } = this.#options.records();
    const [found] = await session.rows(`SELECT nth, record FROM ${sql} WHERE target = ? AND name = ?`, target, control);
    return found && { run: String(found['record']), sequence: Number(readInteger(found['nth'])) };
  }
}

/**
 * The records behind a fence, in pages and batches: a list may be larger than memory.
 *
 * @param read runs queries: those of the fence, or without the lock others; `undefined` if there is no table
 */
export function fencedLists(
  fence: Fence,
  records: () => RecordTable,
  read: <R>(work: (session: Session, records: RecordTable) => Promise<R>) => Promise<R | undefined>,
): Pick<RecordLists, 'read' | 'write'> {
  return {
    async *read(list) {
      for (let after: bigint | undefined; ;) {
        const from = after;
        const page = await read((session, table) => table.page(session, list, from));
        for (const { value } of page ?? []) yield value;
        after = page?.at(-1)?.nth;
        if (after === undefined) return;
      }
    },
    async write(list, added, { isReplaced }) {
      let texts: string[] = [];
      let characters = 0;
      let hasBegun = false;
      for (const record of added) {
        const text = asciiJson(record);
        texts.push(text);
        characters += text.length;
        if (!isReplaced || characters < charactersAtOnce) continue;
        const [batch, isFirst] = [texts, !hasBegun];
        await fence.commit((session) => records().appendUnfinished(session, list, batch, isFirst));
        [texts, characters, hasBegun] = [[], 0, true];
      }
      await fence.commit(async (session) => {
        const table = records();
        if (hasBegun) {
          await table.appendUnfinished(session, list, texts, false);
          await table.complete(session, list);
          return;
        }
        if (isReplaced) await table.remove(session, list);
        await table.appendTexts(session, list, texts);
      });
    },
  };
}

/** Whether an error says nothing of the rows. */
function isTemporary(error: unknown): boolean {
  return SluiceError.is(error) && (error.code === 'lock' || error.details['isTemporary'] === true);
}
