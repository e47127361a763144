/** The CPU time of this process in ms, all threads included, so that the garbage collector counts. */
export function cpu(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000;
}

/** The median of some figures, the minimum and the maximum. */
export interface Spread {
  readonly median: number;
  readonly min: number;
  readonly max: number;
}

/** @throws RangeError if there are none. */
export function spreadOf(figures: readonly number[]): Spread {
  const sorted = figures.toSorted((one, other) => one - other);
  const min = sorted.at(0);
  const median = sorted[Math.floor(sorted.length / 2)];
  const max = sorted.at(-1);
  if (min === undefined || median === undefined || max === undefined) throw new RangeError('There are no figures.');
  return { min, median, max };
}
