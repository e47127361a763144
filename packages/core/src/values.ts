const kinds: Readonly<Record<string, string>> = { string: 'text', object: 'an object', function: 'a function' };

/** The type of a value in words, without its content. */
export function kindOf(value: unknown): string {
  if (value === undefined) return 'missing';
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'a list';
  return kinds[typeof value] ?? `a ${typeof value}`;
}

/** Describes a wrong value: numbers, booleans and names such as `NaN` or `undefined` as text, others by their type. */
export function inWords(value: unknown): string {
  if (value === '') return 'an empty text';
  const hasText = value === null || ['undefined', 'number', 'boolean'].includes(typeof value);
  return hasText ? String(value) : kindOf(value);
}

/** Shows a text in an error: completely or not at all, since the redaction would not find a part of a secret. */
export function shownText(text: string, longest = 100): string {
  return text.length > longest ? `a text of ${text.length} characters` : JSON.stringify(text);
}

/** Whether a value is an object and not an array. */
export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Whether a value is an array, of unknown items rather than `any`. */
export function isList(value: unknown): value is readonly unknown[] {
  return Array.isArray(value);
}

/** Whether a value is a safe integer of at least 0. */
export function isCount(value: unknown): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0;
}

/** A count that an API states, as a number or text of digits; `undefined` if the value is not a count. */
export function countIn(value: unknown): number | undefined {
  const count = typeof value === 'string' && /^\d{1,15}$/.test(value) ? Number(value) : value;
  return isCount(count) ? count : undefined;
}

/** The value of a JSON text; `undefined` if the text is not JSON. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** The platform's code of an error, e.g. `ENOSPC`. */
export function platformCode(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined;
}
