// Proves C6 and C11: the cost, memory and writes of a watch of 50,000 streams, and that each target receives the correct
// changes while the process is killed at operations on the disk and during pages.
//
//   npm run prove -- watch --rows 50000 --polls 200 --pairs 9 --kills 100 --seed 7
//
// It also measures this machine: run it on an idle one. Each measurement runs in a process of its own. `--only cost`,
// `state`, `growth` or `kills` runs one of the four.
import { randomInt } from 'node:crypto';
import { parseArgs } from 'node:util';
import { refuse, wholeNumber } from './terminal/options.js';
import { printTable } from './terminal/printTable.js';
import type { ComparisonCost } from './watch/comparisonCost.js';
import type { Spread } from './watch/cpu.js';
import type { Growth } from './watch/growth.js';
import { killRounds } from './watch/killRounds.js';
import { killTargets } from './watch/killTargets.js';
import { measured } from './watch/measured.js';
import type { PollCost } from './watch/pollCost.js';
import type { StateBytes } from './watch/stateBytes.js';
import { pageSize } from './watch/streamPages.js';

/** The promise of C11, for 50,000 rows. */
const goals = { comparing: 100, stateBytes: 200, heapGrowth: 1_000 } as const;
const goalRows = 50_000;

const { values } = parseArgs({
  options: {
    /** Rows of the listing, in pages of 100. */
    rows: { type: 'string', default: String(goalRows) },
    /** Polls over which memory and log are observed; memory from half of them on. */
    polls: { type: 'string', default: '200' },
    /** Walks and polls that are compared with each other, and measured comparisons. */
    pairs: { type: 'string', default: '9' },
    /** Rounds of kills, for each target. */
    kills: { type: 'string', default: '100' },
    /** Seed of the kills. Default: random. */
    seed: { type: 'string', default: String(randomInt(1_000_000)) },
    only: { type: 'string' },
  },
});
const rows = wholeNumber('rows', values.rows, pageSize);
const polls = wholeNumber('polls', values.polls, 20);
const pairs = wholeNumber('pairs', values.pairs, 1);
const kills = wholeNumber('kills', values.kills, 1);
const seed = wholeNumber('seed', values.seed, 0);
if (rows % pageSize > 0) refuse(`--rows is ${rows}: give a multiple of ${pageSize}.`);

const partitions = { cost, state, growth, kills: killed };
const lacks: string[] = [];
const { only } = values;
if (only !== undefined && !Object.hasOwn(partitions, only))
  refuse(`--only is "${only}": give ${Object.keys(partitions).join(', ')}.`);
console.log(`${rows} streams, ${rows / pageSize} pages per poll, one row in a hundred changed`);
for (const [name, partition] of Object.entries(partitions))
  if (only === undefined || only === name) lacks.push(...(await partition()));
if (lacks.length > 0) console.log(`\nNOT proven: ${lacks.join(' ')}`);
else console.log(`\nProven${only === undefined ? '' : `, as far as ${only} goes`}.`);
process.exitCode = lacks.length > 0 ? 1 : 0;

/** The cost of a comparison; returns what is wrong, one sentence each. */
async function cost(): Promise<string[]> {
  const compared = await measured<ComparisonCost[]>('comparisonCost.ts', rows, pairs);
  console.log(
    `\nCPU of the comparison, ${(compared[0]?.bytesPerRow ?? 0).toFixed(0)} bytes a row, pages in memory, ms a poll\n`,
  );
  printTable(
    ['compared', 'median', 'min to max', 'JSON.parse of the same', 'ratio'],
    compared.map(({ projection, comparing, parsing }) => [
      projection,
      comparing.median.toFixed(1),
      range(comparing),
      whole(parsing.median),
      (comparing.median / parsing.median).toFixed(2),
    ]),
  );
  const polled = await measured<PollCost[]>('pollCost.ts', rows, pairs);
  console.log(
    '\nCPU of a poll beyond that of a bare walk, served by the sandbox, state on the disk, turn and turn about, ms\n',
  );
  printTable(
    ['compared', 'a walk', 'beyond it', 'min to max'],
    polled.map(({ projection, walking, beyond }) => [
      projection,
      whole(walking.median),
      whole(beyond.median),
      range(beyond),
    ]),
  );
  const max = Math.max(...compared.map(({ comparing }) => comparing.median));
  const goal = (goals.comparing * rows) / goalRows;
  return max < goal ? [] : [`A comparison took ${max.toFixed(1)} ms, not less than ${goal}.`];
}

/** The state of a watch per row. */
async function state(): Promise<string[]> {
  const { row, beyond } = await measured<StateBytes>('stateBytes.ts', rows);
  console.log('\nHeap per row after forced GC, bytes\n');
  printTable(['the row', 'state besides it'], [[whole(row), whole(beyond)]]);
  return beyond < goals.stateBytes
    ? []
    : [`State is ${whole(beyond)} bytes per row, not less than ${goals.stateBytes}.`];
}

/** The growth of memory and log. */
async function growth(): Promise<string[]> {
  const { heaps, appended, changed, written, compactions } = await measured<Growth>('growth.ts', rows, polls);
  // Each end is the minimum of some samples, because garbage may stay from one to the next.
  const grown = Math.min(...heaps.slice(-3)) - Math.min(...heaps.slice(0, 3));
  const perPoll = grown / (polls / 2);
  console.log(`\nOver ${polls} polls of pages in memory, bytes per poll\n`);
  printTable(
    [`heap, from poll ${polls / 2}`, 'changed rows', 'appended to the log', 'written in all', 'compactions'],
    [[whole(perPoll), whole(changed), whole(appended), whole(written), compactions]],
  );
  return perPoll < goals.heapGrowth
    ? []
    : [`The heap grew by ${whole(perPoll)} bytes per poll, not less than ${goals.heapGrowth}.`];
}

/** Kills with every target. */
async function killed(): Promise<string[]> {
  const found: string[] = [];
  for (const target of killTargets) {
    const { deaths, changes, fault, folder } = await killRounds(target, kills, seed);
    console.log(`\nseed ${seed}: ${deaths.length} kills of a watch into ${target.name}, ${changes} changes\n`);
    printTable(['died', 'kills'], tallied(deaths));
    if (fault !== undefined)
      found.push(`${target.name}: ${fault} (${folder}; again with --only kills --seed ${seed}).`);
  }
  return found;
}

/** How often each operation was a process's last, complete or not. */
function tallied(deaths: readonly string[]): [string, number][] {
  const counts = new Map<string, number>();
  for (const death of deaths) {
    const name = death.replace(/^(before|half-way|after) /, 'at ').replace(/segment$/, 'log');
    counts.set(name, (counts.get(name) ?? 0) + 1);
  }
  return [...counts].sort(([, one], [, other]) => other - one);
}

function whole(figure: number): number {
  return Math.round(figure);
}

function range({ min, max }: Spread): string {
  return `${whole(min)} to ${whole(max)}`;
}
