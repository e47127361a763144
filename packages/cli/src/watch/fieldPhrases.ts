import type { Phrase } from '../terminal/phrases.js';

/** A value that is longer, or is none, is not shown. */
const longestValue = 24;

/**
 * Fields that differ, with what they were and are where that is short.
 *
 * @example fieldPhrases({ amount: '1' }, { amount: '3' }, ['amount']) // [{ text: 'amount 1 -> 3' }]
 */
export function fieldPhrases(before: object, after: object, fields: readonly string[]): Phrase[] {
  return fields.map((field) => {
    const values = [before, after].map((row) => shortValue(valueAt(row, field)));
    return { text: values.includes(undefined) ? field : `${field} ${values.join(' -> ')}` };
  });
}

function valueAt(row: object, path: string): unknown {
  return path
    .split('.')
    .reduce<unknown>(
      (value, name) =>
        typeof value === 'object' && value !== null ? new Map(Object.entries(value)).get(name) : undefined,
      row,
    );
}

function shortValue(value: unknown): string | undefined {
  if (typeof value === 'boolean' || typeof value === 'number') return String(value);
  return typeof value === 'string' && value !== '' && value.length <= longestValue ? value : undefined;
}
