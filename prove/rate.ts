// Proves L1 on raw clocks: a strict server of 50 requests a second, in a process of its own, refuses none and gets 98 % of its rate.
//
//   npm run prove:rate -- --runs 10
//
// It measures this machine too: a process that is kept waiting while a request lies in its socket sees it arrive late. Run it on an
// idle one; the last column says how long the server stood still.
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { createClient, type Endpoint, type Plugin } from '@sluice/core';
import { printTable } from './printTable.js';
import { rate, type ServerAddress, type ServerLog } from './rate/rate.js';

const requests = 300;
const leastShare = 0.98;

const { values } = parseArgs({ options: { runs: { type: 'string', default: '5' } } });
const rows = [];
let isProven = true;
for (let run = 1; run <= Number(values.runs); run += 1) {
  for (const lanes of [1, 8]) {
    const { arrivals, refused, longestStall } = await measure(lanes);
    const share = steadyShare(arrivals);
    isProven &&= refused === 0 && share >= leastShare;
    rows.push([lanes, refused, `${(100 * share).toFixed(1)} %`, closest(arrivals).toFixed(1), longestStall.toFixed(1)]);
  }
}
console.log(`${requests} requests a run, at most ${rate.requests} in ${rate.per} ms\n`);
printTable(['at once', '429s', 'of the rate', `closest ${rate.requests + 1} (ms)`, 'server stood still (ms)'], rows);
console.log(isProven ? '\nProven: no 429, and at least 98 % in every run.' : '\nNOT proven: see the table.');
process.exitCode = isProven ? 0 : 1;

async function measure(lanes: number): Promise<ServerLog> {
  const server = fork(fileURLToPath(new URL('rate/server.ts', import.meta.url)));
  const { streamsUrl, apiKey } = await message<ServerAddress>();
  const api: Plugin<'api', Endpoint> = { name: 'api', setup: ({ endpoint }) => endpoint(streamsUrl) };
  await using client = createClient({ apiKey, rateLimit: rate, retry: { retries: 0 } }).use(api);
  let left = requests;
  const lane = async (): Promise<void> => {
    while (left > 0) {
      left -= 1;
      // A refusal is counted by the server; the walk through the log goes on.
      await client.api
        .request({ route: 'streams.list', path: '/streams/evm', query: { limit: 1 } })
        .catch(() => undefined);
    }
  };
  await Promise.all(Array.from({ length: lanes }, lane));
  server.send('enough');
  return await message<ServerLog>();

  async function message<T>(): Promise<T> {
    const [said] = await once(server, 'message');
    return said;
  }
}

/** The rate over the windows in the middle, as a share of what is allowed: the first window is a burst, the last one is cut off. */
function steadyShare(arrivals: readonly number[]): number {
  const [from, windows] = [70, 4];
  const began = arrivals[from] ?? NaN;
  const ended = arrivals[from + windows * rate.requests] ?? NaN;
  return (windows * rate.per) / (ended - began);
}

/** The shortest time in which one request more than allowed arrived, in ms. */
function closest(arrivals: readonly number[]): number {
  return Math.min(...arrivals.slice(rate.requests).map((at, nth) => at - (arrivals[nth] ?? NaN)));
}
