import { SinkError } from '@sluice/core';
import type { StoredRow } from './run.js';

/**
 * Rows as lines of JSON from which exactly these rows are read again, so that any sink makes of them what it would have
 * made at once. Nearly all rows are JSON already and stored as they are, readable by any program. What JSON lacks is
 * stored as an object with one field, e.g. `{"$bigint":"12"}`; an object that looks like that is wrapped in `$object`.
 */

/** Deeper rows are mistakes, e.g. a row that contains itself. */
const maxDepth = 200;

/** A row as a line. @throws SinkError, naming the column, if a value has no exact form. */
export function lineOf(row: unknown, where: () => string): { readonly line: string; readonly isTagged: boolean } {
  if (!isRecord(row)) throw new SinkError(`${where()} is not an object, so it can't be stored.`);
  if (isJson(row, 0)) return { line: `${JSON.stringify(row)}\n`, isTagged: false };
  const columns = Object.entries(row).map(([column, value]): [string, unknown] => [
    column,
    tagged(value, () => `${where()}, column ${JSON.stringify(column)},`, 0),
  ]);
  const fields = isPlain(row) ? wrapped(Object.fromEntries(columns)) : undefined;
  if (!fields) throw new SinkError(`${where()} is an object of a class, so it can't be stored and read again exactly.`);
  return { line: `${JSON.stringify(fields)}\n`, isTagged: true };
}

/** The row of a line. @throws SinkError if it is not one. */
export function rowOf(line: string, isTagged: boolean): StoredRow {
  const stored: unknown = JSON.parse(line);
  const row = isTagged ? untagged(stored) : stored;
  if (!isRecord(row)) throw new SinkError('A stored row is not an object.');
  return row;
}

/** Whether JSON keeps the value as it is. */
function isJson(value: unknown, depth: number): boolean {
  switch (typeof value) {
    case 'string':
    case 'boolean':
      return true;
    case 'number':
      return Number.isFinite(value) && !Object.is(value, -0);
    case 'object': {
      if (value === null) return true;
      if (depth > maxDepth) return false;
      // `every` would skip the holes of a list.
      if (Array.isArray(value)) return Array.from<unknown>(value).every((item) => isJson(item, depth + 1));
      if (!isPlain(value)) return false;
      const fields = Object.entries(value);
      return !looksTagged(fields) && fields.every(([, field]) => isJson(field, depth + 1));
    }
    default:
      return false;
  }
}

function tagged(value: unknown, where: () => string, depth: number): unknown {
  if (depth > maxDepth) throw new SinkError(`${where()} is nested more than ${maxDepth} levels deep.`);
  if (isJson(value, depth)) return value;
  if (value === undefined) return { $undefined: true };
  if (typeof value === 'bigint') return { $bigint: String(value) };
  if (typeof value === 'number') return { $number: Object.is(value, -0) ? '-0' : String(value) };
  if (value instanceof Date && !Number.isNaN(value.getTime())) return { $date: value.toISOString() };
  if (Array.isArray(value)) return Array.from<unknown>(value).map((item) => tagged(item, where, depth + 1));
  if (isPlain(value)) {
    const fields = Object.entries(value).map(([name, field]): [string, unknown] => [
      name,
      tagged(field, where, depth + 1),
    ]);
    return wrapped(Object.fromEntries(fields));
  }
  throw new SinkError(`${where()} can't be stored and read again exactly: it is ${kindOf(value)}.`);
}

function untagged(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return Array.from<unknown>(value).map(untagged);
  if (!isRecord(value)) return value;
  const fields = Object.entries(value);
  const [tag, content] = looksTagged(fields) ?? [];
  if (tag === undefined) return restored(fields);
  if (tag === '$undefined') return undefined;
  if (tag === '$object' && isRecord(content)) return restored(Object.entries(content));
  if (tag === '$bigint' && typeof content === 'string') return BigInt(content);
  if (tag === '$number' && typeof content === 'string') return Number(content);
  if (tag === '$date' && typeof content === 'string') return new Date(content);
  throw new SinkError(`A stored row has ${tag}, which this version of Sluice does not know.`);
}

/** `fromEntries` defines fields, so one named `__proto__` is an ordinary one. */
function restored(fields: readonly (readonly [string, unknown])[]): Record<string, unknown> {
  return Object.fromEntries(fields.map(([name, field]) => [name, untagged(field)]));
}

function wrapped(fields: Record<string, unknown>): Record<string, unknown> {
  return looksTagged(Object.entries(fields)) ? { $object: fields } : fields;
}

function looksTagged(fields: readonly [string, unknown][]): [string, unknown] | undefined {
  const [only] = fields;
  return fields.length === 1 && only?.[0].startsWith('$') ? only : undefined;
}

function kindOf(value: unknown): string {
  if (typeof value !== 'object' || value === null) return `a ${typeof value}`;
  return value instanceof Date ? 'an invalid date' : 'an object of a class';
}

/** Whether a value is an object without a class, from any realm. */
function isPlain(value: unknown): value is Record<string, unknown> {
  if (!isRecord(value)) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}

/** Whether a value is an object and not an array. */
export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Whether a value is a whole number that is not negative. */
export function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && Number(value) >= 0;
}
