// Proves L1 and K8 on real clocks: a strict server of 50 requests per second, in a process of its own, refuses none and
// receives 98 % of its rate. With a Redis, four processes that share a limit of 20, 50 or 200 requests per second, and whose
// responses take 40 ms, get as little refused as one process did in the same run, and 95 % of the rate.
//
//   npm run prove -- rate --runs 10
//
// With --minutes, servers of 5, 50 and 500 requests per second are behind TLS, two processes keep the processors busy, and
// every 20 seconds the connections are idle until their server closes them: none of them refuses any in so many minutes.
//
//   npm run prove -- rate --minutes 20
//
// It also measures this machine: a stalled server sees the requests in its socket late. Run it on an idle machine; the last
// column says how long the server stalled.
import { parseArgs } from 'node:util';
import { redisProgram, startRedis } from '../test/kit/redisServer.js';
import { printTable } from './terminal/printTable.js';
import { busyRuns } from './rate/busyRun.js';
import { sharedRun, strictRun, windows, type StrictRun } from './rate/strictRun.js';

const minShare = 0.98;
const minSharedShare = 0.95;
const perSecond = 50;
const processes = 4;
/** Of all processes together. */
const concurrency = 16;
const sharedRates = [20, 50, 200];
const latency = 40;

const { values } = parseArgs({ options: { runs: { type: 'string', default: '5' }, minutes: { type: 'string' } } });
const kept = await (values.minutes === undefined ? runs(Number(values.runs)) : minutes(Number(values.minutes)));
const isProven = kept.every(Boolean);
console.log(isProven ? '\nProven: no 429 more than promised, in every run.' : '\nNOT proven: see the table.');
process.exitCode = isProven ? 0 : 1;

/** @returns whether each run kept what is promised */
async function runs(count: number): Promise<boolean[]> {
  const redis = redisProgram === undefined ? undefined : await startRedis(['--appendonly', 'no']);
  const rows: (string | number)[][] = [];
  const kept: boolean[] = [];
  const judge = (who: string, run: StrictRun, mostRefused: number, leastShare: number): void => {
    const { refused, share, closest, longestStall } = run;
    kept.push(refused <= mostRefused && share >= leastShare);
    rows.push([who, refused, `${(100 * share).toFixed(1)} %`, closest.toFixed(1), longestStall.toFixed(1)]);
  };
  for (let nth = 1; nth <= count; nth += 1) {
    for (const atOnce of [1, 8])
      judge(`one process, ${atOnce} at once`, await strictRun(atOnce, perSecond), 0, minShare);
    for (const rate of redis ? sharedRates : []) {
      const single = await strictRun(concurrency, rate, latency);
      judge(`one process, ${concurrency} at once, ${rate}/s, ${latency} ms`, single, 0, minSharedShare);
      const shared = await sharedRun({ processes, concurrency, perSecond: rate, latency, redisUrl: redis?.url ?? '' });
      judge(`${processes} processes, ${concurrency / processes} at once each`, shared, single.refused, minSharedShare);
    }
  }
  await redis?.close();
  console.log(`The requests of ${windows} seconds per run, at most ${perSecond} in a second if no rate is named\n`);
  printTable(['by', '429s', 'of the rate', 'closest one more (ms)', 'server stalled (ms)'], rows);
  if (!redis) console.log('\nRedis is not installed, so several processes were left out.');
  return kept;
}

/** @returns whether nothing was refused, at each rate */
async function minutes(count: number): Promise<boolean[]> {
  const limits = [5, 50, 500];
  const runs = await busyRuns(limits, count);
  console.log(`${count} minutes, behind TLS, beside two busy processes\n`);
  printTable(
    ['per second', 'requests', '429s', 'closest one more (ms)', 'server stalled (ms)'],
    runs.map(({ requests, refused, closest, longestStall }, nth) => {
      return [limits[nth] ?? NaN, requests, refused, closest.toFixed(1), longestStall.toFixed(1)];
    }),
  );
  return runs.map(({ refused }) => refused === 0);
}
