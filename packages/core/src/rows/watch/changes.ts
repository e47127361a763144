import { concatMap, defer, type OperatorFunction } from 'rxjs';
import { checkOptions } from '../../checks.js';
import type { RowKey } from '../source/definition.js';
import { newId } from '../../identifiers.js';
import type { Snapshot } from '../operators/poll.js';
import { applyDelta, toChanges } from './acceptedSnapshot.js';
import type { Change, Difference } from './change.js';
import { checkProject, comparisonOptionNames, fieldsBetween, type ComparisonOptions } from './comparisonOptions.js';
import { rowKey, SnapshotRows } from './snapshotRows.js';
import { judgeRemovals } from './removals.js';
import { WalkComparison } from './walkComparison.js';

/** Options of {@link changes}. */
export interface ChangesOptions<T> extends ComparisonOptions<T> {
  readonly key: (row: T) => RowKey;
}

/** Every snapshot is trusted: a row that is not in it is removed. */
const removeAtOnce = { confirmations: 1, holdAbove: 1, holdWalks: 1, holdFor: 0, acceptRemovals: true } as const;

/**
 * Emits the differences between snapshots: `initial` for each row of the first one, then `changed`, `added` and
 * `removed`. If a snapshot lists a key twice, the last row counts.
 *
 * Each snapshot is trusted, unless the API said that rows are missing from it, so a row that an API omits once causes a
 * `removed` and an `added`. Use `watch` to confirm removals and to resume after restarts. A row without a key ends the
 * flow with a DecodeError, a misspelt `project` with a ConfigError.
 *
 * @example
 * poll(client.streams.list(), { every: 30_000 })
 *   .pipe(changes({ key: ({ id }) => id, ignore: ['updatedAt'] }))
 *   .subscribe(({ type, key, fields }) => console.log(type, key, fields));
 */
export function changes<T>(options: ChangesOptions<T>): OperatorFunction<Snapshot<T>, Change<T>> {
  checkOptions('changes()', options, comparisonOptionNames);
  const fields = fieldsBetween(options);
  return (snapshots) =>
    defer(() => {
      const rows = new SnapshotRows<T>();
      let generation = 0;
      return snapshots.pipe(
        concatMap(({ rows: listed, observedAt, isIncomplete = false }) => {
          if (rows.size === 0) checkProject(options.project, listed);
          const walk = new WalkComparison(rows, fields);
          for (const row of listed) walk.add(rowKey(options.key, row), row);
          const { differences } = judgeRemovals(walk.end(), new Map(), { rules: removeAtOnce, now: 0, isIncomplete });
          const isFirst = generation === 0;
          generation += 1;
          const delta = {
            generation,
            scope: newId(),
            observedAt,
            missing: new Map(),
            differences: isFirst ? differences.map(asInitial) : differences,
          };
          applyDelta({ rows }, delta);
          return toChanges(delta, '');
        }),
      );
    });
}

function asInitial<T>(difference: Difference<T>): Difference<T> {
  return difference.type === 'added' ? { ...difference, type: 'initial' } : difference;
}
