import { rate } from '../../prove/rate/rate.js';
import { strictRun, type StrictRun } from '../../prove/rate/strictRun.js';
import { figureOf } from '../figures/figure.js';
import type { Work } from './work.js';

const concurrency = 8;

/** The share of its rate that a server serves to a client that respects it: L1. */
export const rates: Work = async ({ rounds }) => {
  const runs: StrictRun[] = [];
  for (let round = 0; round < Math.min(rounds, 5); round += 1) runs.push(await strictRun(concurrency));
  const against = `a server of ${rate.requests} in ${rate.per} ms, concurrency ${concurrency}`;
  return [
    figureOf(
      { work: 'requests/s', against, unit: '%', goal: { atLeast: 98 } },
      runs.map(({ share }) => 100 * share),
    ),
    figureOf(
      { work: 'requests refused with 429', against, unit: '', goal: { atMost: 0 } },
      runs.map(({ refused }) => refused),
    ),
  ];
};
