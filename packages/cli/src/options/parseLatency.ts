import { UsageError } from '../faults/usageError.js';
import { parseDuration } from './parseDuration.js';

/**
 * A latency in ms: fixed, or the bounds of a random one.
 *
 * @throws UsageError unless it is a duration, or two with `..` between them.
 * @example parseLatency('5ms..40ms') // [5, 40]
 */
export function parseLatency(text: string): number | readonly [number, number] {
  const [first = '', second, ...rest] = text.split('..');
  if (second === undefined) return parseDuration(first);
  const [least, most] = [parseDuration(first), parseDuration(second)];
  if (rest.length > 0 || least > most) throw new UsageError('Give the shorter one first, like 5ms..40ms.');
  return [least, most];
}
