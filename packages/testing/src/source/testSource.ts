import { registerChecks, type SuiteOptions } from '../suite.js';
import { demandChecks } from './demandChecks.js';
import { faultChecks } from './faultChecks.js';
import { infoChecks } from './infoChecks.js';
import type { SourceFixture } from './sourceFixture.js';
import { walkChecks } from './walkChecks.js';

/** Options of {@link testSource}. */
export interface SourceSuiteOptions<T> extends SuiteOptions {
  /** Makes a source, and an API of its own; called several times by some checks. */
  readonly factory: () => SourceFixture<T> | Promise<SourceFixture<T>>;
}

/**
 * Checks that a source does what exports and subscribers rely on: that it is cold, asks for no more than is wanted, stops at once, gives
 * the same rows however they are taken, goes on behind any page with just the rest, and tells of faults after all rows before them.
 *
 * A source without an end, as a watch, gives what happens meanwhile: what needs all of its rows is skipped, and so is what needs an
 * optional part of the fixture.
 *
 * @example
 * testSource({
 *   test,
 *   factory: async () => {
 *     const sandbox = await startSandbox({ streams: 250 });
 *     const client = createClient({ apiKey: sandbox.apiKey, rateLimit: false }).use(streams({ baseUrl: sandbox.streamsUrl }));
 *     return {
 *       source: () => client.streams.list(),
 *       requests: () => ({ made: sandbox.counts.requests, open: sandbox.counts.open }),
 *       dispose: () => client.close().then(() => sandbox.close()),
 *     };
 *   },
 * });
 */
export function testSource<T>(options: SourceSuiteOptions<T>): void {
  registerChecks(options, options.factory, { ...walkChecks, ...demandChecks, ...faultChecks, ...infoChecks });
}
