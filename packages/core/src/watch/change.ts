import { hashOf } from '../source/fingerprint.js';

interface Observed {
  /** The same for the same change, however often it is given out; another one for every other change. */
  readonly id: string;
  /** What tells the row from all others. */
  readonly key: string;
  /** Counts the snapshots that were accepted, from 1. */
  readonly generation: number;
  /** When the walk that showed it ended, by our clock: ISO 8601, UTC. */
  readonly observedAt: string;
}

/** The row was there when the watch began (`initial`), or came later (`added`). */
export interface Added<T> extends Observed {
  readonly type: 'initial' | 'added';
  readonly before: null;
  readonly after: T;
  readonly fields: readonly [];
}

/** The row has other values: `fields` are the paths of those that differ, e.g. `status` or `advancedOptions.includeInputs`. */
export interface Updated<T> extends Observed {
  readonly type: 'changed';
  readonly before: T;
  readonly after: T;
  readonly fields: readonly string[];
}

/** The row is gone; `before` is the last that was known of it. */
export interface Removed<T> extends Observed {
  readonly type: 'removed';
  readonly before: T;
  readonly after: null;
  readonly fields: readonly [];
}

/** One difference between two accepted snapshots. Folding all of them, in order, gives the snapshot. */
export type Change<T> = Added<T> | Updated<T> | Removed<T>;

/** A change without what only the snapshot as a whole knows. */
export type Difference<T> =
  | {
      readonly type: 'initial' | 'added';
      readonly key: string;
      readonly before: null;
      readonly after: T;
      readonly fields: readonly [];
    }
  | {
      readonly type: 'changed';
      readonly key: string;
      readonly before: T;
      readonly after: T;
      readonly fields: readonly string[];
    }
  | {
      readonly type: 'removed';
      readonly key: string;
      readonly before: T;
      readonly after: null;
      readonly fields: readonly [];
    };

/** Gives a difference its place in the history of a watch. `watch` tells one watch from another. */
export function changeOf<T>(
  difference: Difference<T>,
  {
    watch,
    generation,
    observedAt,
  }: { readonly watch: string; readonly generation: number; readonly observedAt: string },
): Change<T> {
  const named = [watch, generation, difference.key];
  // Twice 53 bits, since one would be too few for ids that are kept for years.
  const id = hashOf(named) + hashOf([...named].reverse());
  return { id, ...difference, generation, observedAt };
}

export const changeColumns = ['id', 'type', 'key', 'fields', 'generation', 'observedAt', 'before', 'after'] as const;
