import type { FailPoint } from './failPoint.js';

export const formats = ['csv', 'jsonl', 'csv.gz', 'jsonl.gz'] as const;

export type Format = (typeof formats)[number];

/** What a child is told, as JSON in its first argument. */
export interface ExportOrder {
  readonly apiKey: string;
  readonly aptosUrl: string;
  readonly owners: readonly string[];
  readonly path: string;
  readonly format: Format;
  readonly concurrency: number;
  readonly commitEvery: number;
  readonly ifExists: 'fail' | 'overwrite';
  /** Where it dies by its own hand. */
  readonly failPoint?: FailPoint;
}

/** What a child says, as a line of JSON on its output: at its end, or with its last breath. */
export type ChildMessage = { readonly rows: number } | { readonly error: string } | { readonly diesAt: string };

/** What every job of a run has in common. Each owner is a part of the plan. */
export const size = { holdings: 7_000, owners: 8, pageSize: 100, pagesPerMember: 3, prefetch: 1 } as const;

/** Pages of an export; the parts' last ones are short, so there are a few more. */
export const minPages = size.holdings / size.pageSize;
