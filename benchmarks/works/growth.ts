import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { compete } from '../arena.js';
import type { Figure } from '../figures/figure.js';
import { growthPicture, type Growth } from '../figures/growthPicture.js';
import { rowsPerPage } from '../server/servedPages.js';
import type { Work } from './work.js';

/** Heap in MiB for the largest export. */
const heap = 64;
const picture = fileURLToPath(new URL('../growth.svg', import.meta.url));

/** How an export behaves as it grows, each size in a process of its own with a small heap. Draws the picture. */
export const growth: Work = async ({ maxRows, folder }) => {
  const measured: Growth[] = [];
  for (let rows = 10_000; rows <= maxRows; rows *= 10) {
    const { sluice } = await compete(
      { sluice: { file: 'sluice', heap } },
      { pages: rows / rowsPerPage, parts: 1, latency: 0 },
      { rounds: 1, folder, isWarm: rows < 1_000_000 },
    );
    for (const { ms, peakRss } of sluice) measured.push({ rows, rowsPerSecond: (1000 * rows) / ms, peakRss });
  }
  if (measured.length > 1) writeFileSync(picture, growthPicture(measured));
  return measured.map(({ rows, peakRss }): Figure => {
    const mebibytes = peakRss / 2 ** 20;
    const work = `peak RSS of an export of ${rows.toLocaleString('en')} rows`;
    return { work, against: `a heap of ${heap} MiB`, unit: 'MiB', median: mebibytes, from: mebibytes, to: mebibytes };
  });
};
