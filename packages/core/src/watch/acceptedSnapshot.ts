import { changeOf, type Change, type Difference } from './change.js';
import type { SnapshotRows } from './snapshotRows.js';
import type { Missing } from './verdict.js';

/** What is known of a listing: the rows that were accepted, and what is missing of them. */
export interface AcceptedSnapshot<T> {
  /** Counts the snapshots that were accepted; 0 before the first. */
  readonly generation: number;
  readonly rows: SnapshotRows<T>;
  readonly missing: ReadonlyMap<string, Missing>;
}

/** What the next snapshot has that the one before had not: a record of the log, durable before any of it leaves. */
export interface Delta<T> {
  readonly generation: number;
  readonly observedAt: string;
  readonly differences: readonly Difference<T>[];
  readonly missing: ReadonlyMap<string, Missing>;
}

/** The snapshot after a delta. The rows are changed in place: the one before is gone. */
export function applied<T>(rows: SnapshotRows<T>, { generation, differences, missing }: Delta<T>): AcceptedSnapshot<T> {
  for (const { type, key, after } of differences) {
    if (type === 'removed') rows.delete(key);
    else rows.set(key, after);
  }
  return { generation, rows, missing };
}

export function changesOf<T>({ generation, observedAt, differences }: Delta<T>, watch: string): Change<T>[] {
  return differences.map((difference) => changeOf(difference, { watch, generation, observedAt }));
}

/** As plain JSON. What was there before is left out: it is in the snapshot that the delta is applied to. */
export function encodeDelta<T>({ generation, observedAt, differences, missing }: Delta<T>): object {
  return {
    generation,
    observedAt,
    differences: differences.map(({ type, key, after, fields }) =>
      type === 'removed' ? [type, key] : type === 'changed' ? [type, key, after, fields] : [type, key, after],
    ),
    missing: encodeMissing(missing),
  };
}

export function encodeMissing(missing: ReadonlyMap<string, Missing>): object {
  return Object.fromEntries([...missing].map(([key, { walks, since, isHeld }]) => [key, [walks, since, isHeld]]));
}
