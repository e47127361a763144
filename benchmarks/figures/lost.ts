import type { Figure } from './figure.js';

/** So much worse than it was is a loss and no noise: short runs on a shared machine differ by a third. */
const margin = 1.6;

/**
 * What became much worse than it was in the figures that are kept. Only ratios that have a goal are looked at: times are the machine's.
 *
 * @throws Error if the kept figures know nothing of one: then they are to be made anew.
 */
export function lost(figures: readonly Figure[], kept: readonly Figure[]): readonly Figure[] {
  return figures
    .filter(({ unit, goal }) => unit === 'x' && goal !== undefined)
    .filter((figure) => {
      const { work, against, goal, median } = figure;
      const before = kept.find((other) => other.work === work && other.against === against);
      if (!before) throw new Error(`No figure is kept of ${work} against ${against}: npm run bench -- --check --keep`);
      const worse = goal && 'atLeast' in goal ? before.median / median : median / before.median;
      return !(worse <= margin);
    });
}
