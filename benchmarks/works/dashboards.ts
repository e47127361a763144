import { compete } from '../arena.js';
import { figureOf, ratios, type Figure } from '../figures/figure.js';
import type { ServedPages } from '../server/servedPages.js';
import { took } from './exports.js';
import type { Work } from './work.js';

/** A few percent disappear in the noise of a round; the median of more rounds shows them. */
const roundsInOne = 5;
/** Ms for a page, as of an API that is near. */
const latency = 25;

/** What an export costs whose page nobody looks at: beside an API that takes its time, and where only CPU counts. */
export const dashboards: Work = async ({ rounds, pages, folder }) => {
  const cost = async (served: ServedPages, figure: Pick<Figure, 'work' | 'goal'>): Promise<Figure> => {
    const { shown, hidden } = await compete(
      { shown: { file: 'sluice', isShown: true }, hidden: { file: 'sluice' } },
      served,
      { rounds: roundsInOne * rounds, folder, inOneProcess: true },
    );
    const more = ratios(shown, hidden, took).map((ratio) => 100 * (ratio - 1));
    return figureOf({ ...figure, against: 'an export without one', unit: '%' }, more);
  };
  return [
    await cost(
      { pages: 100, parts: 1, latency },
      { work: `time that a dashboard takes at ${latency} ms per page, nobody looks`, goal: { atMost: 2 } },
    ),
    await cost({ pages, parts: 1, latency: 0 }, { work: 'the same without latency' }),
  ];
};
