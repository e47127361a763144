import type { Figure } from '../figures/figure.js';

/** How much is measured. */
export interface Extent {
  readonly rounds: number;
  /** With 100 rows each, in an export without latency. */
  readonly pages: number;
  /** Rows of the largest export whose memory is measured. */
  readonly maxRows: number;
  /** A folder for files. It is removed afterwards. */
  readonly folder: string;
}

/** Measures one kind of work. */
export type Work = (extent: Extent) => Promise<readonly Figure[]>;
