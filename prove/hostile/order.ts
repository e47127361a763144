import type { ApiName } from '../../test/kit/apiReference.js';
import type { WalkOrder, WalkReport } from './hostileWalks.js';

/** The settings of a child. */
export interface ChildSettings {
  /** Of the hostile server. */
  readonly url: string;
  /** An empty folder for files. */
  readonly folder: string;
}

/** Many walks at once, with a client's usual limit on parallel requests. */
export interface StormOrder {
  readonly kind: 'storm';
  readonly api: ApiName;
  readonly walks: number;
}

export type Order = (WalkOrder & { readonly kind: 'walk' }) | StormOrder | { readonly kind: 'heap' };

/** In bytes. */
export interface HeapReport {
  /** Used after garbage collection. */
  readonly used: number;
  /** The maximum that was used after a walk. */
  readonly peak: number;
  /** The maximum memory of the process so far. */
  readonly resident: number;
}

export interface StormReport extends Required<Pick<WalkReport, 'strays'>>, Pick<WalkReport, 'pollution'> {
  /** The outcome of each walk: a code, or a number of rows. */
  readonly ends: readonly (string | number)[];
}
