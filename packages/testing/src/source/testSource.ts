import { checkOptions } from '@sluice/core/kit';
import { registerChecks, suiteOptionNames, type SuiteOptions } from '../suite.js';
import { definitionChecks } from './definitionChecks.js';
import { demandChecks } from './demandChecks.js';
import { faultChecks } from './faultChecks.js';
import { incrementChecks } from './incrementChecks.js';
import { infoChecks } from './infoChecks.js';
import { requestChecks } from './requestChecks.js';
import type { SourceFixture } from './sourceFixture.js';
import { walkChecks } from './walkChecks.js';
import { WalkedSource } from './walkedSource.js';

/** Options of {@link testSource}. */
export interface SourceSuiteOptions<T> extends SuiteOptions {
  /** Creates a source and its API; some checks call it several times. */
  readonly factory: () => SourceFixture<T> | Promise<SourceFixture<T>>;
}

/**
 * Checks that a source does what exports and subscribers rely on: it is cold, requests no more than needed, cancels at
 * once, emits the same rows pushed, pulled or polled (also where the API answers 304), resumes after any page with the
 * rest, walks any partition by itself, and emits errors after all rows. A source with increments begins at its mark, and emits no known row again. If
 * the fixture shows what was sent, also that the cursor is sent, in the URL or in a body, and only by its own walk. If
 * it can use up its quota, also that the source waits until it is renewed.
 *
 * With the API of {@link serveListing}, also that a definition misses and repeats no row where the API allows fewer rows
 * a page, ignores what a page is requested with, repeats its last page, moves rows, or sends HTML.
 *
 * An endless source, e.g. a watch, skips the checks that need all rows; a fixture skips those of parts that it lacks.
 *
 * @example
 * testSource({
 *   test,
 *   factory: async () => {
 *     const api = await serveListing(Array.from({ length: 50 }, (_, id) => ({ id })), ({ url: { searchParams }, rows, limit }) => {
 *       const offset = Number(searchParams.get('offset'));
 *       return { body: { items: rows.slice(offset, offset + limit(searchParams.get('limit'))) } };
 *     });
 *     const client = createClient({ apiKey: false, retry: { retries: 0 } }).use(coins({ baseUrl: api.baseUrl }));
 *     return {
 *       ...api,
 *       source: () => client.coins.markets({ currency: 'usd', pageSize: 20 }),
 *       dispose: () => client.close().then(() => api.close()),
 *     };
 *   },
 * });
 */
export function testSource<T>(options: SourceSuiteOptions<T>): void {
  checkOptions('testSource()', options, { ...suiteOptionNames, factory: true });
  const checks = {
    ...walkChecks,
    ...demandChecks,
    ...requestChecks,
    ...incrementChecks,
    ...faultChecks,
    ...definitionChecks,
    ...infoChecks,
  };
  registerChecks(options, checks, (trial) => WalkedSource.on(trial, options.factory));
}
