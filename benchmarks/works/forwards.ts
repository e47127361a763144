import { ratioOf } from '../figures/compare.js';
import { compareForwards } from '../forward.js';
import type { Work } from './work.js';

/** A forward to a receiver that takes 5 ms for each record, 32 in parallel. */
export const forwards: Work = async ({ rounds }) => {
  const times = await compareForwards(rounds);
  const { median, min, max } = ratioOf(times, 'a loop around undici', 'a forward');
  return [
    {
      work: 'records/s of a forward',
      against: 'a bare loop of undici',
      unit: '%',
      median: 100 * median,
      from: 100 * min,
      to: 100 * max,
    },
  ];
};
