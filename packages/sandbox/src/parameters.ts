import { Refusal } from './refusal.js';

/** Reads an integer parameter. Throws a `Refusal` with status 400 if it is missing or out of bounds. */
export function readWholeNumber(
  query: URLSearchParams,
  name: string,
  bounds: { min: number; max: number; otherwise?: number },
): number {
  const text = query.get(name);
  if (text === null && bounds.otherwise !== undefined) return bounds.otherwise;
  const value = text !== null && /^\d{1,15}$/.test(text) ? Number(text) : NaN;
  if (value >= bounds.min && value <= bounds.max) return value;
  const wanted = `a whole number from ${bounds.min} to ${bounds.max}`;
  throw new Refusal(400, text === null ? `${name}: is required, ${wanted}` : `${name}: must be ${wanted}`);
}

/**
 * Reads a list parameter: `name[]=a&name[]=b`, `name=a&name=b`, `name[0]=a&name[1]=b` or `name=a,b`, without empty
 * items.
 */
export function readList(query: URLSearchParams, name: string): string[] {
  const items: string[] = [];
  for (const [key, value] of query) {
    const isItem = key === name || (key.startsWith(`${name}[`) && /^\[\d*\]$/.test(key.slice(name.length)));
    if (isItem) items.push(...value.split(',').filter((item) => item !== ''));
  }
  return items;
}

/** The query's cursor; `undefined` if it is absent or empty. */
export function readCursor(query: URLSearchParams): string | undefined {
  const cursor = query.get('cursor');
  return cursor === null || cursor === '' ? undefined : cursor;
}
