import type { FailPoint } from './failPoint.js';

export const formats = ['csv', 'jsonl', 'csv.gz', 'jsonl.gz'] as const;

export type Format = (typeof formats)[number];

/** The settings of a child process, as JSON in its first argument. */
export interface ExportOrder {
  readonly apiKey: string;
  readonly aptosUrl: string;
  readonly owners: readonly string[];
  readonly path: string;
  readonly format: Format;
  readonly concurrency: number;
  readonly commitEvery: number;
  readonly ifExists: 'fail' | 'overwrite';
  /** Where it kills itself. */
  readonly failPoint?: FailPoint;
}

/** The output of a child, one line of JSON: at its end, or immediately before it kills itself. */
export type ChildMessage = { readonly rows: number } | { readonly error: string } | { readonly diesAt: string };

/** The common settings of all jobs of a run. Each owner is a partition of the plan. */
export const size = { holdings: 7_000, owners: 8, pageSize: 100, pagesPerMember: 3, prefetch: 1 } as const;

/** Pages of an export; the last pages of partitions are short, so there are a few more. */
export const minPages = size.holdings / size.pageSize;
