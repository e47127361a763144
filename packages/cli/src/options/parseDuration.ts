import { UsageError } from '../faults/usageError.js';

const msPerUnit: ReadonlyMap<string, number> = new Map([
  ['ms', 1],
  ['s', 1000],
  ['m', 60_000],
  ['h', 3_600_000],
]);

/**
 * A duration in ms. A number without a unit is refused: nobody could tell seconds from ms.
 *
 * @throws UsageError unless it is a number and `ms`, `s`, `m` or `h`.
 * @example parseDuration('1.5s') // 1500
 */
export function parseDuration(text: string): number {
  const [, number, unit] = /^(\d+(?:\.\d+)?)(ms|s|m|h)$/.exec(text.trim()) ?? [];
  const ms = Number(number) * (msPerUnit.get(unit ?? '') ?? NaN);
  if (!Number.isFinite(ms)) throw new UsageError('Give a number with its unit: 300ms, 30s, 5m or 1h.');
  return ms;
}

/** How long a fault is tried: a duration, or `forever`. @throws UsageError if it is neither. */
export function parseRetryFor(text: string): number {
  return text.trim() === 'forever' ? Infinity : parseDuration(text);
}

/** A duration above zero. @throws UsageError if it is none. */
export function parseSpan(text: string): number {
  const ms = parseDuration(text);
  if (ms === 0) throw new UsageError('It must be longer than zero.');
  return ms;
}
