import type { Client } from '@sluice/core';

/** How far a command has come, and what it cost. */
export interface Progress {
  /** Rows and pages, those of an interrupted run before it included. */
  readonly rows: number;
  readonly pages: number;
  /** Rows of the run before. */
  readonly resumedRows: number;
  /** Rows in all, where somebody knows. */
  readonly total: number | undefined;
  /** Since the start, in ms. */
  readonly elapsed: number;
  /** Requests sent, retries included. */
  readonly requests: number;
  readonly retries: number;
  /** Ms that requests waited for their turn at the limiter, added up. */
  readonly waited: number;
  /** Ms until the API lets requests start again; 0 when it does. */
  readonly pausedFor: number;
  /** What was sent to a webhook, where rows go to one. */
  readonly sent?: Deliveries;
}

/** Requests to a webhook. */
export interface Deliveries {
  readonly deliveries: number;
  /** Those of them that repeated one that had failed. */
  readonly redeliveries: number;
}

/** The pace of this run; 0 before there is one. */
export function rowsPerSecond({ rows, resumedRows, elapsed }: Progress): number {
  return elapsed > 0 ? ((rows - resumedRows) / elapsed) * 1000 : 0;
}

/** The share that is done, 0 to 1; `undefined` where no total is known. */
export function shareDone({ rows, total }: Progress): number | undefined {
  return total === undefined ? undefined : total === 0 ? 1 : Math.min(1, rows / total);
}

/** Ms that are left at the pace so far; `undefined` where no total is known, or nothing came yet. */
export function timeLeft(progress: Progress): number | undefined {
  const pace = rowsPerSecond(progress);
  if (progress.total === undefined || pace === 0) return undefined;
  return (Math.max(0, progress.total - progress.rows) / pace) * 1000;
}

/** What a command that moves rows has begun with. */
export interface RunHeader {
  /** E.g. `aptos.walletNfts`. */
  readonly source: string;
  /** As the person named it; of a webhook its origin. */
  readonly target: string;
  readonly format: string;
  /** Where the state is kept, of what does not have it beside itself. */
  readonly state?: string;
  /** Of a webhook: the file of what it does not take. */
  readonly deadLetterFile?: string;
}

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
