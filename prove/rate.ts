// Proves L1 and K8 on real clocks: a strict server of 50 requests per second, in a process of its own, refuses none and
// receives 98 % of its rate. With a Redis, four processes that share a limiter get as little refused as one process did in
// the same run, and 95 % of the rate.
//
//   npm run prove -- rate --runs 10
//
// It also measures this machine: a stalled server sees the requests in its socket late. Run it on an idle machine; the last
// column says how long the server stalled.
import { parseArgs } from 'node:util';
import { redisProgram, startRedis } from '../test/kit/redisServer.js';
import { printTable } from './terminal/printTable.js';
import { rate } from './rate/rate.js';
import { requests, sharedRun, strictRun, type StrictRun } from './rate/strictRun.js';

const minShare = 0.98;
const minSharedShare = 0.95;
const processes = 4;

const { values } = parseArgs({ options: { runs: { type: 'string', default: '5' } } });
const redis = redisProgram === undefined ? undefined : await startRedis(['--appendonly', 'no']);
const rows: (string | number)[][] = [];
const kept: boolean[] = [];

function judge(
  who: string,
  run: StrictRun,
  { mostRefused, leastShare }: { mostRefused: number; leastShare: number },
): void {
  const { refused, share, closest, longestStall } = run;
  kept.push(refused <= mostRefused && share >= leastShare);
  rows.push([who, refused, `${(100 * share).toFixed(1)} %`, closest.toFixed(1), longestStall.toFixed(1)]);
}

for (let nth = 1; nth <= Number(values.runs); nth += 1) {
  judge('one process, 1 at once', await strictRun(1), { mostRefused: 0, leastShare: minShare });
  const single = await strictRun(8);
  judge('one process, 8 at once', single, { mostRefused: 0, leastShare: minShare });
  if (!redis) continue;
  const shared = await sharedRun(processes, redis.url);
  judge(`${processes} processes, 2 at once`, shared, { mostRefused: single.refused, leastShare: minSharedShare });
}
await redis?.close();
console.log(`${requests} requests per run, at most ${rate.requests} in ${rate.per} ms\n`);
printTable(['by', '429s', 'of the rate', `closest ${rate.requests + 1} (ms)`, 'server stalled (ms)'], rows);
if (!redis) console.log('\nRedis is not installed, so several processes were left out.');
const isProven = kept.every(Boolean);
console.log(
  isProven
    ? '\nProven: no 429 more than promised, and the share of the rate in every run.'
    : '\nNOT proven: see the table.',
);
process.exitCode = isProven ? 0 : 1;
