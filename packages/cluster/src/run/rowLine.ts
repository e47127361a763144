import { SinkError } from '@sluice/core';
import { isPlain, isRecord } from '@sluice/core/kit';
import type { StoredRow } from './run.js';

/**
 * Rows as lines of JSON from which exactly these rows are read again, so that any sink makes of them what it would have
 * made at once. Nearly all rows are JSON already and stored as they are, readable by any program. What JSON lacks is
 * stored as an object with one field, e.g. `{"$bigint":"12"}`; an object that looks like that is wrapped in `$object`.
 */

/** Deeper rows are mistakes, e.g. a row that contains itself. */
const maxDepth = 200;

/** A row as a line. @throws SinkError, naming the column, if a value has no exact form. */
export function encodeRow(row: unknown, where: () => string): string {
  if (!isRecord(row)) throw new SinkError(`${where()} is not an object, so it can't be stored.`);
  if (!isPlain(row))
    throw new SinkError(`${where()} is an object of a class, so it can't be stored and read again exactly.`);
  const fields = mapFields(row, (value, column) =>
    tag(value, 0, () => `${where()}, column ${JSON.stringify(column)},`),
  );
  return `${JSON.stringify(wrap(fields))}\n`;
}

/** The row of a line. @throws SinkError if it is not one. */
export function decodeRow(line: string): StoredRow {
  const stored: unknown = JSON.parse(line);
  const row = line.includes('{"$') ? untag(stored) : stored;
  if (!isRecord(row)) throw new SinkError('A stored row is not an object.');
  return row;
}

function tag(value: unknown, depth: number, where: () => string): unknown {
  if (depth > maxDepth) throw new SinkError(`${where()} is nested more than ${maxDepth} levels deep.`);
  if (value === null || typeof value === 'string' || typeof value === 'boolean') return value;
  if (value === undefined) return { $undefined: true };
  if (typeof value === 'bigint') return { $bigint: String(value) };
  if (typeof value === 'number') {
    if (Object.is(value, -0)) return { $number: '-0' };
    return Number.isFinite(value) ? value : { $number: String(value) };
  }
  // `map` would skip the holes of a list.
  if (Array.isArray(value)) return Array.from<unknown, unknown>(value, (item) => tag(item, depth + 1, where));
  if (isPlain(value)) return wrap(mapFields(value, (field) => tag(field, depth + 1, where)));
  if (value instanceof Date && !Number.isNaN(value.getTime())) return { $date: value.toISOString() };
  throw new SinkError(`${where()} can't be stored and read again exactly: it is ${kindOf(value)}.`);
}

function untag(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(untag);
  if (!isRecord(value)) return value;
  const name = tagOf(value);
  if (name === undefined) return mapFields(value, untag);
  const content = value[name];
  if (name === '$undefined') return undefined;
  if (name === '$object' && isRecord(content)) return mapFields(content, untag);
  if (name === '$bigint' && typeof content === 'string') return BigInt(content);
  if (name === '$number' && typeof content === 'string') return Number(content);
  if (name === '$date' && typeof content === 'string') return new Date(content);
  throw new SinkError(`A stored row has ${name}, which this version of Sluice does not know.`);
}

/** `fromEntries` defines fields, so one named `__proto__` is an ordinary one. */
function mapFields(record: Record<string, unknown>, change: (value: unknown, name: string) => unknown) {
  return Object.fromEntries(Object.entries(record).map(([name, value]) => [name, change(value, name)]));
}

function wrap(fields: Record<string, unknown>): Record<string, unknown> {
  return tagOf(fields) === undefined ? fields : { $object: fields };
}

/** The name of the only field, if it looks like one of ours. */
function tagOf(record: Record<string, unknown>): string | undefined {
  const [name, ...others] = Object.keys(record);
  return others.length === 0 && name?.startsWith('$') ? name : undefined;
}

function kindOf(value: unknown): string {
  if (typeof value !== 'object') return `a ${typeof value}`;
  return value instanceof Date ? 'an invalid date' : 'an object of a class';
}
