import { toChange, type Change, type Difference } from './change.js';
import type { SnapshotRows } from './snapshotRows.js';
import type { WatchedWalk } from '../source/page.js';
import type { Missing } from './removals.js';

/** The accepted rows of a listing, and those of them that are missing. */
export interface AcceptedSnapshot<T> {
  /** The number of accepted snapshots; 0 before the first. */
  readonly generation: number;
  readonly rows: SnapshotRows<T>;
  readonly missing: ReadonlyMap<string, Missing>;
}

/** What a snapshot adds to the previous one. It is durable in the log before any of it is emitted. */
export interface Delta<T> extends WatchedWalk {
  readonly generation: number;
  readonly differences: readonly Difference<T>[];
  readonly missing: ReadonlyMap<string, Missing>;
}

/** Applies a delta. Modifies the rows, so the previous snapshot is gone. */
export function applyDelta<T>(
  rows: SnapshotRows<T>,
  { generation, differences, missing }: Delta<T>,
): AcceptedSnapshot<T> {
  for (const { type, key, after } of differences) {
    if (type === 'removed') rows.delete(key);
    else rows.set(key, after);
  }
  return { generation, rows, missing };
}

export function toChanges<T>({ generation, observedAt, differences }: Delta<T>, watch: string): Change<T>[] {
  return differences.map((difference) => toChange(difference, { watch, generation, observedAt }));
}

/** A delta as plain JSON, without the previous rows, which are in the snapshot that it applies to. */
export function encodeDelta<T>({ generation, observedAt, isIncomplete, differences, missing }: Delta<T>): object {
  return {
    generation,
    observedAt,
    ...(isIncomplete && { isIncomplete }),
    differences: differences.map(({ type, key, after, fields }) =>
      type === 'removed' ? [type, key] : type === 'changed' ? [type, key, after, fields] : [type, key, after],
    ),
    missing: encodeMissing(missing),
  };
}

export function encodeMissing(missing: ReadonlyMap<string, Missing>): object {
  return Object.fromEntries([...missing].map(([key, { walks, since, isHeld }]) => [key, [walks, since, isHeld]]));
}

/** The walk of a delta, or of a snapshot. */
export function walkOf({ observedAt, isIncomplete }: WatchedWalk): WatchedWalk {
  return { observedAt, ...(isIncomplete && { isIncomplete }) };
}
