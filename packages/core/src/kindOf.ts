const kinds: Readonly<Record<string, string>> = { string: 'text', object: 'an object', function: 'a function' };

/** What a value is, in words that show nothing of it. */
export function kindOf(value: unknown): string {
  if (value === undefined) return 'missing';
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'a list';
  return kinds[typeof value] ?? `a ${typeof value}`;
}
