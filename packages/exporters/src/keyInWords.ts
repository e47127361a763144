/** What is given as a key and is not one, for an error: a list or an object has no text of its own that says so. */
export function keyInWords(key: unknown): string {
  if (Array.isArray(key)) return 'a list';
  if (typeof key === 'object' && key !== null) return 'an object';
  return typeof key === 'function' ? 'a function' : String(key);
}
