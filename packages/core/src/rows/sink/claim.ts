import type { Position } from '../../position.js';
import type { Page } from '../source/page.js';

/**
 * The outcome of a save or a commit.
 * - `accepted`.
 * - `refused`: another claim has finished the partition, or taken it over in a database. That is not an error: the rows
 *   of the other claim count.
 * - `cancelled`: the run was cancelled.
 */
export type ClaimVerdict = 'accepted' | 'refused' | 'cancelled';

/** The right to write rows of a partition of a run. The rows count only when a commit is accepted. */
export interface Claim<T> {
  /** Where the walk of the partition continues; `undefined` at its start. The source checks the position. */
  readonly startAt: Position | undefined;
  /** How often the partition was started over. */
  readonly restarts: number;
  /** Takes the next page. Its rows are durable after the next save or commit. */
  write(page: Page<T>): Promise<void>;
  /** Makes the rows durable, so that another claim may continue here. */
  save(): Promise<ClaimVerdict>;
  /** Makes the rows durable. Then either all of them count, or none. */
  commit(): Promise<ClaimVerdict>;
  /** Closes the resources of this claim, after success and after errors. Never rejects. */
  close(): Promise<void>;
}
