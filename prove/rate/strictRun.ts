import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { createClient, type Endpoint, type Plugin } from '@sluice/core';
import { rate, type ServerAddress, type ServerLog } from './rate.js';

/** Of a run. */
export const requests = 300;

/** What a server that refuses all beyond its rate saw of a client that asks as often as its limiter lets it. */
export interface StrictRun {
  /** Requests that it refused. */
  readonly refused: number;
  /** Of the rate, once the first burst is through. */
  readonly share: number;
  /** The shortest time in which one request more than allowed arrived, in ms. */
  readonly closest: number;
  /** Longest time in which the server did nothing, in ms: a request that came then arrived late. */
  readonly longestStall: number;
}

/** Asks a strict server, in a process of its own, with so many requests under way at once. */
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
      // A refusal is counted by the server; the walk through the log goes on.
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
