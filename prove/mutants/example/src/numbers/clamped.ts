/** A source to mutate, to check how mutants are judged. Its test detects some faults, and misses others. */
export function clamped(value: number, max?: number): number {
  if (Number.isNaN(value)) {
    throw new Error('There is no number.');
  }
  return Math.min(value, max ?? Infinity);
}
