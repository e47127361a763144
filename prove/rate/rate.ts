import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import type { Client, Endpoint, Limit, Plugin } from '@sluice/core';

/** The server's strict limit, and the client's setting. */
export const rate = { requests: 50, per: 1_000 } as const satisfies Limit;

/** The server's first message. */
export interface ServerAddress {
  readonly streamsUrl: string;
  readonly apiKey: string;
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
  readonly requests: number;
  readonly concurrency: number;
}

/** Sends requests, so many in parallel. The server counts refusals; the walk through the log continues. */
export async function requestsOf(
  client: Client,
  { streamsUrl, requests, concurrency }: Omit<ClientTask, 'redisUrl' | 'apiKey'>,
): Promise<void> {
  const plugin: Plugin<'api', Endpoint> = { name: 'api', setup: ({ endpoint }) => endpoint(streamsUrl) };
  const { api } = client.use(plugin);
  let left = requests;
  const worker = async (): Promise<void> => {
    while (left > 0) {
      left -= 1;
      await api.request({ route: 'streams.list', path: '/streams/evm', query: { limit: 1 } }).catch(() => undefined);
    }
  };
  await Promise.all(Array.from({ length: concurrency }, worker));
}

/** The next message of another process. */
export async function messageFrom<T>(other: ChildProcess): Promise<T> {
  const [said] = await once(other, 'message');
  return said;
}
