import { isRecord } from '../record.js';
import { asJson } from './asJson.js';
import { ownField, pathOf } from './fieldPath.js';
import { isPlainlySame } from './plainlySame.js';

/**
 * The paths of the fields in which two values differ as JSON, e.g. `status` or `stats.seen`.
 *
 * @param ignored paths that are not looked at, nor what is inside.
 * @param path of the values themselves; where it is empty and they are no records, they differ in `*`.
 */
export function differingFields(
  before: unknown,
  after: unknown,
  ignored: ReadonlySet<string>,
  path = '',
): readonly string[] {
  const fields: string[] = [];
  collect(before, after, path, ignored, fields);
  return fields;
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
    // Most fields are the same: that is found out before anything is made of their names.
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

/** JSON leaves out a field that is nothing, but in a list something has to stand in its place. */
function areItemsEqual(before: readonly unknown[], after: readonly unknown[]): boolean {
  if (before.length !== after.length) return false;
  return Array.from(before).every((item, at) => isEqual(asJson(item) ?? null, asJson(after[at]) ?? null));
}
