// Proves L1 on real clocks: a strict server of 50 requests per second, in a process of its own, refuses none and receives
// 98 % of its rate.
//
//   npm run prove:rate -- --runs 10
//
// It also measures this machine: a stalled server sees the requests in its socket late. Run it on an idle machine; the last
// column says how long the server stalled.
import { parseArgs } from 'node:util';
import { printTable } from './printTable.js';
import { rate } from './rate/rate.js';
import { requests, strictRun } from './rate/strictRun.js';

const minShare = 0.98;

const { values } = parseArgs({ options: { runs: { type: 'string', default: '5' } } });
const rows = [];
let isProven = true;
for (let run = 1; run <= Number(values.runs); run += 1) {
  for (const concurrency of [1, 8]) {
    const { refused, share, closest, longestStall } = await strictRun(concurrency);
    isProven &&= refused === 0 && share >= minShare;
    rows.push([concurrency, refused, `${(100 * share).toFixed(1)} %`, closest.toFixed(1), longestStall.toFixed(1)]);
  }
}
console.log(`${requests} requests per run, at most ${rate.requests} in ${rate.per} ms\n`);
printTable(['parallel', '429s', 'of the rate', `closest ${rate.requests + 1} (ms)`, 'server stalled (ms)'], rows);
console.log(isProven ? '\nProven: no 429, and at least 98 % in every run.' : '\nNOT proven: see the table.');
process.exitCode = isProven ? 0 : 1;
