import { ConfigError } from '../errors.js';
import { isRecord } from '../values.js';
import type { RowKey } from '../source/definition.js';
import { differingFields, isPlainlySame } from './differingFields.js';
import { fieldAt, type FieldPath, fieldPaths, pick, without } from './fieldPath.js';

/** How rows are told apart, and when two of them differ. */
export interface ComparisonOptions<T> {
  /**
   * What tells a row from all others, as a whole number or as text that is not empty: a row without it fails the walk. It is also asked
   * for rows that come back from the state, as JSON has them. Default: the key of the source's schema.
   */
  readonly key?: (row: T) => RowKey;
  /** What of a row is compared: some of its fields, or what a function makes of it. Default: all of it. */
  readonly project?: readonly string[] | ((row: T) => unknown);
  /** Fields that are not compared, since they always move, e.g. `last_transaction_timestamp` or `stats.seen`. Default: none. */
  readonly ignore?: readonly string[];
  /** Whether two projections are the same. Default: equal JSON, whatever the order of names. */
  readonly equals?: (before: unknown, after: unknown) => boolean;
}

/** The paths of the fields in which two rows differ, sorted; none if they are the same. */
export type FieldsBetween<T> = (before: T, after: T) => readonly string[];

/** What nearly all rows differ in: one for all of them. */
const none: readonly string[] = [];

/**
 * The comparison that options describe.
 *
 * @param columns the fields that rows are known to have, if anything is known of them.
 * @throws ConfigError if a field is named that no row has, or none is.
 */
export function fieldsBetween<T>(
  { project, ignore = [], equals }: ComparisonOptions<T>,
  columns: readonly string[] = [],
): FieldsBetween<T> {
  const ignored = new Set(ignore);
  const between = equals ? byTheirEquality(equals, ignored) : byValue(ignored);
  if (project === undefined) return between;
  if (typeof project === 'function') return (before, after) => between(project(before), project(after));
  if (project.length === 0)
    throw new ConfigError('project is empty, so no row could ever change. Name some fields, or leave it out.', {
      option: 'project',
    });
  checkFields(project, columns);
  const paths = fieldPaths(project);
  const ofPicked: FieldsBetween<unknown> = (before, after) => between(pick(before, paths), pick(after, paths));
  return equals ? ofPicked : byPath(paths, ignored, ofPicked);
}

function byValue(ignored: ReadonlySet<string>): FieldsBetween<unknown> {
  return (before, after) =>
    isPlainlySame(before, after, ignored) ? none : differingFields(before, after, ignored).toSorted();
}

/** Makes nothing of rows that are the same. */
function byPath(
  paths: readonly FieldPath[],
  ignored: ReadonlySet<string>,
  otherwise: FieldsBetween<unknown>,
): FieldsBetween<unknown> {
  return (before, after) => {
    if (!isRecord(before) || !isRecord(after)) return otherwise(before, after);
    let fields = none;
    for (const each of paths) {
      const [one, other] = [fieldAt(before, each), fieldAt(after, each)];
      if (one !== other) fields = [...fields, ...differingFields(one, other, ignored, each.path)];
    }
    return fields === none ? none : [...new Set(fields)].sort();
  };
}

function byTheirEquality(
  equals: (before: unknown, after: unknown) => boolean,
  ignored: ReadonlySet<string>,
): FieldsBetween<unknown> {
  return (before, after) => {
    if (equals(without(before, ignored), without(after, ignored))) return none;
    const fields = differingFields(before, after, ignored);
    // It may see a difference where ours sees none.
    return fields.length === 0 ? ['*'] : fields.toSorted();
  };
}

/** A field that is not compared may come one day, so only those that are must be known. */
function checkFields(names: readonly string[], columns: readonly string[]): void {
  const unknown = names.find((name) => columns.length > 0 && !columns.includes(name.split('.')[0] ?? name));
  if (unknown === undefined) return;
  throw new ConfigError(`project names the field "${unknown}", which no row has. Available: ${columns.join(', ')}.`, {
    option: 'project',
  });
}
