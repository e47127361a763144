import { isRecord } from '../../values.js';
import { asJson } from './checkStorable.js';

export interface FieldPath {
  /** E.g. `status` or `stats.seen`. */
  readonly path: string;
  readonly names: readonly string[];
}

export function fieldPaths(paths: readonly string[]): readonly FieldPath[] {
  return [...new Set(paths)].map((path) => ({ path, names: path.split('.') }));
}

export function pathOf(path: string, name: string): string {
  return path === '' ? name : `${path}.${name}`;
}

/** Whether a path leads to a field or to a part of it. */
export function isWithin(path: string, field: string): boolean {
  return path === field || path.startsWith(`${field}.`);
}

/** The value at a path of a row; `undefined` if the row has no such field. */
function fieldAt(row: Record<string, unknown>, { path, names }: FieldPath): unknown {
  // A field name may contain a dot.
  if (Object.hasOwn(row, path)) return row[path];
  return names.reduce<unknown>((value, name) => (isRecord(value) ? ownField(value, name) : undefined), row);
}

/** Reads only own properties, since a field may be called `constructor`. */
export function ownField(record: Record<string, unknown>, name: string): unknown {
  return Object.hasOwn(record, name) ? record[name] : undefined;
}

/** Some fields of a row by path. Values that are not objects stay as they are. */
export function pick(row: unknown, paths: readonly FieldPath[]): unknown {
  if (!isRecord(row)) return row;
  const fields = paths.map((each): [string, unknown] => [each.path, fieldAt(row, each)]);
  return Object.fromEntries(fields.filter(([, value]) => value !== undefined));
}

/** A value without its ignored fields. */
export function without(value: unknown, ignored: ReadonlySet<string>, path = ''): unknown {
  if (ignored.size === 0) return value;
  const plain = asJson(value);
  if (!isRecord(plain)) return value;
  const kept = Object.entries(plain).filter(([name]) => !ignored.has(pathOf(path, name)));
  return Object.fromEntries(kept.map(([name, field]) => [name, without(field, ignored, pathOf(path, name))]));
}
