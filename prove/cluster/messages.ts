import type { PartitionOutcome } from '@sluice/cluster';
import type { Limit } from '@sluice/core';

/** Who gives out the partitions: BullMQ, or each worker takes any that is not done, also one that others work on. */
export type Dispatch = 'bullmq' | 'random';

/** What a worker is started with. */
export interface WorkerTask {
  readonly redisUrl: string;
  readonly aptosUrl: string;
  readonly apiKey: string;
  readonly limits: Limit;
  /** The folder of the run, for a random dispatch. */
  readonly folder: string;
  readonly dispatch: Dispatch;
  readonly concurrency: number;
  /** Ms after which its partitions go to others if nothing is heard of it. */
  readonly lostAfter: number;
  readonly seed: number;
  /** Commits replace each other, as if there was no fence. */
  readonly isUnfenced: boolean;
}

/** What a worker says. */
export type WorkerMessage =
  | { readonly type: 'ready' }
  | ({ readonly type: 'partition'; readonly run: string; readonly partition: number } & PartitionOutcome)
  | { readonly type: 'failed'; readonly run: string; readonly partition: number; readonly text: string }
  | { readonly type: 'unable'; readonly run: string; readonly text: string };
