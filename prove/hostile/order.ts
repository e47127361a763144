import type { ApiName } from '../../test/kit/apiReference.js';
import type { WalkOrder, WalkReport } from '../../test/hostile/hostileWalks.js';

/** What a child is started with. */
export interface ChildSettings {
  /** Of the hostile server. */
  readonly url: string;
  /** An empty one, for files. */
  readonly folder: string;
}

/** Many walks at once, under a client's usual bound on requests at once. */
export interface StormOrder {
  readonly kind: 'storm';
  readonly api: ApiName;
  readonly walks: number;
}

export type Order = (WalkOrder & { readonly kind: 'walk' }) | StormOrder | { readonly kind: 'heap' };

/** Bytes. */
export interface HeapReport {
  /** In use when all garbage is collected. */
  readonly used: number;
  /** The most that was in use behind a walk. */
  readonly peak: number;
  /** The most memory that the process ever had. */
  readonly resident: number;
}

export interface StormReport extends Required<Pick<WalkReport, 'strays'>>, Pick<WalkReport, 'pollution'> {
  /** What came of each walk: a code, or how many rows. */
  readonly ends: readonly (string | number)[];
}
