import type { SinkPage } from '@sluice/core';
import type { RowSamples } from './sinkFixture.js';

/** A page of a partition, with this many rows. */
export interface PageShape {
  readonly partition: number;
  readonly rows: number;
  readonly endsPartition?: boolean;
}

/** Pages of one partition with these numbers of rows, all different. */
export function pagesOf<T>(samples: RowSamples<T>, sizes: readonly number[], from = 0): SinkPage<T>[] {
  const last = sizes.length - 1;
  const shapes = sizes.map((rows, at) => ({ partition: 0, rows, endsPartition: at === last }));
  return partitionPagesOf(samples, shapes, from);
}

/** The same for several partitions. */
export function partitionPagesOf<T>(samples: RowSamples<T>, shapes: readonly PageShape[], from = 0): SinkPage<T>[] {
  let next = from;
  return shapes.map(({ partition, rows, endsPartition = false }) => ({
    items: Array.from({ length: rows }, () => samples.row(next++)),
    partition,
    endsPartition,
  }));
}
