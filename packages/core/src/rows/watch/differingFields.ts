import { isRecord } from '../../values.js';
import { asJson } from './checkStorable.js';
import { ownField, pathOf } from './fieldPath.js';

/**
 * The paths of the fields in which two values differ as JSON, e.g. `status` or `stats.seen`, sorted.
 *
 * @example differingFields({ id: 1, stats: { seen: 3 } }, { id: 1, stats: { seen: 4 } }, new Set()) // ['stats.seen']
 * @param ignored paths to skip, with everything inside
 * @param path the path of the values; if it is empty and they are not objects, the result is `*`
 */
export function differingFields(
  before: unknown,
  after: unknown,
  ignored: ReadonlySet<string>,
  path = '',
): readonly string[] {
  const fields: string[] = [];
  collect(before, after, path, ignored, fields);
  // Paths that overlap, such as `a` and `a.b`, find a field twice.
  return [...new Set(fields)].toSorted();
}

function collect(one: unknown, other: unknown, path: string, ignored: ReadonlySet<string>, fields: string[]): void {
  if (path !== '' && ignored.has(path)) return;
  const before = asJson(one);
  const after = asJson(other);
  if (!isRecord(before) || !isRecord(after)) {
    if (!isEqual(before, after)) fields.push(path === '' ? '*' : path);
    return;
  }
  let common = 0;
  for (const name of Object.keys(before)) {
    const field = before[name];
    // Most fields are equal: check that before building their paths.
    if ((field === after[name] && field !== undefined) || isPlainlySame(field, after[name])) common += 1;
    else {
      if (Object.hasOwn(after, name)) common += 1;
      collect(field, ownField(after, name), pathOf(path, name), ignored, fields);
    }
  }
  const names = Object.keys(after);
  if (names.length === common) return;
  for (const name of names) {
    if (!Object.hasOwn(before, name)) collect(undefined, after[name], pathOf(path, name), ignored, fields);
  }
}

function isEqual(one: unknown, other: unknown): boolean {
  if (one === other) return true;
  const before = asJson(one);
  const after = asJson(other);
  if (Array.isArray(before) && Array.isArray(after)) return areItemsEqual(before, after);
  if (!isRecord(before) || !isRecord(after)) return Object.is(before, after);
  return (
    Object.keys(before).every((name) => isEqual(before[name], ownField(after, name))) &&
    Object.keys(after).every((name) => Object.hasOwn(before, name) || asJson(after[name]) === undefined)
  );
}

/** JSON omits an undefined field, but writes `null` for an undefined item. */
function areItemsEqual(before: readonly unknown[], after: readonly unknown[]): boolean {
  if (before.length !== after.length) return false;
  return Array.from(before).every((item, at) => isEqual(asJson(item) ?? null, asJson(after[at]) ?? null));
}

/**
 * A fast check that nearly all rows of a walk pass. It compares without allocating, and returns `false` at the first
 * doubt, so `false` means unknown.
 *
 * @param ignored top-level fields that may differ
 */
export function isPlainlySame(one: unknown, other: unknown, ignored?: ReadonlySet<string>): boolean {
  if (Array.isArray(one)) return Array.isArray(other) && areItemsSame(one, other);
  return isPlain(one) && isPlain(other) && areFieldsSame(one, other, ignored);
}

function areItemsSame(one: readonly unknown[], other: readonly unknown[]): boolean {
  const { length } = one;
  if (length !== other.length) return false;
  for (let at = 0; at < length; at += 1) {
    const before = one[at];
    const after = other[at];
    if (before !== after && !isPlainlySame(before, after)) return false;
  }
  return true;
}

/**
 * If all fields of one are equal in the other, and both have equally many, the objects are equal in any order. Both are
 * plain, so `for … in` lists only their own fields, and is much faster than `Object.keys`.
 */
function areFieldsSame(
  one: Record<string, unknown>,
  other: Record<string, unknown>,
  ignored: ReadonlySet<string> | undefined,
): boolean {
  let unmatched = 0;
  for (const name in one) {
    unmatched += 1;
    const before = one[name];
    const after = other[name];
    // JSON omits `undefined`, so the other object may have a different field instead.
    if (before === after && before !== undefined) continue;
    // Most fields that differ are texts and need no recursion.
    if (typeof before === 'object' && isPlainlySame(before, after)) continue;
    if (!ignored?.has(name) || !Object.hasOwn(other, name)) return false;
  }
  // eslint-disable-next-line @typescript-eslint/no-unused-vars -- only counts
  for (const _name in other) unmatched -= 1;
  // `toJSON` may return other values than the fields. With equal fields, both objects most likely have it.
  return unmatched === 0 && typeof one['toJSON'] !== 'function';
}

/** Whether a value is an object of no class. A class may inherit fields, or have content without fields, as a `Map`. */
function isPlain(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === Object.prototype;
}
