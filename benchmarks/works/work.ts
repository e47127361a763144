import type { Figure } from '../figures/figure.js';

/** How much is measured. */
export interface Extent {
  readonly rounds: number;
  /** Of 100 rows, in an export without latency. */
  readonly pages: number;
  /** Rows of the largest export whose memory is looked at. */
  readonly maxRows: number;
  /** A folder for what is written. It is gone afterwards. */
  readonly folder: string;
}

/** Measures one kind of work. */
export type Work = (extent: Extent) => Promise<readonly Figure[]>;
