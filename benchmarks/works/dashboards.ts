import { compete } from '../arena.js';
import { figureOf, ratios } from '../figures/figure.js';
import { took } from './exports.js';
import type { Work } from './work.js';

/** A few percent disappear in the noise of a round, which is 20 %; the median of many more rounds shows them. */
const roundsInOne = 10;

/** What an export costs whose page nobody looks at. */
export const dashboards: Work = async ({ rounds, pages, folder }) => {
  const { shown, hidden } = await compete(
    { shown: { file: 'sluice', isShown: true }, hidden: { file: 'sluice' } },
    { pages, parts: 1, latency: 0 },
    { rounds: roundsInOne * rounds, folder, inOneProcess: true },
  );
  const what = { against: 'an export without one', unit: '%' as const, goal: { atMost: 2 } };
  const more = (ratio: number): number => 100 * (ratio - 1);
  return [
    figureOf(
      { work: 'time that a dashboard takes, with nobody looking', ...what },
      ratios(shown, hidden, took).map(more),
    ),
    figureOf(
      { work: 'CPU that a dashboard takes, with nobody looking', ...what },
      ratios(shown, hidden, ({ cpu }) => cpu).map(more),
    ),
  ];
};
