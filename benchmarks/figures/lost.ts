import type { Figure } from './figure.js';

/** A loss of this much is not noise: short runs on a shared machine differ by a third. */
const margin = 1.6;

/**
 * The figures that became much worse than the stored ones. Only ratios with a goal are compared, because times depend
 * on the machine.
 *
 * @throws Error if a figure is not stored yet: then the figures must be measured again.
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
