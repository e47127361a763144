/** What is mutated to see whether mutants are judged as they should be. Its test sees some faults, and others not. */
export function clamped(value: number, max?: number): number {
  if (Number.isNaN(value)) {
    throw new Error('There is no number.');
  }
  return Math.min(value, max ?? Infinity);
}
