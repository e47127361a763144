import { SluiceError, type Page, type Position } from '@sluice/core';
import type { Claim, ClaimVerdict } from '@sluice/core/kit';
import { readNumber, type Session } from '../sql/database.js';
import { RowBuffer } from '../sql/rowBuffer.js';
import type { StagingTable } from '../sql/stagingTable.js';
import type { TableConnection } from '../sql/tableConnection.js';
import type { TableShape } from '../sql/tableShape.js';
import type { ClaimRequest } from './runTable.js';

/** The tables of runs, as SQL has them. */
export interface RunTables {
  readonly runs: string;
  readonly plans: string;
  readonly partitions: string;
}

interface ClaimParts<T> {
  readonly connection: TableConnection;
  readonly tables: RunTables;
  readonly staging: StagingTable;
  readonly shape: TableShape<T>;
  /** Makes the rows of all partitions those of the table. Returns how many others stay because some may be missing. */
  readonly publish: (session: Session, rows: number, isIncomplete: boolean) => Promise<number>;
}

/**
 * A claim as its partition's record has it.
 *
 * Each transaction adds rows, and then changes the partition's record where claim and number of saves are those that it
 * knows. If none matches, all of it is rolled back. The record comes last, since its lock would keep others off while a
 * worker is stopped that sends rows.
 */
export class TableClaim<T> implements Claim<T> {
  readonly restarts: number;
  readonly startAt: Position | undefined;
  readonly #request: ClaimRequest<T>;
  readonly #parts: ClaimParts<T>;
  readonly #buffer: RowBuffer<T>;
  #position: string | undefined;
  #rows: number;
  #isIncomplete: boolean;
  #saves = 0;
  /** What ended the claim. */
  #end: Exclude<ClaimVerdict, 'accepted'> | undefined;

  /** @param found what the partition has of earlier claims */
  private constructor(request: ClaimRequest<T>, parts: ClaimParts<T>, found: Readonly<Record<string, unknown>>) {
    this.#request = request;
    this.#parts = parts;
    this.#buffer = new RowBuffer(parts.shape);
    this.#position = typeof found['position'] === 'string' ? found['position'] : undefined;
    // eslint-disable-next-line @typescript-eslint/consistent-type-assertions -- who walks there checks it, as any position
    this.startAt = this.#position === undefined ? undefined : (JSON.parse(this.#position) as Position);
    this.restarts = readNumber(found['restarts']);
    this.#rows = readNumber(found['rows']);
    this.#isIncomplete = found['incomplete'] === true;
  }

  /** Takes the partition from whoever has it, unless that has finished it. */
  static async begin<T>(
    session: Session,
    request: ClaimRequest<T>,
    parts: ClaimParts<T>,
  ): Promise<TableClaim<T> | 'done'> {
    const { run, partition, id, restarts } = request;
    const { partitions } = parts.tables;
    let [found] = await session.rows(
      `INSERT INTO ${partitions} AS known (run, partition, claim, state, saves, rows, restarts, incomplete) VALUES (?, ?, ?, 'open', 0, 0, 0, false)
       ON CONFLICT (run, partition) DO UPDATE SET claim = excluded.claim, saves = 0 WHERE known.state = 'open'
       RETURNING position, rows, restarts, incomplete`,
      run,
      BigInt(partition),
      id,
    );
    if (!found) return 'done';
    if (restarts !== undefined) {
      await parts.staging.dropPartition(session, partition);
      [found] = await session.rows(
        `UPDATE ${partitions} SET position = NULL, rows = 0, incomplete = false, restarts = ? WHERE run = ? AND partition = ? RETURNING position, rows, restarts, incomplete`,
        BigInt(restarts),
        run,
        BigInt(partition),
      );
    }
    return found ? new TableClaim(request, parts, found) : 'done';
  }

  /** Saves the rows, too, if there are many. */
  async write({ items, position, isIncomplete }: Page<T>): Promise<void> {
    if (this.#end) return;
    for (const item of items) {
      this.#buffer.add(item, this.#request.partition, this.#rows + 1);
      this.#rows += 1;
    }
    this.#position = JSON.stringify(position);
    if (isIncomplete) this.#isIncomplete = true;
    if (this.#buffer.isFull) await this.save();
  }

  save(): Promise<ClaimVerdict> {
    return this.#transact('open');
  }

  commit(): Promise<ClaimVerdict> {
    return this.#transact('done');
  }

  /** The connection is the run's. */
  close(): Promise<void> {
    return Promise.resolve();
  }

  async #transact(state: 'open' | 'done'): Promise<ClaimVerdict> {
    if (this.#end) return this.#end;
    let attempts = 0;
    try {
      await this.#parts.connection.transactInTurn(async (session) => {
        attempts += 1;
        // The transaction of an attempt before this one may be committed, and only its response was lost.
        if (attempts > 1 && (await this.#isSaved(session))) return;
        if (this.#buffer.rows.length > 0) await this.#parts.staging.insert(session, this.#buffer.rows);
        await this.#advance(session, state);
        await (state === 'done' ? this.#finish(session) : this.#checkOpen(session));
      });
    } catch (error) {
      const end = error instanceof ClaimEnd ? error.verdict : await this.#endBehind(error);
      if (end === undefined) throw error;
      this.#end = end;
      this.#buffer.clear();
      return end;
    }
    this.#saves += 1;
    this.#buffer.clear();
    return 'accepted';
  }

  /** Whether the transaction that is about to run was committed. Waits until it is, or never will be. */
  async #isSaved(session: Session): Promise<boolean> {
    const [found] = await session.rows(
      `SELECT claim, saves FROM ${this.#parts.tables.partitions} WHERE run = ? AND partition = ? FOR UPDATE`,
      ...this.#place,
    );
    return found?.['claim'] === this.#request.id && readNumber(found['saves']) === this.#saves + 1;
  }

  /** Changes the partition's record, from what this claim knows of it. */
  async #advance(session: Session, state: 'open' | 'done'): Promise<void> {
    const changed = await session.run(
      `UPDATE ${this.#parts.tables.partitions} SET saves = saves + 1, position = ?, rows = ?, incomplete = ?, state = ? WHERE run = ? AND partition = ? AND claim = ? AND saves = ? AND state = 'open'`,
      this.#position ?? null,
      BigInt(this.#rows),
      String(this.#isIncomplete),
      state,
      ...this.#place,
      this.#request.id,
      BigInt(this.#saves),
    );
    if (changed !== 1) throw new ClaimEnd('refused');
  }

  /** Counts the partition. The lock of the run's record lets cancels and other commits wait: they are all in one order. */
  async #finish(session: Session): Promise<void> {
    const { run } = this.#request;
    const { runs } = this.#parts.tables;
    const [found] = await session.rows(
      `UPDATE ${runs} SET done = done + 1, rows = rows + ?, incomplete = incomplete OR ? WHERE run = ? AND state = 'open' RETURNING done = partitions AS last, rows, incomplete`,
      BigInt(this.#rows),
      String(this.#isIncomplete),
      run,
    );
    if (!found) throw new ClaimEnd('cancelled');
    if (found['last'] !== true) return;
    const notRemoved = await this.#parts.publish(session, readNumber(found['rows']), found['incomplete'] === true);
    await session.run(`UPDATE ${runs} SET state = 'finished', not_removed = ? WHERE run = ?`, BigInt(notRemoved), run);
  }

  async #checkOpen(session: Session): Promise<void> {
    const { run } = this.#request;
    const [found] = await session.rows(`SELECT state FROM ${this.#parts.tables.runs} WHERE run = ?`, run);
    if (found?.['state'] === 'cancelled') throw new ClaimEnd('cancelled');
  }

  /** Whether it was the end of the claim that made a transaction fail, e.g. since the staging table is gone. */
  async #endBehind(error: unknown): Promise<Exclude<ClaimVerdict, 'accepted'> | undefined> {
    if (!SluiceError.is(error, 'sink')) return undefined;
    try {
      return await this.#parts.connection.transactInTurn(async (session) => {
        await this.#checkOpen(session);
        const [found] = await session.rows(
          `SELECT 1 AS found FROM ${this.#parts.tables.partitions} WHERE run = ? AND partition = ? AND claim = ? AND saves = ? AND state = 'open'`,
          ...this.#place,
          this.#request.id,
          BigInt(this.#saves),
        );
        return found ? undefined : 'refused';
      });
    } catch (fault) {
      // What made the transaction fail says more than what makes this fail.
      return fault instanceof ClaimEnd ? fault.verdict : undefined;
    }
  }

  get #place(): readonly [string, bigint] {
    return [this.#request.run, BigInt(this.#request.partition)];
  }
}

/** Rolls a transaction back, since the claim has ended. */
class ClaimEnd extends Error {
  readonly verdict: Exclude<ClaimVerdict, 'accepted'>;

  constructor(verdict: Exclude<ClaimVerdict, 'accepted'>) {
    super(`The claim is ${verdict}.`);
    this.verdict = verdict;
  }
}
