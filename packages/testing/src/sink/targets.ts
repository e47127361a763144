import type { SinkPage } from '@sluice/core/kit';
import type { Factory, Trial } from '../suite.js';
import { DrivenSink } from './drivenSink.js';
import type { DrivenWriter } from './drivenWriter.js';
import type { RowSamples, SinkFixture } from './sinkFixture.js';

/** A page of a partition, with this many rows. */
export interface PageShape {
  readonly partition: number;
  readonly rows: number;
  readonly endsPartition?: boolean;
}

/** What a check of a sink works with: new targets, and pages to write. */
export class Targets {
  readonly samples: RowSamples<unknown>;
  readonly #trial: Trial;
  readonly #factory: Factory<SinkFixture<unknown>>;

  constructor(trial: Trial, factory: Factory<SinkFixture<unknown>>, samples: RowSamples<unknown>) {
    this.#trial = trial;
    this.#factory = factory;
    this.samples = samples;
  }

  /** The same with other rows. */
  with(samples: RowSamples<unknown>): Targets {
    return new Targets(this.#trial, this.#factory, samples);
  }

  /** A new target. */
  async create(): Promise<DrivenSink> {
    return new DrivenSink(this.#trial, await this.#trial.own(this.#factory()), this.samples);
  }

  /** A new target, sample pages of these sizes, and a writer. */
  async open(sizes: readonly number[]): Promise<{
    readonly target: DrivenSink;
    readonly pages: readonly SinkPage<unknown>[];
    readonly writer: DrivenWriter;
  }> {
    const target = await this.create();
    return { target, pages: this.pages(sizes), writer: await target.open() };
  }

  /** Pages of one partition with these numbers of rows, all different. */
  pages(sizes: readonly number[], from = 0): readonly SinkPage<unknown>[] {
    const last = sizes.length - 1;
    return this.partitionPages(
      sizes.map((rows, at) => ({ partition: 0, rows, endsPartition: at === last })),
      from,
    );
  }

  /** The same for several partitions. */
  partitionPages(shapes: readonly PageShape[], from = 0): readonly SinkPage<unknown>[] {
    let next = from;
    return shapes.map(({ partition, rows, endsPartition = false }) => ({
      scope: { page: `page of row ${next}` },
      items: Array.from({ length: rows }, () => this.samples.row(next++)),
      partition,
      endsPartition,
    }));
  }
}
