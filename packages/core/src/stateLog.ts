/** Durable records in order, e.g. the changes of a watch. On a disk, only their owner can read them. */
export interface StateLog {
  /** Oldest first, without a record that a crash left incomplete. @throws CheckpointError if one is damaged. */
  read(): AsyncIterable<unknown>;
  /** Resolves when the record is durable. */
  append(record: object): Promise<void>;
  /** Replaces all records at once, or none. */
  replace(records: Iterable<object>): Promise<void>;
  /** Size of the records; 0 before `read`. */
  readonly bytes: number;
  /** Rejects, without changes, where `replace` would refuse a foreign log. Default: never. @throws CheckpointError. */
  checkReplaceable?(): Promise<void>;
  /** Removes the log, if it exists. */
  remove(): Promise<void>;
  /** Closes the log. Appended records are durable already. */
  close(): Promise<void>;
}
