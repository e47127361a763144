import type { Limit } from '@sluice/core';

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
