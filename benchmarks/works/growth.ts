import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { printTable } from '../../prove/terminal/printTable.js';
import { palettes } from '../../scripts/chart.js';
import { compete, type Effort, type Entrant } from '../arena.js';
import { figureOf, type Figure } from '../figures/figure.js';
import { growthPicture, type GrowthPoint } from '../figures/growthPicture.js';
import { rowsPerPage } from '../server/servedPages.js';
import type { Work } from './work.js';

/** Heap in MiB for each export, and a larger one for comparison. */
const heap = 64;
const largeHeap = 256;
const mebibyte = 2 ** 20;
const pictures = { light: 'growth.svg', dark: 'growth-dark.svg' } as const;

const counts = [1, 2, 4, 8, 16, 32, 64];
/** Enough for one process to wait for the server, not for itself, up to some 30 partitions. */
const partitionLatency = 60;
/** About 4 s if only the server is waited for. */
const pagesPerPartition = 60;
/**
 * An export of one partition takes about 160 MiB. Each of the 63 other partitions has two buffers of 256 KiB for rows that
 * wait for their turn, and each of 64 requests a body of 71 kB: 36 MiB. Parsed pages are in the heap, which is limited.
 */
const maxPeakRss = 200 * mebibyte;

const delays = [0, 5, 25, 50, 100, 200];
const concurrency = 8;

/** An export of a series, by what grows. */
interface Grown extends Effort {
  readonly of: number;
}

/** How an export behaves as it grows, each size in a process of its own with a small heap. Draws the pictures. */
export const growth: Work = async ({ maxRows, folder }) => {
  const rows = await byRows(maxRows, folder);
  const { partitions, roomy } = await byPartitions(folder);
  const { one, many } = await byLatency(folder);
  print('rows', rows);
  print(`partitions, ${partitionLatency} ms a page`, partitions);
  print('ms of latency, concurrency 1', one);
  print(`ms of latency, concurrency ${concurrency}`, many);
  if (rows.length > 1) {
    const measured = {
      rows: rows.map(point),
      partitions: partitions.map(point),
      partitionLatency,
      maxPeakRss,
      concurrency,
      latencies: one.map(point),
      concurrentLatencies: many.map(point),
    };
    for (const scheme of ['light', 'dark'] as const) {
      const path = fileURLToPath(new URL(`../${pictures[scheme]}`, import.meta.url));
      writeFileSync(path, growthPicture(measured, palettes[scheme]));
    }
  }
  return [...rows.map(memoryOf), ...figuresOf(partitions, roomy)];
};

/** One partition without latency, of ten thousand rows and more. */
async function byRows(maxRows: number, folder: string): Promise<readonly Grown[]> {
  const measured: Grown[] = [];
  for (let rows = 10_000; rows <= maxRows; rows *= 10) {
    const { sluice } = await compete(
      { sluice: { file: 'sluice', heap } },
      { pages: rows / rowsPerPage, parts: 1, latency: 0 },
      { rounds: 1, folder, isWarm: rows < 1_000_000 },
    );
    measured.push(...grown(rows, sluice));
  }
  return measured;
}

/** Concurrent partitions, each with a wallet of its own and as many pages as all others; the most also with a large heap. */
async function byPartitions(
  folder: string,
): Promise<{ readonly partitions: readonly Grown[]; readonly roomy: readonly Effort[] }> {
  const most = Math.max(...counts);
  const entrant = (count: number): Entrant => ({ file: 'sluice', heap, wallets: count, concurrency: count });
  const { roomy = [], ...efforts } = await compete<string>(
    {
      ...Object.fromEntries(counts.map((count) => [`of${count}`, entrant(count)])),
      roomy: { ...entrant(most), heap: largeHeap },
    },
    { pages: pagesPerPartition, parts: most, latency: partitionLatency },
    { rounds: 1, folder },
  );
  return { partitions: counts.flatMap((count) => grown(count, efforts[`of${count}`])), roomy };
}

/** One partition and several, as the server takes more time for a page. */
async function byLatency(folder: string): Promise<Readonly<Record<'one' | 'many', readonly Grown[]>>> {
  const [one, many]: [Grown[], Grown[]] = [[], []];
  for (const latency of delays) {
    // Each takes about as long, 3 s with a concurrency of 1.
    const pages = Math.round(3_000 / (latency + 5));
    const efforts = await compete(
      { one: { file: 'sluice', heap, wallets: 1 }, many: { file: 'sluice', heap, concurrency } },
      { pages, parts: concurrency, latency },
      { rounds: 1, folder },
    );
    one.push(...grown(latency, efforts.one));
    many.push(...grown(latency, efforts.many));
  }
  return { one, many };
}

function grown(of: number, efforts: readonly Effort[] = []): readonly Grown[] {
  return efforts.map((effort) => ({ of, ...effort }));
}

function memoryOf({ of, peakRss }: Grown): Figure {
  const work = `peak RSS of an export of ${of.toLocaleString('en')} rows`;
  return figureOf({ work, against: `a heap of ${heap} MiB`, unit: 'MiB' }, [peakRss / mebibyte]);
}

/** Of the most partitions: their memory, and where one process ends. */
function figuresOf(partitions: readonly Grown[], [roomy]: readonly Effort[]): Figure[] {
  const one = partitions.at(0);
  const most = partitions.at(-1);
  if (!one || !most || !roomy) return [];
  const many = `${most.of} concurrent partitions`;
  const at = `${many}, ${partitionLatency} ms a page`;
  return [
    figureOf(
      {
        work: `peak RSS of an export with ${many}`,
        against: `a heap of ${heap} MiB`,
        unit: 'MiB',
        goal: { atMost: maxPeakRss / mebibyte },
      },
      [most.peakRss / mebibyte],
    ),
    figureOf({ work: `rows/s of ${at}`, against: 'one partition', unit: 'x' }, [speedOf(most) / speedOf(one)]),
    figureOf({ work: `rows/s of ${at}, a heap of ${largeHeap} MiB`, against: `a heap of ${heap} MiB`, unit: 'x' }, [
      speedOf(roomy) / speedOf(most),
    ]),
    figureOf({ work: `CPU of ${at}`, against: 'one core', unit: '%' }, [100 * coresOf(most)]),
  ];
}

function print(of: string, measured: readonly Grown[]): void {
  printTable(
    [of, 'rows/s', 'CPU of a core', 'peak RSS'],
    measured.map((each) => [
      each.of.toLocaleString('en'),
      Math.round(speedOf(each)).toLocaleString('en'),
      `${(100 * coresOf(each)).toFixed(0)} %`,
      `${(each.peakRss / mebibyte).toFixed(0)} MiB`,
    ]),
  );
  console.log('');
}

function point(each: Grown): GrowthPoint {
  return { of: each.of, rowsPerSecond: speedOf(each), peakRss: each.peakRss };
}

function speedOf({ rows, ms }: Effort): number {
  return (1_000 * rows) / ms;
}

function coresOf({ cpu, ms }: Effort): number {
  return cpu / ms;
}
