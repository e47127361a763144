/** A value as it comes back from a file. */
export function throughJson(value: unknown): unknown {
  return value === undefined ? undefined : JSON.parse(JSON.stringify(value));
}

/** What of a value JSON does not give back just as it is, with its place; `undefined` if that is nothing. */
export function lostInJson(value: unknown, path = 'it'): string | undefined {
  if (value === null || typeof value === 'string' || typeof value === 'boolean') return undefined;
  if (typeof value === 'number')
    return Number.isFinite(value) && !Object.is(value, -0) ? undefined : `${path} is ${value}`;
  if (Array.isArray(value)) return firstLost(value.entries(), path);
  if (!isRecord(value)) return `${path} is ${typeof value === 'bigint' ? 'a BigInt' : typeof value}`;
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype === Object.prototype || prototype === null) return firstLost(Object.entries(value), path);
  return `${path} is an object of a class (${Object.prototype.toString.call(value)})`;
}

function firstLost(fields: Iterable<[string | number, unknown]>, path: string): string | undefined {
  for (const [name, field] of fields) {
    const lost = lostInJson(field, `${path}[${JSON.stringify(name)}]`);
    if (lost !== undefined) return lost;
  }
  return undefined;
}

/** An object of names and values, and not an array. */
export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** JSON with its names in order: the same text for the same value. */
export function canonicalJson(value: unknown): string {
  if (value === undefined) return 'undefined';
  return JSON.stringify(value, (_, field: unknown) =>
    isRecord(field) ? Object.fromEntries(Object.entries(field).sort(([a], [b]) => (a < b ? -1 : 1))) : field,
  );
}
