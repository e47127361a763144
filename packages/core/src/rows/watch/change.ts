import type { RowEvent } from '../source/definition.js';
import { isCount, isList, isRecord } from '../../values.js';

interface Observed {
  /** The same for the same change, however often it is emitted; unique otherwise. */
  readonly id: string;
  /** The key of the row. */
  readonly key: string;
  /** The number of accepted snapshots, from 1. */
  readonly generation: number;
  /** When the walk that found the change ended, by our clock: ISO 8601, UTC. */
  readonly observedAt: string;
}

/** The row existed when the watch began (`initial`), or is new (`added`). */
export interface Added<T> extends Observed {
  readonly type: 'initial' | 'added';
  readonly before: null;
  readonly after: T;
  readonly fields: readonly [];
}

/** The row has changed: `fields` are the paths of the values that differ, e.g. `status` or `stats.seen`. */
export interface Updated<T> extends Observed {
  readonly type: 'changed';
  readonly before: T;
  readonly after: T;
  readonly fields: readonly string[];
}

/** The row is gone; `before` is its last known value. */
export interface Removed<T> extends Observed {
  readonly type: 'removed';
  readonly before: T;
  readonly after: null;
  readonly fields: readonly [];
}

/** One difference between two accepted snapshots. Applied in order, all changes yield the snapshot. */
export type Change<T> = Added<T> | Updated<T> | Removed<T>;

/** A change before it gets an id, a generation and a time. */
export type Difference<T> = Omit<Added<T>, Observation> | Omit<Updated<T>, Observation> | Omit<Removed<T>, Observation>;
type Observation = 'id' | 'generation' | 'observedAt';

/** A change, or an event of a rule, as an event. */
export function eventOfChange({ id, key, type, observedAt }: Observed & { readonly type: string }): RowEvent {
  return { id, key, type, timestamp: observedAt };
}

const types: ReadonlySet<unknown> = new Set<Change<unknown>['type']>(['initial', 'added', 'changed', 'removed']);

/**
 * Whether a row is a change of `watch` or `changes`, from any copy of the library. Sinks use it where no schema says
 * so: after an operator, or in `writeTo`.
 */
export function isChange(row: unknown): row is Change<unknown> {
  if (!isRecord(row) || !types.has(row['type']) || !isCount(row['generation'])) return false;
  const texts = [row['id'], row['key'], row['observedAt']];
  return texts.every((text) => typeof text === 'string') && isList(row['fields']) && 'before' in row && 'after' in row;
}

export const changeColumns = ['id', 'type', 'key', 'fields', 'generation', 'observedAt', 'before', 'after'] as const;
