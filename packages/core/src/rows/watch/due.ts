import { isCount, isRecord } from '../../values.js';

interface Found<T> {
  /** The same for the same event, however often it is emitted; unique otherwise. */
  readonly id: string;
  /** The rule's name. */
  readonly rule: string;
  /** The key of the row. */
  readonly key: string;
  /** The row as the walk listed it; if it was removed, as it was last known. */
  readonly row: T;
  /**
   * When the rule began to hold, ISO 8601, UTC. Time in which nobody looked lies between both. `earliest` is `null` if it
   * held already when the watch looked first.
   */
  readonly began: { readonly earliest: string | null; readonly latest: string };
  /** How often the row was due, with this time. Above 1 only for a rule with `again`. */
  readonly times: number;
  /** Until when one can act, for a rule with a `deadline`, by the earliest beginning. `null` if that is unknown. */
  readonly actBefore?: string | null;
  /** The number of accepted snapshots, from 1. */
  readonly generation: number;
  /** When the walk that found it ended, by our clock: ISO 8601, UTC. */
  readonly observedAt: string;
}

/** A rule has held for a row for its time. */
export interface RowDue<T> extends Found<T> {
  readonly type: 'due';
}

/** It no longer does. */
export interface RowResolved<T> extends Found<T> {
  readonly type: 'resolved';
  /**
   * Why: `changed`: the rule no longer holds for the row. `removed`: the row is gone. `rule`: the rule is gone, or another
   * one.
   */
  readonly why: 'changed' | 'removed' | 'rule';
}

/**
 * A rule of a watch holds for a row for so long that it is due, or no longer does. Unlike a change, it is no difference
 * between two snapshots, so mirrors and histories leave it out.
 */
export type Due<T> = RowDue<T> | RowResolved<T>;

export type WhyResolved = RowResolved<never>['why'];

type Observation = 'id' | 'generation' | 'observedAt';

/** An event of a rule before it gets an id, a generation and a time. */
export type DueFound<T> = Omit<RowDue<T>, Observation> | Omit<RowResolved<T>, Observation>;

/** Whether a row is an event of a rule of a `watch`, from any copy of the library. */
export function isDue(row: unknown): row is Due<unknown> {
  if (!isRecord(row) || (row['type'] !== 'due' && row['type'] !== 'resolved')) return false;
  const texts = [row['id'], row['key'], row['rule'], row['observedAt']];
  return isCount(row['generation']) && texts.every((text) => typeof text === 'string') && isRecord(row['began']);
}
