import type { Limit } from '@sluice/core';

/** What the server allows, strictly, and what the client is told. */
export const rate = { requests: 50, per: 1_000 } as const satisfies Limit;

/** The server's first message. */
export interface ServerAddress {
  readonly streamsUrl: string;
  readonly apiKey: string;
}

/** The server's last message. Times are ms by its own clock. */
export interface ServerLog {
  readonly arrivals: readonly number[];
  /** Requests answered with 429. */
  readonly refused: number;
  /** The longest that the server's process stood still: what it saw may be late by as much. */
  readonly longestStall: number;
}
