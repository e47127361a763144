/** The CPU that this process has used, in ms: all of its threads, so that what the garbage collector does is in it. */
export function cpu(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000;
}

/** The middle one of some figures, the least and the most. */
export interface Spread {
  readonly median: number;
  readonly min: number;
  readonly max: number;
}

/** @throws RangeError if there are none. */
export function spreadOf(figures: readonly number[]): Spread {
  const sorted = figures.toSorted((one, other) => one - other);
  const [min, median, max] = [sorted.at(0), sorted[Math.floor(sorted.length / 2)], sorted.at(-1)];
  if (min === undefined || median === undefined || max === undefined) throw new RangeError('There are no figures.');
  return { min, median, max };
}
