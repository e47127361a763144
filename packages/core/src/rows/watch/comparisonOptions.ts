import { hintFor, nearestName } from '../../checks.js';
import { ConfigError } from '../../errors.js';
import type { RowKey } from '../source/definition.js';
import { isRecord } from '../../values.js';
import { differingFields, isPlainlySame } from './differingFields.js';
import { fieldPaths, pick, without } from './fieldPath.js';

/** How rows are identified and compared. */
export interface ComparisonOptions<T> {
  /**
   * Returns the key that identifies a row: an integer or non-empty text. A row without a key fails the walk. The watch
   * also calls this with rows restored from JSON. Default: the key of the source's schema.
   */
  readonly key?: ((row: T) => RowKey) | undefined;
  /** What to compare: some fields, or the result of a function. Default: the whole row. */
  readonly project?: readonly string[] | ((row: T) => unknown) | undefined;
  /**
   * Fields to ignore because they always change, e.g. `updatedAt` or `stats.seen`. A field that no row has yet is
   * allowed, so a misspelt name is not an error. Default: none.
   */
  readonly ignore?: readonly string[] | undefined;
  /** Whether two projections are equal. Default: equal JSON, in any order of names. */
  readonly equals?: ((before: unknown, after: unknown) => boolean) | undefined;
}

/** The names of these options. */
export const comparisonOptionNames = {
  key: true,
  project: true,
  ignore: true,
  equals: true,
} as const satisfies Readonly<Record<keyof ComparisonOptions<never>, true>>;

/** Returns the sorted paths of the fields in which two rows differ; empty if they are equal. */
export type FieldsBetween<T> = (before: T, after: T) => readonly string[];

/** The usual result, shared by all rows. */
const none: readonly string[] = [];

/**
 * Creates the comparison that the options describe.
 *
 * @param columns the fields of the rows, if known
 * @throws ConfigError if `project` is empty or names an unknown field.
 */
export function fieldsBetween<T>(
  { project, ignore = [], equals }: ComparisonOptions<T>,
  columns: readonly string[] = [],
): FieldsBetween<T> {
  const ignored = new Set(ignore);
  const between = equals ? byEquals(equals, ignored) : byValue(ignored);
  if (project === undefined) return between;
  if (typeof project === 'function') return (before, after) => between(project(before), project(after));
  if (project.length === 0)
    throw new ConfigError('project is empty, so no row could ever change. Name some fields, or leave it out.', {
      option: 'project',
    });
  checkFields(project, columns);
  const paths = fieldPaths(project);
  return (before, after) => between(pick(before, paths), pick(after, paths));
}

function byValue(ignored: ReadonlySet<string>): FieldsBetween<unknown> {
  return (before, after) => (isPlainlySame(before, after, ignored) ? none : differingFields(before, after, ignored));
}

function byEquals(
  equals: (before: unknown, after: unknown) => boolean,
  ignored: ReadonlySet<string>,
): FieldsBetween<unknown> {
  return (before, after) => {
    if (equals(without(before, ignored), without(after, ignored))) return none;
    const fields = differingFields(before, after, ignored);
    // `equals` may see a difference that JSON does not show.
    return fields.length === 0 ? ['*'] : fields;
  };
}

/** Only compared fields must be known: an ignored one may appear later. */
function checkFields(names: readonly string[], columns: readonly string[]): void {
  const unknown = names.find((name) => columns.length > 0 && !columns.includes(firstName(name)));
  if (unknown === undefined) return;
  const hint = hintFor(firstName(unknown), columns);
  throw new ConfigError(`project names the field "${unknown}", which no row has. ${hint}`, { option: 'project' });
}

/**
 * Checks `project` against rows without a schema. Other rows may have more fields, so `project` is refused only if
 * these rows have none of its fields, and have a field of a similar name.
 *
 * @throws ConfigError if a misspelt name keeps the comparison from ever finding a change.
 */
export function checkProject(project: ComparisonOptions<never>['project'], rows: readonly unknown[]): void {
  if (project === undefined || typeof project === 'function') return;
  const columns = [...new Set(rows.flatMap((row) => (isRecord(row) ? Object.keys(row) : [])))];
  const names = project.map(firstName);
  const isMisspelt = (name: string): boolean => nearestName(name, columns) !== undefined;
  const isKnown = [...project, ...names].some((name) => columns.includes(name));
  if (!isKnown) checkFields(names.filter(isMisspelt), columns);
}

function firstName(path: string): string {
  return path.split('.')[0] ?? path;
}
