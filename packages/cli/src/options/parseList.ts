import { UsageError } from '../faults/usageError.js';

/** The items of `a,b,c`. @throws UsageError where one is empty. */
export function parseList(text: string): readonly string[] {
  const items = text.split(',').map((item) => item.trim());
  if (items.includes('')) throw new UsageError('Give names with commas between them, like a,b,c.');
  return items;
}
