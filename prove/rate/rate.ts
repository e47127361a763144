import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import type { Client, Endpoint, Plugin } from '@sluice/core';

/** The server's first message. */
export interface ServerAddress {
  readonly url: string;
}

/** The server's last message. Times are ms by its own clock. */
export interface ServerLog {
  readonly arrivals: readonly number[];
  /** Requests that got a 429. */
  readonly refused: number;
  /** The longest time for which the server's process stalled: its observations may be late by as much. */
  readonly longestStall: number;
}

/** What one process has to do. */
export interface ClientTask extends ServerAddress {
  readonly redisUrl: string;
  readonly perSecond: number;
  readonly requests: number;
  readonly concurrency: number;
}

/** The API of a server, which needs no plugin of its own. */
export function openApi(client: Client, url: string): Endpoint {
  const plugin: Plugin<'api', Endpoint> = { name: 'api', setup: ({ endpoint }) => endpoint(url) };
  return client.use(plugin).api;
}

/** Sends requests, so many in parallel. The server counts refusals; the walk through the log continues. */
export async function requestsOf(api: Endpoint, requests: number, concurrency: number): Promise<void> {
  let left = requests;
  const worker = async (): Promise<void> => {
    while (left > 0) {
      left -= 1;
      await api.request({ route: 'rows', path: '/rows', query: {} }).catch(() => undefined);
    }
  };
  await Promise.all(Array.from({ length: concurrency }, worker));
}

/** The next message of another process. */
export async function messageFrom<T>(other: ChildProcess): Promise<T> {
  const [said] = await once(other, 'message');
  return said;
}
