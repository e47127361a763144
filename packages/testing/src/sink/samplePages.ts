import type { SinkPage } from '@sluice/core';
import type { RowSamples } from './sinkFixture.js';

/** A page of the given part, with so many rows. */
export interface PageShape {
  readonly part: number;
  readonly rows: number;
  readonly endsPart?: true;
}

/** Pages of one part, with so many rows each; no two rows are the same. */
export function pagesOf<T>(samples: RowSamples<T>, sizes: readonly number[], from = 0): SinkPage<T>[] {
  const last = sizes.length - 1;
  const shapes = sizes.map((rows, at) => ({ part: 0, rows, ...(at === last && { endsPart: true as const }) }));
  return partPagesOf(samples, shapes, from);
}

/** The same, of several parts. */
export function partPagesOf<T>(samples: RowSamples<T>, shapes: readonly PageShape[], from = 0): SinkPage<T>[] {
  let next = from;
  return shapes.map(({ part, rows, endsPart = false }) => ({
    items: Array.from({ length: rows }, () => samples.row(next++)),
    part,
    endsPart,
  }));
}
