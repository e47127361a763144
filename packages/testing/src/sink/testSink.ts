import { checkOptions } from '@sluice/core/kit';
import { registerChecks, suiteOptionNames, type Factory, type SuiteOptions } from '../suite.js';
import { crashChecks } from './crashChecks.js';
import { endingChecks } from './endingChecks.js';
import { endlessChecks } from './endlessChecks.js';
import { exportChecks } from './exportChecks.js';
import { partitionChecks } from './partitionChecks.js';
import { rowChecks } from './rowChecks.js';
import { sampleRows, type RowSamples, type SampleRow, type SinkFixture } from './sinkFixture.js';
import { Targets } from './targets.js';

/** Options of {@link testSink}. */
export interface SinkSuiteOptions<T> extends SuiteOptions {
  /** Creates an empty target; some checks call it several times. */
  readonly factory: () => SinkFixture<T> | Promise<SinkFixture<T>>;
}

const sinkChecks = {
  ...rowChecks,
  ...crashChecks,
  ...endingChecks,
  ...partitionChecks,
  ...endlessChecks,
  ...exportChecks,
};

/**
 * Checks that a sink does what exports rely on: rows are stored once and in order; it can resume at a committed
 * position after a crash at any step; it restarts, refuses, aborts and removes partitions correctly.
 *
 * An `at-least-once` sink may repeat rows after a crash, but must lose none. Checks of what a sink does not offer
 * (`check`, `withoutPartition`, `suspend`) are skipped.
 *
 * @example
 * testSink({
 *   test,
 *   factory: () => {
 *     const table: unknown[] = []; // of its own for each check
 *     return { sink: () => tableSink(table), rows: () => table };
 *   },
 * });
 * declare function tableSink(table: unknown[]): Sink<unknown>;
 */
export function testSink(options: SinkSuiteOptions<SampleRow> & { readonly rows?: RowSamples<SampleRow> }): void;
/** The same with other rows, for a sink that accepts only some. */
export function testSink<T>(options: SinkSuiteOptions<T> & { readonly rows: RowSamples<T> }): void;
export function testSink<T>(
  options:
    | (SinkSuiteOptions<T> & { readonly rows: RowSamples<T> })
    | (SinkSuiteOptions<SampleRow> & { readonly rows?: undefined }),
): void {
  checkOptions('testSink()', options, { ...suiteOptionNames, factory: true, rows: true });
  const samples: RowSamples<unknown> = options.rows ?? sampleRows;
  // eslint-disable-next-line @typescript-eslint/consistent-type-assertions -- the sink gets these rows only
  const factory = options.factory as Factory<SinkFixture<unknown>>;
  registerChecks(options, sinkChecks, (trial) => new Targets(trial, factory, samples));
}
