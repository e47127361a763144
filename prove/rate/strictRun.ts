import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { createClient } from '@sluice/core';
import { messageFrom, rate, requestsOf, type ClientTask, type ServerAddress, type ServerLog } from './rate.js';

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
  return observed(async ({ streamsUrl, apiKey }) => {
    await using client = createClient({ apiKey, rateLimit: rate, retry: { retries: 0 } });
    await requestsOf(client, { streamsUrl, requests, concurrency });
  });
}

/** The same from several processes, which share a limiter in Redis. */
export async function sharedRun(processes: number, redisUrl: string): Promise<StrictRun> {
  return observed(async (address) => {
    const task: ClientTask = { ...address, redisUrl, requests: requests / processes, concurrency: 2 };
    const clients = Array.from({ length: processes }, () =>
      fork(fileURLToPath(new URL('sharedClient.ts', import.meta.url))),
    );
    await Promise.all(
      clients.map(async (client) => {
        client.send(task);
        await once(client, 'exit');
      }),
    );
  });
}

async function observed(send: (address: ServerAddress) => Promise<void>): Promise<StrictRun> {
  const server = fork(fileURLToPath(new URL('server.ts', import.meta.url)));
  const address = await messageFrom<ServerAddress>(server);
  await send(address);
  server.send('enough');
  const { arrivals, refused, longestStall } = await messageFrom<ServerLog>(server);
  return { refused, longestStall, share: steadyShare(arrivals), closest: closest(arrivals) };
}

/**
 * The rate over the windows in the middle, as a share of the limit: the first window is a burst, the last one
 * incomplete.
 */
function steadyShare(arrivals: readonly number[]): number {
  const from = 70;
  const windows = 4;
  const began = arrivals[from] ?? NaN;
  const ended = arrivals[from + windows * rate.requests] ?? NaN;
  return (windows * rate.per) / (ended - began);
}

/** The shortest time in which one request more than permitted arrived, in ms. */
function closest(arrivals: readonly number[]): number {
  return Math.min(...arrivals.slice(rate.requests).map((at, nth) => at - (arrivals[nth] ?? NaN)));
}
