import type { Client } from '@sluice/core';

/** What the requests of a client came to so far. */
export interface RequestTally {
  /** Attempts sent. */
  readonly requests: number;
  readonly retries: number;
  /** Ms that attempts waited for their turn at the limiter, added up. */
  readonly waited: number;
  /** Retries by the code of the error that they followed. */
  readonly retriesAfter: ReadonlyMap<string, number>;
}

/** Counts a client's requests from now on. The answer is live. */
export function tallyRequests(client: Client): RequestTally {
  const retriesAfter = new Map<string, number>();
  const tally = { requests: 0, retries: 0, waited: 0, retriesAfter };
  client.events.subscribe((event) => {
    if (event.type === 'attempt') {
      tally.requests += 1;
      tally.waited += event.waited;
    }
    if (event.type === 'retry') {
      tally.retries += 1;
      retriesAfter.set(event.reason, (retriesAfter.get(event.reason) ?? 0) + 1);
    }
  });
  return tally;
}
