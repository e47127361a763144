import { UsageError } from '../faults/usageError.js';

/**
 * A plain number. Whether it makes sense where it is used is checked there.
 *
 * @throws UsageError for anything that is not written in digits, like `1e3`, `0x10` or nothing.
 */
export function parseNumber(text: string): number {
  if (!/^-?\d{1,15}(\.\d{1,15})?$/.test(text.trim())) throw new UsageError('Give a number.');
  return Number(text);
}
