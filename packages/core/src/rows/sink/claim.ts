import type { Position } from '../../position.js';
import type { Page } from '../source/page.js';

/**
 * What became of a save or a commit.
 * - `accepted`.
 * - `refused`: another claim has finished the partition, or taken it over in a database. Not an error: its rows are
 *   those that count.
 * - `cancelled`: the run was.
 */
export type ClaimVerdict = 'accepted' | 'refused' | 'cancelled';

/** The right to write rows of a partition of a run, which counts for nothing until its commit is accepted. */
export interface Claim<T> {
  /** Where the walk of the partition continues; `undefined` at its start. Who walks there checks it. */
  readonly startAt: Position | undefined;
  /** How often the partition was started over. */
  readonly restarts: number;
  /** Takes the next page. Its rows are durable after the next save or commit. */
  write(page: Page<T>): Promise<void>;
  /** Makes the rows durable, so that another claim may continue here. */
  save(): Promise<ClaimVerdict>;
  /** Makes the rows durable, and all of them count, or none. */
  commit(): Promise<ClaimVerdict>;
  /** Closes what it uses alone, whatever happened. Never rejects. */
  close(): Promise<void>;
}
