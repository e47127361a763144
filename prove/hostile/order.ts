import type { ApiName } from '../../packages/core/test/hostile/apiName.js';
import type { Mark } from '../../packages/core/test/hostile/expectedWalk.js';
import type { Outcome } from '../../packages/core/test/hostile/outcome.js';

/** What a child is started with. */
export interface ChildSettings {
  /** Of the hostile server. */
  readonly url: string;
  /** An empty one, for files. */
  readonly folder: string;
}

/** What becomes of the rows of a walk. */
export type Use = 'rows' | 'texts' | 'file' | 'watch';

/** A walk that a child is to make. */
export interface WalkOrder {
  readonly kind: 'walk';
  readonly api: ApiName;
  readonly use: Use;
  /** What it reads, without a socket in between; absent where the server answers. */
  readonly texts?: readonly string[];
}

/** Many walks at once, under a client's usual bound on requests at once. */
export interface StormOrder {
  readonly kind: 'storm';
  readonly api: ApiName;
  readonly walks: number;
}

export type Order = WalkOrder | StormOrder | { readonly kind: 'heap' };

/** What came of a walk, and of the process that made it. */
export interface WalkReport extends Outcome {
  readonly marks: readonly Mark[];
  /** The rows as CSV and as JSON Lines, where they were written. */
  readonly written?: { readonly csv?: string; readonly jsonl?: string };
  /** Of the second poll of a watch, as exact JSON. */
  readonly changes?: readonly SeenChange[];
  /** What has become of what all programs share. */
  readonly pollution?: string;
  /** Exceptions and rejections that nobody caught. */
  readonly strays: readonly string[];
}

/** A change, as plain values: its rows as exact JSON. */
export interface SeenChange {
  readonly type: string;
  readonly key: string;
  readonly before: string;
  readonly after: string;
}

/** Bytes. */
export interface HeapReport {
  /** In use when all garbage is collected. */
  readonly used: number;
  /** The most that was in use behind a walk. */
  readonly peak: number;
  /** The most memory that the process ever had. */
  readonly resident: number;
}

export interface StormReport extends Pick<WalkReport, 'pollution' | 'strays'> {
  /** What came of each walk: a code, or how many rows. */
  readonly ends: readonly (string | number)[];
}
