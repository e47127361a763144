import type { Release, StateUse } from './lockQueue.js';

/** Durable records in order, e.g. the changes of a watch. On a disk nobody but its owner can read them. */
export interface StateLog {
  /** All records, the oldest first. What a crash left half-written is not among them. @throws CheckpointError if one is damaged. */
  read(): AsyncIterable<unknown>;
  /** Resolves when the record is durable. */
  append(record: object): Promise<void>;
  /** Replaces all records by others, all of them or none. */
  replace(records: Iterable<object>): Promise<void>;
  /** Bytes that the records take; 0 before `read`. */
  readonly bytes: number;
  /** Refuses a log that `replace` would refuse, since it is not ours, and touches nothing. Default: none is. @throws CheckpointError. */
  checkReplaceable?(): Promise<void>;
  /** Removes all records and the log itself, if there is one. */
  remove(): Promise<void>;
  /** Lets go of it: what was appended is durable already. */
  close(): Promise<void>;
}

/** Keeps small records durably, by name. A record is replaced whole or not at all. */
export interface StateStore {
  /** Where it is, if that is a folder on a disk. */
  readonly folder?: string;
  /**
   * Waits for other exports in this process (the default use), and refuses when there is one in another process. A watch, which may never
   * end, is only waited for when it is closing.
   *
   * @param signal ends the wait; aborted later, it says that the holder is closing.
   * @throws LockError if another process holds it, or another watch of this one; `signal.reason` if the wait is aborted.
   */
  lock(signal: AbortSignal, use?: StateUse): Promise<Release>;
  /** The record, or `undefined` if there is none. @throws CheckpointError if there is one that can't be read. */
  load(name: string): Promise<unknown>;
  /** Resolves when the record is durable. */
  save(name: string, record: object): Promise<void>;
  /** Resolves when the record is gone for good, also if there was none. */
  remove(name: string): Promise<void>;
  /** A log of that name; nothing is made before its first record. Used by one at a time, who holds the lock. */
  log(name: string): StateLog;
}
