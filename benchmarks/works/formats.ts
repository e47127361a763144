import { compete } from '../arena.js';
import { figureOf, ratios, type Figure } from '../figures/figure.js';
import { took } from './exports.js';
import type { Work } from './work.js';

/** Formats other than CSV, each compared with the hand-tuned loop of that format. */
export const formats: Work = async ({ rounds, pages, folder }) => {
  const figures: Figure[] = [];
  for (const format of ['jsonl', 'csv.gz'] as const) {
    const { sluice, tuned } = await compete(
      { sluice: { file: 'sluice', format }, tuned: { file: 'handTunedAxios', format } },
      { pages, parts: 1, latency: 0 },
      { rounds, folder },
    );
    figures.push(
      figureOf(
        {
          work: `rows/s of an export as ${format}`,
          against: 'the hand-tuned loop over axios with our adapter',
          unit: 'x',
          goal: { atLeast: 0.9 },
        },
        ratios(tuned, sluice, took),
      ),
    );
  }
  return figures;
};
