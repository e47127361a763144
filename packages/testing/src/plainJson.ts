import { isRecord } from '@sluice/core/kit';

/** A value after a round trip through JSON. */
export function roundTripJson(value: unknown): unknown {
  return value === undefined ? undefined : JSON.parse(JSON.stringify(value));
}

/** The first part of a value that JSON would change, with its path; `undefined` if there is none. */
export function findLostInJson(value: unknown, path = 'it'): string | undefined {
  if (value === null || typeof value === 'string' || typeof value === 'boolean') return undefined;
  if (typeof value === 'number')
    return Number.isFinite(value) && !Object.is(value, -0) ? undefined : `${path} is ${value}`;
  if (Array.isArray(value)) return findFirstLost(value.entries(), path);
  if (!isRecord(value)) return `${path} is ${typeof value === 'bigint' ? 'a BigInt' : typeof value}`;
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype === Object.prototype || prototype === null) return findFirstLost(Object.entries(value), path);
  return `${path} is an object of a class (${Object.prototype.toString.call(value)})`;
}

function findFirstLost(fields: Iterable<[string | number, unknown]>, path: string): string | undefined {
  for (const [name, field] of fields) {
    const lost = findLostInJson(field, `${path}[${JSON.stringify(name)}]`);
    if (lost !== undefined) return lost;
  }
  return undefined;
}

/** JSON with sorted names: the same text for the same value. */
export function canonicalJson(value: unknown): string {
  if (value === undefined) return 'undefined';
  return JSON.stringify(value, (_, field: unknown) =>
    isRecord(field) ? Object.fromEntries(Object.entries(field).sort(([a], [b]) => (a < b ? -1 : 1))) : field,
  );
}
