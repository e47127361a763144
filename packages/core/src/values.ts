const kinds: Readonly<Record<string, string>> = { string: 'text', object: 'an object', function: 'a function' };

/** What a value is, in words that show nothing of it. */
export function kindOf(value: unknown): string {
  if (value === undefined) return 'missing';
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'a list';
  return kinds[typeof value] ?? `a ${typeof value}`;
}

/** An object of JSON's, whatever its fields hold. */
export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Whether a value from outside is a whole number of at least 0, and arrived whole. */
export function isCount(value: unknown): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0;
}
