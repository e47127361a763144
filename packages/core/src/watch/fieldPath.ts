import { isRecord } from '../record.js';

/** Where a field is in a row. */
export interface FieldPath {
  /** E.g. `status` or `stats.seen`. */
  readonly path: string;
  readonly names: readonly string[];
}

/** Each path once. */
export function fieldPaths(paths: readonly string[]): readonly FieldPath[] {
  return [...new Set(paths)].map((path) => ({ path, names: path.split('.') }));
}

/** The path of a field inside a value that has one itself, or is the row. */
export function pathOf(path: string, name: string): string {
  return path === '' ? name : `${path}.${name}`;
}

/** What a row has at a path; `undefined` if it has no such field. */
export function fieldAt(row: Record<string, unknown>, { path, names }: FieldPath): unknown {
  // A field's own name may hold a dot.
  if (Object.hasOwn(row, path)) return row[path];
  return names.reduce<unknown>((value, name) => (isRecord(value) ? ownField(value, name) : undefined), row);
}

/** A field of the record itself: one may be called `constructor`. */
export function ownField(record: Record<string, unknown>, name: string): unknown {
  return Object.hasOwn(record, name) ? record[name] : undefined;
}
