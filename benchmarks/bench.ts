// How fast Sluice is, as ratios of the same work in the same run: times depend on the machine, ratios hardly do.
//
//   npm run bench                                      everything, about twenty minutes
//   npm run bench -- --only exports,sinks --rounds 9
//   npm run bench -- --rows 10000000                   the largest export whose memory is measured
//   npm run bench -- --only histories --rows 300000     a table with every version of its rows, and a mirror of them
//   npm run bench -- --json figures.json
//   npm run bench -- --keep                            writes benchmarks/figures.json, which the README explains
//   npm run bench -- --check                           short runs; fails if something became much worse
//   npm run bench -- --check --keep                    accepts the current figures, in benchmarks/checkFigures.json
import { mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import type { Figure } from './figures/figure.js';
import { keepFigures, keptFigures } from './figures/keepFigures.js';
import { lost } from './figures/lost.js';
import { printFigures } from './figures/printFigures.js';
import { clusters } from './works/clusters.js';
import { commits } from './works/commits.js';
import { dashboards } from './works/dashboards.js';
import { exports } from './works/exports.js';
import { forwards } from './works/forwards.js';
import { growth } from './works/growth.js';
import { histories } from './works/histories.js';
import { latency } from './works/latency.js';
import { limits } from './works/limits.js';
import { mirrors } from './works/mirrors.js';
import { formats, sinks } from './works/sinks.js';
import { sizes } from './works/sizes.js';
import { starts } from './works/starts.js';
import { watches } from './works/watches.js';
import { wholes } from './works/wholes.js';
import type { Work } from './works/work.js';

const all: Readonly<Record<string, Work>> = {
  exports,
  sinks,
  mirrors,
  commits,
  latency,
  limits,
  growth,
  histories,
  watches,
  forwards,
  starts,
  sizes,
  clusters,
  dashboards,
  wholes,
};
/** Benchmarks whose ratios are steady enough to be compared on any machine. */
const checked: Readonly<Record<string, Work>> = { exports, formats, starts };

const { values } = parseArgs({
  options: {
    only: { type: 'string' },
    rounds: { type: 'string' },
    rows: { type: 'string', default: '1000000' },
    json: { type: 'string' },
    keep: { type: 'boolean', default: false },
    check: { type: 'boolean', default: false },
  },
});
const { check } = values;
const works = check ? checked : all;
// Short runs start colder than long ones, so they have figures of their own.
const keptPath = fileURLToPath(new URL(check ? 'checkFigures.json' : 'figures.json', import.meta.url));
const picked = values.only?.split(',') ?? Object.keys(works);
const unknown = picked.find((name) => !Object.hasOwn(works, name));
if (unknown !== undefined) {
  console.error(`--only is "${unknown}": give some of ${Object.keys(works).join(',')}.`);
  process.exit(2);
}

const folder = mkdtempSync(join(process.cwd(), 'bench-'));
const extent = {
  folder,
  pages: check ? 500 : 1_000,
  maxRows: Number(values.rows),
  rounds: Number(values.rounds ?? (check ? 5 : 7)),
};
try {
  const figures = await measured();
  if (values.json !== undefined) keepFigures(values.json, figures);
  if (values.keep) keepFigures(keptPath, figures);
  else if (check) process.exitCode = (await isLost(figures)) ? 1 : 0;
} finally {
  rmSync(folder, { recursive: true });
}

async function measured(): Promise<readonly Figure[]> {
  const figures: Figure[] = [];
  for (const name of picked) figures.push(...((await works[name]?.(extent)) ?? []));
  printFigures(figures);
  return figures;
}

/** Whether something became much worse than before. A busy machine rarely disturbs two runs in a row. */
async function isLost(figures: readonly Figure[]): Promise<boolean> {
  const suspects = lost(figures, keptFigures(keptPath));
  if (suspects.length === 0) return false;
  console.error(`\nMuch worse than before: ${names(suspects)}. Measuring again:\n`);
  const again = lost(await measured(), keptFigures(keptPath)).filter(({ work, against }) =>
    suspects.some((suspect) => suspect.work === work && suspect.against === against),
  );
  if (again.length > 0) console.error(`\nMuch worse than before, twice: ${names(again)}.`);
  return again.length > 0;
}

function names(figures: readonly Figure[]): string {
  return figures.map(({ work, against }) => `${work} against ${against}`).join('; ');
}
