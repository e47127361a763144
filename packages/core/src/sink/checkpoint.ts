import { CheckpointError } from '../errors.js';
import { isPosition, type Position } from '../position.js';
import { isCount, isRecord } from '../record.js';
import type { Json } from '../source/definition.js';
import { LockQueue, type Release } from './lockQueue.js';

/** The durable record "all rows up to this position are in the sink, up to this place". */
export interface Checkpoint {
  readonly v: 1;
  /** The run that began the export, for people who compare logs. */
  readonly runId: string;
  /** Of the source and the sink together; a checkpoint of another plan is refused. */
  readonly planHash: string;
  readonly position: Position;
  /** Rows and pages in the sink; an operator on pages may have made fewer or more rows than the walk gave out. */
  readonly rows: number;
  readonly pages: number;
  /** Where the sink goes on; absent until it was opened for the first time. */
  readonly place?: Json;
  /** Everything is written; only the last step, putting the target in place, may be missing. */
  readonly isSealed?: true;
}

/** Keeps small records durably, by name. A record is replaced whole or not at all. */
export interface StateStore {
  /**
   * Waits for other holders in this process, and refuses when there is one in another.
   *
   * @throws LockError if another process holds it; `signal.reason` if the wait is aborted.
   */
  lock(signal: AbortSignal): Promise<Release>;
  /** The record, or `undefined` if there is none. @throws CheckpointError if there is one that can't be read. */
  load(name: string): Promise<unknown>;
  /** Resolves when the record is durable. */
  save(name: string, record: object): Promise<void>;
  remove(name: string): Promise<void>;
}

/**
 * State that lives as long as the process: enough to go on after an error, not after a crash.
 *
 * @example
 * const state = memoryState();
 * await exportTo(source, sink, { state }).run().catch(wait);
 * await exportTo(source, sink, { state }).run();   // goes on behind the last committed page
 */
export function memoryState(): StateStore {
  const records = new Map<string, string>();
  const queue = new LockQueue();
  return {
    lock: (signal) => queue.acquire(signal),
    load(name) {
      const record = records.get(name);
      return Promise.resolve(record === undefined ? undefined : JSON.parse(record));
    },
    save(name, record) {
      // As text, so that nobody's later change reaches it and only plain JSON gets in.
      records.set(name, JSON.stringify(record));
      return Promise.resolve();
    },
    remove(name) {
      records.delete(name);
      return Promise.resolve();
    },
  };
}

/** Reads a checkpoint that a store gave back. @throws CheckpointError if it is none, is newer than we are, or of another plan. */
export function decodeCheckpoint(record: unknown, planHash: string): Checkpoint {
  if (!isCheckpoint(record)) {
    const isNewer = isRecord(record) && typeof record['v'] === 'number' && record['v'] > 1;
    throw new CheckpointError(
      isNewer
        ? 'The checkpoint was written by a newer version of Sluice. Use that version, or start over with restart.'
        : "The checkpoint can't be read. Start over with restart: nothing was changed.",
    );
  }
  if (record.planHash !== planHash) {
    throw new CheckpointError(
      'The checkpoint belongs to another plan: other owners, filters, columns or page size. Run it as before, or start over with restart: nothing was changed.',
    );
  }
  return record;
}

function isCheckpoint(record: unknown): record is Checkpoint {
  return (
    isRecord(record) &&
    record['v'] === 1 &&
    typeof record['runId'] === 'string' &&
    typeof record['planHash'] === 'string' &&
    isCount(record['rows']) &&
    isCount(record['pages']) &&
    isPosition(record['position'])
  );
}
