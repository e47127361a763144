import { hashOf } from '../source/fingerprint.js';
import type { Change, Difference } from './change.js';
import type { Due, DueFound } from './due.js';
import type { SnapshotRows } from './snapshotRows.js';
import type { WatchedWalk } from '../source/page.js';
import type { Missing } from './removals.js';
import { applyRules, type RuleBook, type RuleChanges } from './ruleBook.js';

/** The accepted rows of a listing, and which of them are missing. */
export interface AcceptedSnapshot<T> {
  /** The number of accepted snapshots; 0 before the first. */
  readonly generation: number;
  readonly rows: SnapshotRows<T>;
  readonly missing: ReadonlyMap<string, Missing>;
  /** Absent while no rule was ever given. */
  readonly rules?: RuleBook<T> | undefined;
}

/** The differences of a snapshot from the previous one. It is durable in the log before any of it is emitted. */
export interface Delta<T> extends WatchedWalk {
  readonly generation: number;
  /** Random, so that a restored or copied state gives no id twice. Absent in deltas that earlier versions staged. */
  readonly scope?: string | undefined;
  readonly differences: readonly Difference<T>[];
  readonly missing: ReadonlyMap<string, Missing>;
  /** What the walk has changed in the rules' book. Absent without rules. */
  readonly rules?: RuleChanges<T> | undefined;
  /** What rules have found, which is emitted after the differences. */
  readonly due?: readonly DueFound<T>[] | undefined;
}

/** How many changes and events of rules a delta has. */
export function sizeOf({ differences, due = [] }: Pick<Delta<unknown>, 'differences' | 'due'>): number {
  return differences.length + due.length;
}

/** Applies a delta. Modifies the rows, so the previous snapshot is gone. */
export function applyDelta<T>(
  { rows, rules }: Pick<AcceptedSnapshot<T>, 'rows' | 'rules'>,
  { generation, differences, missing, rules: changes }: Delta<T>,
): AcceptedSnapshot<T> {
  for (const { type, key, after } of differences) {
    if (type === 'removed') rows.delete(key);
    else rows.set(key, after);
  }
  return { generation, rows, missing, rules: changes ? applyRules(rules, changes) : rules };
}

/**
 * The changes of a delta between two of their numbers. An id is the scope of the delta and the change's number in it.
 *
 * @param history identifies the changes of a delta that an earlier version staged
 */
export function toChanges<T>(
  { generation, scope, observedAt, differences }: Delta<T>,
  history: string,
  { from = 0, to = differences.length } = {},
): Change<T>[] {
  return differences.slice(from, to).map((difference, index) => {
    const id = scope === undefined ? oldId([history, generation, difference.key]) : `${scope}-${from + index}`;
    return { id, ...difference, generation, observedAt };
  });
}

/** The changes of a delta, then what its rules have found, between two of their numbers. */
export function toEvents<T>(
  delta: Delta<T>,
  history: string,
  { from = 0, to = Infinity } = {},
): (Change<T> | Due<T>)[] {
  const { generation, scope = '', observedAt, differences, due = [] } = delta;
  const first = Math.max(0, from - differences.length);
  const found = due.slice(first, Math.max(0, to - differences.length)).map((each, index): Due<T> => {
    return { id: `${scope}-${differences.length + first + index}`, ...each, generation, observedAt };
  });
  return [...toChanges(delta, history, { from, to }), ...found];
}

/** Two 53-bit hashes, since one is too short for ids that are stored for years. */
function oldId(named: readonly (string | number)[]): string {
  return hashOf(named) + hashOf([...named].reverse());
}

/** The scope for the ids of records that an operator makes of a delta's changes. */
export function scopeOf(
  { generation, scope }: Pick<Delta<unknown>, 'generation' | 'scope'>,
  history: string,
  from: number,
): string {
  return `${scope ?? `${history}-${generation}`}/${from}`;
}

/** A delta as plain JSON, without the previous rows, which are in the snapshot that it applies to. */
export function encodeDelta<T>({
  generation,
  scope,
  observedAt,
  isIncomplete,
  differences,
  missing,
  rules,
  due,
}: Delta<T>): object {
  return {
    generation,
    scope,
    observedAt,
    ...(isIncomplete && { isIncomplete }),
    differences: differences.map(({ type, key, after, fields }) =>
      type === 'removed' ? [type, key] : type === 'changed' ? [type, key, after, fields] : [type, key, after],
    ),
    missing: encodeMissing(missing),
    ...(rules && { rules }),
    ...(due && due.length > 0 && { due }),
  };
}

export function encodeMissing(missing: ReadonlyMap<string, Missing>): object {
  return Object.fromEntries([...missing].map(([key, { walks, since, isHeld }]) => [key, [walks, since, isHeld]]));
}

/** The walk of a delta or a snapshot. */
export function walkOf({ observedAt, isIncomplete }: WatchedWalk): WatchedWalk {
  return { observedAt, ...(isIncomplete && { isIncomplete }) };
}
