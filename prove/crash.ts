// Proves E1, E2 and E4 against crashes: exports in processes of their own are killed with SIGKILL, between two operations
// on the disk and at requests, and run again until they finish.
//
//   npm run prove -- crash --kills 200 --seed 7
//
//   npm run prove -- crash --to sqlite --kills 100                   exports into tables, also such that drop rows (D1 to D3)
//   npm run prove -- crash --to postgres --kills 100 --crashes 30    and crashes of the server
//
// A failure is printed with the command that repeats its job, and the job's folder stays.
import { mkdtemp, rm } from 'node:fs/promises';
import { randomInt } from 'node:crypto';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { Campaign } from './crash/campaign.js';
import { minPages, size } from './crash/exportOrder.js';
import { shortcomings, tallyOf } from './crash/tally.js';
import { refuse, wholeNumber } from './terminal/options.js';
import { printTable } from './terminal/printTable.js';
import { killTableExports, type Target } from './tables/campaign.js';

const { values } = parseArgs({
  options: {
    /** Minimum number of kills; jobs that have started run to their end. */
    kills: { type: 'string', default: '200' },
    /** Decides everything except which of several parallel requests is faster. Default: random. */
    seed: { type: 'string', default: String(randomInt(1_000_000)) },
    /** Runs only the job with this number. */
    only: { type: 'string' },
    /** Exports into tables of this database instead of files. */
    to: { type: 'string' },
    /** Minimum number of crashes of a database server. */
    crashes: { type: 'string', default: '30' },
  },
});
const wanted = wholeNumber('kills', values.kills, 1);
const seed = wholeNumber('seed', values.seed, 0);
const only = values.only === undefined ? undefined : wholeNumber('only', values.only, 1);

const { to } = values;
if (to !== undefined && to !== 'sqlite' && to !== 'postgres') refuse('--to takes sqlite or postgres.');
const crashes = wholeNumber('crashes', values.crashes, 0);

const folder = await mkdtemp(join(tmpdir(), 'sluice-crash-'));
if (to !== undefined) process.exit((await tables(to)) ? 0 : 1);
const campaign = new Campaign(seed, folder);
const began = performance.now();
const progress = setInterval(() => {
  const { kills, differences } = campaign;
  console.error(`${kills} of ${wanted} kills, ${differences.length} jobs with differences`);
}, 10_000);
let interrupted: NodeJS.Signals | undefined;
for (const signal of ['SIGINT', 'SIGTERM'] as const)
  process.once(signal, () => {
    interrupted = signal;
    void campaign.stop();
  });
try {
  await (only === undefined ? campaign.run(wanted) : campaign.runOnly(only));
} catch (error) {
  if (!interrupted) throw error;
} finally {
  clearInterval(progress);
  await campaign.stop();
  if (campaign.differences.length === 0 || interrupted) await rm(folder, { recursive: true });
}
if (interrupted) process.exit(interrupted === 'SIGINT' ? 130 : 143);
process.exitCode = tell() ? 0 : 1;

/** Prints the result; returns whether everything is proven. */
function tell(): boolean {
  const { finished, differences } = campaign;
  const tally = tallyOf(finished.flatMap(({ kills }) => kills));
  const seconds = ((performance.now() - began) / 1_000).toFixed(0);
  console.log(
    `seed ${seed}: ${campaign.kills} kills in ${finished.length} exports of about ${minPages} pages in ${size.owners} parts, ${seconds} s\n`,
  );
  printTable(
    ['phase', 'kills', 'differences', 'most pages fetched again'],
    tally.map((row) => [row.phase, row.kills, row.differences, row.maxFetchedAgain]),
  );
  for (const job of differences) {
    console.log(`\njob ${job.number}, ${job.folder}`);
    for (const difference of job.differences) console.log(`  ${difference}`);
    console.log(`  again: npm run prove -- crash --seed ${seed} --only ${job.number}`);
  }
  const lacks = only === undefined ? shortcomings(tally, wanted) : [];
  const isProven = lacks.length === 0 && differences.length === 0;
  const reasons = [...lacks, ...(differences.length > 0 ? ['There are differences: see above.'] : [])];
  if (!isProven) console.log(`\nNOT proven: ${reasons.join(' ')}`);
  else if (only !== undefined) console.log('\nNo differences in this job.');
  else console.log('\nProven: the same bytes after every kill, nothing left behind, and few pages fetched again.');
  return isProven;
}

/** Kills exports into tables; returns whether everything is proven. */
async function tables(to: Target): Promise<boolean> {
  const began = performance.now();
  const reported = { at: began };
  const outcome = await killTableExports({
    to,
    seed,
    folder,
    kills: wanted,
    crashes,
    onProgress({ kills, crashes: crashed }) {
      if (performance.now() - reported.at < 10_000) return;
      reported.at = performance.now();
      console.error(`${kills} of ${wanted} kills, ${crashed} crashes of the server`);
    },
  });
  const seconds = ((performance.now() - began) / 1_000).toFixed(0);
  console.log(`seed ${seed}: tables of ${to}, 3 partitions side by side, ${seconds} s\n`);
  printTable(
    ['kills', 'crashes of the server', 'exports', 'differences', 'most pages fetched again'],
    [[outcome.kills, outcome.crashes, outcome.exports, outcome.differences.length, outcome.maxFetchedAgain]],
  );
  for (const difference of outcome.differences) console.log(`  ${difference}`);
  const isProven = outcome.differences.length === 0;
  if (isProven) await rm(folder, { recursive: true });
  console.log(
    isProven
      ? '\nProven: each row once after every kill, checkpoints that say the same, and few pages fetched again.'
      : `\nNOT proven. The folder stays: ${folder}`,
  );
  return isProven;
}
