/** An API that is down is not helped by being asked. */
const mostSkipped = 7;
/** Ms. However rarely it is asked, nobody should have to wait much longer to hear that it is back. */
const longestExtraWait = 5 * 60_000;

/** How many ticks are skipped after so many failed polls in a row, with `every` ms from one to the next. */
export function skippedTicks(failures: number, every: number): number {
  if (failures === 0) return 0;
  return Math.min(2 ** (failures - 1) - 1, mostSkipped, Math.floor(longestExtraWait / every));
}
