import type { StateLog } from '../../stateLog.js';
import type { Outage } from '../../outage.js';
import type { Release, StateUse } from './lockQueue.js';

/** Stores small records durably, by name. A record is replaced completely or not at all. */
export interface StateStore {
  /** The store's folder. Absent if it is not on a disk: then anybody may read records and logs without the lock. */
  readonly folder?: string | undefined;
  /**
   * Locks the state. An export (the default) waits for other exports of this copy of the library in this thread; a
   * watch waits only for a watch that is closing.
   *
   * @param signal cancels the wait; if it aborts later, the holder is closing.
   * @param onOutage called until the release, like `SinkContext.onOutage`, while the state's storage is unavailable.
   * @throws LockError if another process, thread or copy holds the lock for the same use; for a watch, also if another
   * watch of this copy holds it and is not closing. `signal.reason` if the wait is cancelled.
   */
  lock(signal: AbortSignal, use?: StateUse, onOutage?: (outage: Outage | undefined) => void): Promise<Release>;
  /** Returns a record; `undefined` if there is none. @throws CheckpointError if it can't be read. */
  load(name: string): Promise<unknown>;
  /** Resolves when the record is durable. */
  save(name: string, record: object): Promise<void>;
  /** Resolves when the record is durably removed, or if there was none. */
  remove(name: string): Promise<void>;
  /** A log of that name, created with its first record. Only the lock's holder uses it. */
  log(name: string): StateLog;
}
