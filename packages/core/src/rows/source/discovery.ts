import type { StateLog } from '../../stateLog.js';
import type { SourceDefinition } from './definition.js';
import type { WalkedWindow } from './increment.js';

/** Where a walk records the partitions that it discovers, so that a later run of the same export has the same ones. */
export interface PartitionLog {
  /** The log of one level: 1 has the rows whose listings the partitions are, 2 the rows above those, and so on. */
  readonly log: (level: number) => StateLog;
  /** Identifies the export: a walk from the start replaces the records of another one. */
  readonly runId: string;
}

/** What a partition is the listing of: a row, a part of its listing, or both. */
export interface ParentRow {
  /** Its key, after those of the rows above it, from the top. */
  readonly path: readonly string[];
  /** What a mark belongs to: the path, and the partition's values if a row has several partitions. */
  readonly mark: readonly string[];
  /** The rows of a partition that is one of several windows. */
  readonly window?: WalkedWindow | undefined;
  /** Names it in errors, without a secret: e.g. `"acme/web" of github.repos`. */
  readonly text: () => string;
}

/** The partitions of one walk, which are unknown before it, e.g. one per row of another listing. */
export interface Discovery<T> extends Pick<SourceDefinition<T>, 'fetch'> {
  /** The number of known partitions. They are durable, so a position may refer to them. */
  readonly count: number;
  /** The parent of a known partition that is not done. */
  parentOf(partition: number): ParentRow | undefined;
  /** Whether a known partition may begin, or must wait until others have ended. Default: it may. */
  mayBegin?(partition: number): boolean;
  /** Finds more partitions, maybe none yet. Resolves with `false` if there are no more. Calls do not overlap. */
  more(): Promise<boolean>;
  /** Called when a partition has no more pages. */
  ended(partition: number): void;
  /** Cancels a pending `more`, and closes what it uses. */
  close(): Promise<void>;
}
