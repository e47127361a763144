import { ConfigError } from '../errors.js';
import { isRecord } from '../record.js';

/** How rows are told apart, and when two of them differ. */
export interface ComparisonOptions<T> {
  /** What tells a row from all others. Default: the key of the source's schema. */
  readonly key?: (row: T) => string;
  /** What of a row is compared: some of its fields, or what a function makes of it. Default: all of it. */
  readonly project?: readonly string[] | ((row: T) => unknown);
  /** Fields that are not compared, since they always move, e.g. `last_transaction_timestamp` or `stats.seen`. Default: none. */
  readonly ignore?: readonly string[];
  /** Whether two projections are the same. Default: equal JSON, whatever the order of names. */
  readonly equals?: (before: unknown, after: unknown) => boolean;
}

/** The paths of the fields in which two rows differ, sorted; none if they are the same. */
export type FieldsBetween<T> = (before: T, after: T) => readonly string[];

/**
 * The comparison that options describe.
 *
 * @param columns the fields that rows are known to have, if anything is known of them.
 * @throws ConfigError if a field is named that no row has.
 */
export function fieldsBetween<T>(
  { project, ignore = [], equals }: ComparisonOptions<T>,
  columns: readonly string[] = [],
): FieldsBetween<T> {
  const picked = typeof project === 'function' ? undefined : project;
  if (picked) checkFields(picked, columns);
  const ignored = new Set(ignore);
  const paths = picked?.map((path) => ({ path, names: path.split('.') }));
  const projected = typeof project === 'function' ? project : (row: T) => pick(row, paths);
  return (before, after) => {
    const [one, other] = [projected(before), projected(after)];
    if (equals?.(without(one, '', ignored), without(other, '', ignored))) return [];
    const fields: string[] = [];
    collect(one, other, '', ignored, fields);
    // Somebody else's idea of equality may see a difference where ours sees none.
    return fields.length === 0 && equals ? ['*'] : fields.sort();
  };
}

/** A field that is not compared may come one day, so only those that are must be known. */
function checkFields(names: readonly string[], columns: readonly string[]): void {
  const unknown = names.find((name) => columns.length > 0 && !columns.includes(name.split('.')[0] ?? name));
  if (unknown === undefined) return;
  throw new ConfigError(`project names the field "${unknown}", which no row has. There are: ${columns.join(', ')}.`, {
    option: 'project',
  });
}

/** A field, by its name or by its path. */
interface FieldPath {
  readonly path: string;
  readonly names: readonly string[];
}

/** Some fields of a row, each under its path. */
function pick(row: unknown, paths: readonly FieldPath[] | undefined): unknown {
  if (!paths || !isRecord(row)) return row;
  const fields = paths.map(({ path, names }): [string, unknown] => [
    path,
    // A field's own name may hold a dot.
    Object.hasOwn(row, path)
      ? row[path]
      : names.reduce<unknown>((value, name) => (isRecord(value) ? own(value, name) : undefined), row),
  ]);
  return Object.fromEntries(fields.filter(([, value]) => value !== undefined));
}

function without(value: unknown, path: string, ignored: ReadonlySet<string>): unknown {
  if (ignored.size === 0 || !isRecord(value) || value instanceof Date) return value;
  const kept = Object.entries(value).filter(([name]) => !ignored.has(pathOf(path, name)));
  return Object.fromEntries(kept.map(([name, field]) => [name, without(field, pathOf(path, name), ignored)]));
}

function collect(one: unknown, other: unknown, path: string, ignored: ReadonlySet<string>, fields: string[]): void {
  if (path !== '' && ignored.has(path)) return;
  const [before, after] = [plain(one), plain(other)];
  if (!isRecord(before) || !isRecord(after)) {
    if (!isEqual(before, after)) fields.push(path === '' ? '*' : path);
    return;
  }
  for (const name of Object.keys(before)) {
    // Most fields are the same: that is found out before anything is made of their names.
    if (before[name] === after[name] || isPlainlySame(before[name], own(after, name))) continue;
    collect(before[name], own(after, name), pathOf(path, name), ignored, fields);
  }
  for (const name of Object.keys(after)) {
    if (!Object.hasOwn(before, name)) collect(undefined, after[name], pathOf(path, name), ignored, fields);
  }
}

function pathOf(path: string, name: string): string {
  return path === '' ? name : `${path}.${name}`;
}

/** A field of the record itself: one may be called `constructor`. */
function own(record: Record<string, unknown>, name: string): unknown {
  return Object.hasOwn(record, name) ? record[name] : undefined;
}

/** As JSON has it, since that is what a restart gives back. */
function plain(value: unknown): unknown {
  return value instanceof Date ? value.toJSON() : value;
}

/** A quick look, which nearly all fields of nearly all rows pass. `false` says nothing yet. */
function isPlainlySame(before: unknown, after: unknown): boolean {
  if (Array.isArray(before))
    return (
      Array.isArray(after) &&
      before.length === after.length &&
      before.every((item, at) => item === after[at] || isPlainlySame(item, after[at]))
    );
  if (!isRecord(before) || !isRecord(after)) return false;
  let names = 0;
  // Much faster than a list of names.
  for (const name in before) {
    const one = before[name];
    const other = after[name];
    if (one === undefined || name === '__proto__' || !(one === other || isPlainlySame(one, other))) return false;
    names += 1;
  }
  // A date, for one, has no names.
  return names > 0 && names === Object.keys(after).length;
}

function isEqual(one: unknown, other: unknown): boolean {
  if (one === other) return true;
  const [before, after] = [plain(one), plain(other)];
  if (Array.isArray(before) && Array.isArray(after))
    return before.length === after.length && before.every((item, at) => isEqual(item, after[at]));
  if (!isRecord(before) || !isRecord(after)) return Object.is(before, after);
  return (
    Object.keys(before).every((name) => isEqual(before[name], own(after, name))) &&
    Object.keys(after).every((name) => after[name] === undefined || Object.hasOwn(before, name))
  );
}
