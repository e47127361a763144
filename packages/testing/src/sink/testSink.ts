import { registerChecks, type Check, type SuiteOptions } from '../suite.js';
import { crashChecks } from './crashChecks.js';
import { endingChecks } from './endingChecks.js';
import { endlessChecks } from './endlessChecks.js';
import { exportChecks } from './exportChecks.js';
import { partitionChecks } from './partitionChecks.js';
import { rowChecks } from './rowChecks.js';
import { sampleRows, type RowSamples, type SampleRow, type SinkFixture } from './sinkFixture.js';

/** Options of {@link testSink}. */
export interface SinkSuiteOptions<T> extends SuiteOptions {
  /** Makes a new target with nothing in it; called several times by some checks. */
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
 * Checks that a sink does what exports rely on: that rows come out once and in order, whatever the pages; that places are durable and
 * can be gone back to after a crash at any step; that it starts over, refuses, gives up and takes partitions back as it should.
 *
 * A sink that promises `at-least-once` may hold rows several times after a crash, and is held to losing none. What a sink does not offer
 * (`check`, `withoutPartition`, `suspend`) is skipped.
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
/** The same with rows of its own, for a sink that does not take any. */
export function testSink<T>(options: SinkSuiteOptions<T> & { readonly rows: RowSamples<T> }): void;
export function testSink<T>(
  options:
    | (SinkSuiteOptions<T> & { readonly rows: RowSamples<T> })
    | (SinkSuiteOptions<SampleRow> & { readonly rows?: undefined }),
): void {
  if (options.rows === undefined) register(options, sampleRows);
  else register(options, options.rows);
}

function register<T>(options: SinkSuiteOptions<T>, samples: RowSamples<T>): void {
  const checks = Object.entries(sinkChecks).map(([title, run]): [string, Check<SinkFixture<T>>] => [
    title,
    (trial) => run({ ...trial, samples }),
  ]);
  registerChecks(options, options.factory, Object.fromEntries(checks));
}
