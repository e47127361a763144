import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { createClient } from '@sluice/core';
import { messageFrom, openApi, requestsOf, type ClientTask, type ServerAddress, type ServerLog } from './rate.js';

/** What a server with a strict limit observed of a client that requests as often as its limiter permits. */
export interface StrictRun {
  readonly requests: number;
  /** Refused requests. */
  readonly refused: number;
  /** Share of the rate, after the first burst. */
  readonly share: number;
  /** The shortest time in which one request more than permitted arrived, in ms. */
  readonly closest: number;
  /** Longest stall of the server, in ms: a request during it arrived late. */
  readonly longestStall: number;
}

/** Windows of a run. */
export const windows = 6;

/** Sends requests to a strict server in a process of its own, with this many in parallel. */
export function strictRun(concurrency: number, limit: number, latency = 0): Promise<StrictRun> {
  const send = async (url: string): Promise<void> => {
    const rateLimit = { requests: limit, per: 1_000 };
    await using client = createClient({ apiKey: 'no-key-is-asked-for', rateLimit, retry: { retries: 0 } });
    await requestsOf(openApi(client, url), windows * limit, concurrency);
  };
  return observed(limit, send, { latency });
}

/** The same from several processes, which share a limiter in Redis. */
export function sharedRun({
  processes,
  concurrency,
  latency,
  ...limit
}: {
  readonly processes: number;
  /** Of all of them together. */
  readonly concurrency: number;
  readonly perSecond: number;
  /** Ms until the server responds. */
  readonly latency: number;
  readonly redisUrl: string;
}): Promise<StrictRun> {
  const send = async (url: string): Promise<void> => {
    const requests = (windows * limit.perSecond) / processes;
    const task: ClientTask = { url, ...limit, requests, concurrency: concurrency / processes };
    const clients = Array.from({ length: processes }, () =>
      fork(fileURLToPath(new URL('sharedClient.ts', import.meta.url))),
    );
    await Promise.all(
      clients.map(async (client) => {
        client.send(task);
        await once(client, 'exit');
      }),
    );
  };
  return observed(limit.perSecond, send, { latency });
}

/** What a strict server observes while requests are sent to its URL. */
export async function observed(
  limit: number,
  send: (url: string) => Promise<void>,
  { tls = false, latency = 0 } = {},
): Promise<StrictRun> {
  const settings = [String(limit), String(latency), ...(tls ? ['--tls'] : [])];
  const server = fork(fileURLToPath(new URL('server.ts', import.meta.url)), settings);
  try {
    const { url } = await messageFrom<ServerAddress>(server);
    await send(url);
    server.send('enough');
    const { arrivals, refused, longestStall } = await messageFrom<ServerLog>(server);
    return {
      requests: arrivals.length,
      refused,
      longestStall,
      share: steadyShare(arrivals, limit),
      closest: closest(arrivals, limit),
    };
  } finally {
    server.kill('SIGKILL');
  }
}

/**
 * The rate over the windows in the middle, as a share of the limit: the first window is a burst, the last one
 * incomplete.
 */
function steadyShare(arrivals: readonly number[], limit: number): number {
  const from = Math.round(1.4 * limit);
  const steady = windows - 2;
  const began = arrivals[from] ?? NaN;
  const ended = arrivals[from + steady * limit] ?? NaN;
  return (steady * 1_000) / (ended - began);
}

/** The shortest time in which one request more than permitted arrived, in ms. */
function closest(arrivals: readonly number[], limit: number): number {
  return arrivals.slice(limit).reduce((least, at, nth) => Math.min(least, at - (arrivals[nth] ?? NaN)), Infinity);
}
