import { compete } from '../arena.js';
import { type Figure, figureOf, ratios } from '../figures/figure.js';
import type { ServedPages } from '../server/servedPages.js';
import { took } from './exports.js';
import type { Extent, Work } from './work.js';

const usualLatency = 25;
/** Enough to make opening and renaming, about 13 ms, negligible. */
const pages = 400;
const concurrency = 8;
/** Per partition. Enough to make opening connections, and joining the partitions at the end, negligible. */
const pagesPerLane = 100;

/** What is left to gain if the server is slow: the export always waits for it. */
export const latency: Work = async (extent) => {
  const { rounds, folder } = extent;
  const one = await compete(
    { sluice: { file: 'sluice' }, bound: { file: 'handTuned', format: 'none' } },
    { pages, parts: 1, latency: usualLatency },
    { rounds: Math.min(rounds, 9), folder },
  );
  const many = await compete(
    { one: { file: 'sluice', wallets: 1 }, many: { file: 'sluice', concurrency } },
    { pages: pagesPerLane, parts: concurrency, latency: usualLatency },
    { rounds: Math.min(rounds, 9), folder },
  );
  return [
    figureOf(
      {
        work: `rows/s at ${usualLatency} ms per page, concurrency 1`,
        against: 'a hand-tuned loop that writes nothing',
        unit: '%',
        goal: { atLeast: 98 },
      },
      ratios(one.bound, one.sluice, took).map((ratio) => 100 * ratio),
    ),
    figureOf(
      {
        work: `rows/s at ${usualLatency} ms per page, concurrency ${concurrency}`,
        against: `${concurrency} times that of concurrency 1`,
        unit: '%',
        goal: { atLeast: 95 },
      },
      ratios(many.one, many.many, ({ ms, rows }) => ms / rows).map((ratio) => (100 * ratio) / concurrency),
    ),
    ...(await measureWallets(extent)),
  ];
};

const peer = 'a loop over axios for each wallet, in p-limit';

/** Many wallets, without options that only those who know us would set. */
async function measureWallets({ rounds, folder }: Extent): Promise<Figure[]> {
  const race = (served: ServedPages, atOnce: number, isGrouped: boolean) =>
    compete(
      {
        sluice: { file: 'sluice', format: 'jsonl', concurrency: atOnce, isGrouped },
        loops: { file: 'limitedLoops', format: 'jsonl', concurrency: atOnce },
      },
      served,
      { rounds: Math.min(rounds, 5), folder },
    );
  const figures: Figure[] = [];
  for (const [atOnce, ms, goal] of [
    [32, 200, 0.95],
    [8, 20, 1],
    [8, 60, 1],
    [8, 200, 1],
  ] as const) {
    const { sluice, loops } = await race({ pages: 6, parts: 64, latency: ms }, atOnce, true);
    const work = `rows/s of 64 wallets, ${atOnce} at once, at ${ms} ms per page`;
    figures.push(figureOf({ work, against: peer, unit: 'x', goal: { atLeast: goal } }, ratios(loops, sluice, took)));
  }
  const each = await race({ pages: 1, parts: 2_000, latency: 20 }, 32, false);
  const work = 'of 2,000 wallets, one a request, 32 at once, at 20 ms per page';
  const unlike = await race({ pages: 2, large: 120, parts: 200, latency: 60 }, 8, false);
  return [
    ...figures,
    figureOf(
      { work: `rows/s ${work}`, against: peer, unit: 'x', goal: { atLeast: 0.95 } },
      ratios(each.loops, each.sluice, took),
    ),
    figureOf(
      { work: `CPU ${work}`, against: peer, unit: 'x', goal: { atMost: 1.1 } },
      ratios(each.sluice, each.loops, ({ cpu }) => cpu),
    ),
    figureOf(
      {
        work: 'rows/s of 200 wallets of which the first is large, one a request, 8 at once, at 60 ms per page',
        against: peer,
        unit: 'x',
        goal: { atLeast: 0.95 },
      },
      ratios(unlike.loops, unlike.sluice, took),
    ),
  ];
}
