import { checkOptions } from '@sluice/core/kit';
import { registerChecks, suiteOptionNames, type SuiteOptions } from '../suite.js';
import { limiterOpener } from './drivenLimiter.js';
import { limitChecks } from './limitChecks.js';
import type { Keeping, LimiterFixture, LimiterSetting } from './limiterFixture.js';
import { permitChecks } from './permitChecks.js';

/** Options of {@link testLimiter}. */
export interface LimiterSuiteOptions extends SuiteOptions {
  /** Creates a limiter with these limits and this clock. */
  readonly factory: (setting: LimiterSetting) => LimiterFixture | Promise<LimiterFixture>;
  /** The kinds of limits that it enforces; checks of others are skipped. Default: all. */
  readonly keeps?: readonly Keeping[];
}

const everything: readonly Keeping[] = ['rate', 'concurrency', 'costs'];

/**
 * Checks that a limiter does what a client relies on: it grants permits in order and within the limits, drops aborted
 * requests at once, counts a release once, respects a pause, and reports its state correctly.
 *
 * @example
 * testLimiter({ test, factory: ({ limits, clock }) => ({ limiter: tokenBucket(limits, clock) }) });
 * declare function tokenBucket(limits: readonly Limit[], clock: Clock): Limiter;
 */
export function testLimiter(options: LimiterSuiteOptions): void {
  checkOptions('testLimiter()', options, { ...suiteOptionNames, factory: true, keeps: true });
  const { factory, keeps = everything } = options;
  registerChecks(options, { ...permitChecks, ...limitChecks }, (trial) => limiterOpener(trial, factory, keeps));
}
