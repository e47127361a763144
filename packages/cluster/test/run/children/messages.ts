import type { TablePlace } from '../postgresHoldings.js';
import type { PartitionOutcome } from '../../../src/index.js';

/** What a worker's process is started with. */
export interface WorkerOptions {
  readonly folder: string;
  /** A table instead of the folder. */
  readonly place?: TablePlace;
  readonly baseUrl: string;
  readonly apiKey: string;
  /** Commits replace each other, as if there was no fence. */
  readonly isUnfenced: boolean;
}

export type ToWorker =
  | { readonly type: 'run'; readonly partition: number; readonly saveEvery: number }
  | { readonly type: 'hint'; readonly id: number; readonly hint?: unknown };

export type FromWorker =
  | { readonly type: 'ready' }
  | { readonly type: 'load'; readonly partition: number; readonly id: number }
  | { readonly type: 'save'; readonly partition: number; readonly hint: object }
  | { readonly type: 'drop'; readonly partition: number }
  | { readonly type: 'outcome'; readonly partition: number; readonly outcome: PartitionOutcome['outcome'] }
  | { readonly type: 'failed'; readonly partition: number; readonly message: string };
