import { compete } from '../arena.js';
import { figureOf, ratios } from '../figures/figure.js';
import { took } from './exports.js';
import type { Work } from './work.js';

/** A few percent disappear in the noise of a round, which is 20 %; the median of many more rounds shows them. */
const roundsInOne = 10;

/** The cost of checkpoints at their default. */
export const commits: Work = async ({ rounds, pages, folder }) => {
  const { kept, forgotten } = await compete(
    { kept: { file: 'sluice' }, forgotten: { file: 'sluice', isKept: false } },
    { pages, parts: 1, latency: 0 },
    { rounds: roundsInOne * rounds, folder, inOneProcess: true },
  );
  const what = { work: 'time that checkpoints take', against: 'an export without state', unit: '%' as const };
  return [
    figureOf(
      { ...what, goal: { atMost: 5 } },
      ratios(kept, forgotten, took).map((ratio) => 100 * (ratio - 1)),
    ),
  ];
};
