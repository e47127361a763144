import { compete } from '../arena.js';
import { figureOf, ratios } from '../figures/figure.js';
import { took } from './exports.js';
import type { Work } from './work.js';

const latency = 25;
/** Enough to make opening and renaming, about 13 ms, negligible. */
const pages = 400;
const concurrency = 8;
/** Per partition. Enough to make opening connections, and joining the partitions at the end, negligible. */
const pagesPerLane = 100;

/** What is left to gain if the server is slow: the export always waits for it. */
export const latencies: Work = async ({ rounds, folder }) => {
  const one = await compete(
    { sluice: { file: 'sluice' }, bound: { file: 'handTuned', format: 'none' } },
    { pages, parts: 1, latency },
    { rounds: Math.min(rounds, 9), folder },
  );
  const many = await compete(
    { one: { file: 'sluice', wallets: 1 }, many: { file: 'sluice', concurrency } },
    { pages: pagesPerLane, parts: concurrency, latency },
    { rounds: Math.min(rounds, 9), folder },
  );
  return [
    figureOf(
      {
        work: `rows/s at ${latency} ms per page, concurrency 1`,
        against: 'a hand-tuned loop that writes nothing',
        unit: '%',
        goal: { atLeast: 98 },
      },
      ratios(one.bound, one.sluice, took).map((ratio) => 100 * ratio),
    ),
    figureOf(
      {
        work: `rows/s at ${latency} ms per page, concurrency ${concurrency}`,
        against: `${concurrency} times that of concurrency 1`,
        unit: '%',
        goal: { atLeast: 95 },
      },
      ratios(many.one, many.many, ({ ms, rows }) => ms / rows).map((ratio) => (100 * ratio) / concurrency),
    ),
  ];
};
