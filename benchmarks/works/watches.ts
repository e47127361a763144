import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { measured } from '../../prove/watch/measured.js';
import type { ComparisonCost } from '../../prove/watch/comparisonCost.js';
import type { StateBytes } from '../../prove/watch/stateBytes.js';
import type { Figure } from '../figures/figure.js';
import type { WatchPeak } from '../watchPeak.js';
import type { Work } from './work.js';

const rows = 50_000;
const manyRows = 1_000_000;

/** A watch of 50,000 rows of which one in a hundred changed: C11. */
export const watches: Work = async ({ rounds }) => {
  const costs = await measured<readonly ComparisonCost[]>('comparisonCost.ts', rows, rounds);
  const { beyond, row } = await measured<StateBytes>('stateBytes.ts', rows);
  const compared = costs.map(({ projection, comparing: { median, min, max } }): Figure => {
    const work = `CPU of a comparison of ${rows.toLocaleString('en')} rows, ${projection}`;
    return { work, against: '', unit: 'ms', median, from: min, to: max, goal: { atMost: 100 } };
  });
  const parsed = costs.map(({ projection, comparing, parsing }): Figure => {
    const ratio = (value: number): number => value / parsing.median;
    return {
      work: `CPU of a comparison, ${projection}`,
      against: 'JSON.parse of the same pages',
      unit: 'x' as const,
      median: ratio(comparing.median),
      from: ratio(comparing.min),
      to: ratio(comparing.max),
    };
  });
  const kept: Figure = {
    work: 'state of a watch per row',
    against: `besides the row's ${row.toFixed(0)}`,
    unit: 'bytes' as const,
    median: beyond,
    from: beyond,
    to: beyond,
    goal: { atMost: 200 },
  };
  return [...compared, ...parsed, kept, await peak()];
};

/** A fresh watch of a million rows, exported into a file, in a heap of 1 GiB. */
async function peak(): Promise<Figure> {
  const child = fork(fileURLToPath(new URL('../watchPeak.ts', import.meta.url)), [String(manyRows)], {
    execArgv: [...process.execArgv, '--max-old-space-size=1024'],
  });
  const [message] = await Promise.race([once(child, 'message'), once(child, 'exit')]);
  if (typeof message !== 'object') throw new Error(`The watch ended with ${String(message)}.`);
  const { peak: highest, later } = message as WatchPeak;
  const median = highest / later;
  return {
    work: `peak RSS of a fresh watch of ${manyRows.toLocaleString('en')} rows`,
    against: 'its later polls',
    unit: 'x',
    median,
    from: median,
    to: median,
    goal: { atMost: 1.3 },
  };
}
