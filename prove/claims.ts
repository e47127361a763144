// Proves E8 with processes of the machine and of containers, which are made with `unshare`.
//
//   npm run prove -- claims --rounds 1000 --stopped 60 --seed 7
//   npm run prove -- claims --only races      or cells
//
// Races: four processes, three of them in containers, want one lock at the same moment. A third of them are killed, some are
// stopped. Cells: a command of each target that holds a lock is killed with SIGKILL, stopped with SIGSTOP, and continued,
// beside the same command in a container of the same host name, or another one; its folder is copied, and renamed.
import { randomInt } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { hasContainers } from '../test/kit/container.js';
import { playCells } from './claims/cells.js';
import { runRaces } from './claims/races.js';
import { refuse, wholeNumber } from './terminal/options.js';
import { printTable } from './terminal/printTable.js';

const { values } = parseArgs({
  options: {
    /** Number of races. */
    rounds: { type: 'string', default: '1000' },
    /** Seconds for which commands are stopped. */
    stopped: { type: 'string', default: '60' },
    /** Draws the races. Default: random. */
    seed: { type: 'string', default: String(randomInt(1_000_000)) },
    only: { type: 'string' },
  },
});
const races = wholeNumber('rounds', values.rounds, 1);
const stopped = wholeNumber('stopped', values.stopped, 0);
const seed = wholeNumber('seed', values.seed, 0);
const { only } = values;
if (only !== undefined && only !== 'races' && only !== 'cells') refuse('--only is races or cells.');
if (!hasContainers) console.log('Without containers, since this user may not make namespaces (unshare): no cells.');

const folder = await mkdtemp(join(tmpdir(), 'sluice-claims-'));
const faults: string[] = [];
if (only !== 'cells') {
  const began = performance.now();
  const outcome = await runRaces({ races, seed, folder });
  const { acquiring, holding, releasing } = outcome.killed;
  faults.push(...outcome.faults);
  const seconds = ((performance.now() - began) / 1_000).toFixed(0);
  console.log(`seed ${seed}: ${outcome.races} races of four, ${seconds} s\n`);
  printTable(
    ['locked', 'killed while acquiring', 'holding', 'releasing', 'all four killed', 'stopped holders', 'faults'],
    [[outcome.entered, acquiring, holding, releasing, outcome.deserted, outcome.stopped, outcome.faults.length]],
  );
}
if (only !== 'races' && hasContainers) {
  const cells = await playCells({ stopped: stopped * 1_000, folder });
  faults.push(...cells.flatMap((cell) => cell.faults));
  console.log('');
  printTable(
    ['command', 'beside it', 'what happens to it', 'refused', 'faults'],
    cells.map(({ job, host, fate, refused, faults: { length } }) => [job, host, fate, refused, length]),
  );
}
for (const fault of faults) console.log(`- ${fault}`);
if (faults.length === 0) await rm(folder, { recursive: true });
console.log(
  faults.length === 0
    ? '\nProven: never two at once, a live holder keeps its lock, and one that was killed is in nobody’s way.'
    : `\nNOT proven. The folder stays: ${folder}\nAgain with: npm run prove -- claims --rounds ${races} --stopped ${stopped} --seed ${seed}`,
);
process.exitCode = faults.length === 0 ? 0 : 1;
