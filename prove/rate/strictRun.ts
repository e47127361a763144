import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { createClient, type Endpoint, type Plugin } from '@sluice/core';
import { rate, type ServerAddress, type ServerLog } from './rate.js';

/** Of a run. */
export const requests = 300;

/** What a server with a strict limit observed of a client that requests as often as its limiter permits. */
export interface StrictRun {
  /** Refused requests. */
  readonly refused: number;
  /** Share of the rate, after the first burst. */
  readonly share: number;
  /** The shortest time in which one request more than permitted arrived, in ms. */
  readonly closest: number;
  /** Longest stall of the server, in ms: a request during it arrived late. */
  readonly longestStall: number;
}

/** Sends requests to a strict server in a process of its own, with this many in parallel. */
export async function strictRun(concurrency: number): Promise<StrictRun> {
  const { arrivals, refused, longestStall } = await measure(concurrency);
  return { refused, longestStall, share: steadyShare(arrivals), closest: closest(arrivals) };
}

async function measure(concurrency: number): Promise<ServerLog> {
  const server = fork(fileURLToPath(new URL('server.ts', import.meta.url)));
  const { streamsUrl, apiKey } = await message<ServerAddress>();
  const api: Plugin<'api', Endpoint> = { name: 'api', setup: ({ endpoint }) => endpoint(streamsUrl) };
  await using client = createClient({ apiKey, rateLimit: rate, retry: { retries: 0 } }).use(api);
  let left = requests;
  const worker = async (): Promise<void> => {
    while (left > 0) {
      left -= 1;
      // The server counts refusals; the walk through the log continues.
      await client.api
        .request({ route: 'streams.list', path: '/streams/evm', query: { limit: 1 } })
        .catch(() => undefined);
    }
  };
  await Promise.all(Array.from({ length: concurrency }, worker));
  server.send('enough');
  return await message<ServerLog>();

  async function message<T>(): Promise<T> {
    const [said] = await once(server, 'message');
    return said;
  }
}

/**
 * The rate over the windows in the middle, as a share of the limit: the first window is a burst, the last one
 * incomplete.
 */
function steadyShare(arrivals: readonly number[]): number {
  const [from, windows] = [70, 4];
  const began = arrivals[from] ?? NaN;
  const ended = arrivals[from + windows * rate.requests] ?? NaN;
  return (windows * rate.per) / (ended - began);
}

/** The shortest time in which one request more than permitted arrived, in ms. */
function closest(arrivals: readonly number[]): number {
  return Math.min(...arrivals.slice(rate.requests).map((at, nth) => at - (arrivals[nth] ?? NaN)));
}
