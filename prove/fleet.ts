// Proves K8 with up to 1,000 processes, in simulated time: the limiter's code, with the twin of its script in the place of
// Redis. No window has more starts than the limit, 95 % of the rate is used, and no process gets less than half of its fair
// share. Redis is called at most twice for each start by a hundred processes, and at most three times by a thousand.
//
//   npm run prove -- fleet --workers 1000
//   npm run prove -- fleet --keep         draws the pictures of the docs anew
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { playFleet } from './fleet/fleet.js';
import { palettes } from '../scripts/chart.js';
import { fleetPicture } from './fleet/fleetPicture.js';
import { wholeNumber } from './terminal/options.js';
import { printTable } from './terminal/printTable.js';

const { values } = parseArgs({
  options: {
    /** The largest fleet. */
    workers: { type: 'string', default: '1000' },
    keep: { type: 'boolean', default: false },
  },
});
const most = wholeNumber('workers', values.workers, 1);
const limit = { requests: 50, per: 1_000 };
const way = { distance: 2, took: 60, parallel: 1 };
// With fewer, the requests of all take too long to use up the limit.
const sizes = [4, 10, 20, 50, 100, 200, 500, 1_000].filter((size) => size <= most);

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
const reports = [];
for (const workers of sizes) reports.push(await playFleet({ workers, ...limit, ...way }, turn));
printTable(
  ['processes', 'of the limit', 'worst window', 'least', 'most', 'calls/start', 'calls/s'],
  reports.map(({ workers, share, worst, least, most: largest, callsPerStart, callsPerSecond }) => [
    workers,
    `${(100 * share).toFixed(1)} %`,
    worst,
    least.toFixed(2),
    largest.toFixed(2),
    callsPerStart.toFixed(2),
    Math.round(callsPerSecond),
  ]),
);
if (values.keep)
  for (const [name, palette] of Object.entries(palettes)) {
    const path = join(import.meta.dirname, '..', 'docs', `fleet-${name}.svg`);
    writeFileSync(path, fleetPicture(reports, palette));
  }
const isProven = reports.every(
  ({ workers, share, worst, least, callsPerStart }) =>
    worst <= limit.requests && share >= 0.95 && least >= 0.5 && callsPerStart <= (workers > 100 ? 3 : 2),
);
console.log(isProven ? '\nProven: see the table.' : '\nNOT proven: see the table.');
process.exitCode = isProven ? 0 : 1;
