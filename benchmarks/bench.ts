// How fast Sluice is, as ratios of the same work in the same run: the machine decides the times, not the ratios.
//
//   npm run bench                                      all of it, some ten minutes
//   npm run bench -- --only exports,formats --rounds 9
//   npm run bench -- --rows 10000000                   the largest export whose memory is looked at
//   npm run bench -- --json figures.json
//   npm run bench -- --check                           a few rounds; fails where something takes twice as long as it should
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { cpus } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { isReached, type Figure } from './figures/figure.js';
import { printFigures } from './figures/printFigures.js';
import { commits } from './works/commits.js';
import { exports } from './works/exports.js';
import { formats } from './works/formats.js';
import { forwards } from './works/forwards.js';
import { growth } from './works/growth.js';
import { latencies } from './works/latency.js';
import { sizes } from './works/sizes.js';
import { starts } from './works/starts.js';
import { watches } from './works/watches.js';
import type { Work } from './works/work.js';

const works: Readonly<Record<string, Work>> = {
  ...{ exports, latencies, commits, formats, growth, watches, forwards, starts, sizes },
};
/** Works whose ratios are steady enough to be looked at on any machine. */
const checked = ['exports', 'starts'];
/** A goal that is missed by more than this is a loss and no noise. */
const margin = 2;

const { values } = parseArgs({
  options: {
    only: { type: 'string' },
    rounds: { type: 'string' },
    rows: { type: 'string', default: '1000000' },
    json: { type: 'string' },
    check: { type: 'boolean', default: false },
  },
});
const { check } = values;
const picked = values.only?.split(',') ?? (check ? checked : Object.keys(works));
const unknown = picked.find((name) => !Object.hasOwn(works, name));
if (unknown !== undefined) {
  console.error(`--only is "${unknown}": give some of ${Object.keys(works).join(',')}.`);
  process.exit(2);
}

const folder = mkdtempSync(join(process.cwd(), 'bench-'));
const extent = {
  ...{ folder, pages: check ? 300 : 1_000, mostRows: Number(values.rows) },
  rounds: Number(values.rounds ?? (check ? 3 : 7)),
};
const figures: Figure[] = [];
try {
  for (const name of picked) figures.push(...((await works[name]?.(extent)) ?? []));
} finally {
  rmSync(folder, { recursive: true });
}
printFigures(figures);
if (values.json !== undefined) {
  const machine = { node: process.version, cpu: cpus()[0]?.model, cores: cpus().length };
  writeFileSync(
    values.json,
    `${JSON.stringify({ at: new Date().toISOString(), machine, extent, figures }, null, 2)}\n`,
  );
}
if (check) {
  const lost = figures.filter((figure) => isReached(eased(figure)) === false);
  if (lost.length > 0) console.error(`\nMuch slower than it should be: ${lost.map(({ work }) => work).join('; ')}.`);
  process.exitCode = lost.length > 0 ? 1 : 0;
}

/** The same with a goal that only a loss misses. */
function eased(figure: Figure): Figure {
  const { goal } = figure;
  if (!goal) return figure;
  return {
    ...figure,
    goal: 'atLeast' in goal ? { atLeast: goal.atLeast / margin } : { atMost: goal.atMost * margin },
  };
}
