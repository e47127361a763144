import { isRecord } from '../values.js';

/** Far beyond what APIs send, and far from where going through a value, or writing it as JSON, would run out of stack. */
export const deepestDocument = 500;

/** Whether a document has lists and records inside of one another more than `most` levels deep. `text` is what it was read from. */
export function isDeeperThan(max: number, document: unknown, text: string): boolean {
  // Few documents have so many of them at all, and counting is cheaper than going through.
  return hasMoreBrackets(max, text) && goesDeeper(max, document);
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

/** It goes no deeper than that itself. */
function goesDeeper(max: number, value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  if (max === 0) return true;
  if (Array.isArray(value)) return value.some((item) => goesDeeper(max - 1, item));
  // Much faster than a list of its fields.
  if (isRecord(value)) for (const name in value) if (goesDeeper(max - 1, value[name])) return true;
  return false;
}
