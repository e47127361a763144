import { isRecord } from '../../values.js';

/** Far deeper than APIs send, and far from where recursion or `JSON.stringify` would overflow the stack. */
export const deepestDocument = 500;

/** Whether lists and objects of a document are nested more than `max` levels deep. `text` is its JSON. */
export function isDeeperThan(max: number, document: unknown, text: string): boolean {
  // Few documents have that many brackets at all, and counting them is faster than recursion.
  return hasMoreBrackets(max, text) && exceedsDepth(max, document);
}

function hasMoreBrackets(max: number, text: string): boolean {
  let left = max;
  for (const bracket of ['{', '[']) {
    for (let at = text.indexOf(bracket); at >= 0; at = text.indexOf(bracket, at + 1)) {
      if (left === 0) return true;
      left -= 1;
    }
  }
  return false;
}

/** Recursion stops at `max` as well. */
function exceedsDepth(max: number, value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  if (max === 0) return true;
  if (Array.isArray(value)) return value.some((item) => exceedsDepth(max - 1, item));
  // Much faster than `Object.values`.
  if (isRecord(value)) for (const name in value) if (exceedsDepth(max - 1, value[name])) return true;
  return false;
}
