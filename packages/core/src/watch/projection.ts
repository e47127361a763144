import { isRecord } from '../record.js';
import { asJson } from './asJson.js';
import { fieldAt, pathOf, type FieldPath } from './fieldPath.js';

/** Some fields of a row, each under its path; what is no record stays as it is. */
export function pick(row: unknown, paths: readonly FieldPath[]): unknown {
  if (!isRecord(row)) return row;
  const fields = paths.map((each): [string, unknown] => [each.path, fieldAt(row, each)]);
  return Object.fromEntries(fields.filter(([, value]) => value !== undefined));
}

/** A value without the fields that are ignored. */
export function without(value: unknown, ignored: ReadonlySet<string>, path = ''): unknown {
  if (ignored.size === 0) return value;
  const plain = asJson(value);
  if (!isRecord(plain)) return value;
  const kept = Object.entries(plain).filter(([name]) => !ignored.has(pathOf(path, name)));
  return Object.fromEntries(kept.map(([name, field]) => [name, without(field, ignored, pathOf(path, name))]));
}
