import { registerChecks, type Check, type SuiteOptions } from '../suite.js';
import { limitChecks } from './limitChecks.js';
import type { Keeping, LimiterFixture, LimiterSetting } from './limiterFixture.js';
import { permitChecks } from './permitChecks.js';

/** Options of {@link testLimiter}. */
export interface LimiterSuiteOptions extends SuiteOptions {
  /** Makes a limiter of these limits, on this clock. */
  readonly factory: (setting: LimiterSetting) => LimiterFixture | Promise<LimiterFixture>;
  /** What the limiter keeps to. Default: all of it; what it doesn't keep is skipped. */
  readonly keeps?: readonly Keeping[];
  /** The limiter measures time by the machine's clock: then the suite waits, for some seconds in all. Default `false`. */
  readonly realTime?: boolean;
}

const everything: readonly Keeping[] = ['rate', 'concurrency', 'costs'];

/**
 * Checks that a limiter does what a client relies on: that permits come in the order of asking, and no more of them than they may; that
 * an aborted one is forgotten at once; that a release counts once and a pause is kept; that its state can be believed.
 *
 * @example
 * testLimiter({ test, factory: ({ limits, clock }) => ({ limiter: tokenBucket(limits, clock) }) });
 * declare function tokenBucket(limits: readonly Limit[], clock: Clock): Limiter;
 */
export function testLimiter({ factory, keeps = everything, realTime = false, ...options }: LimiterSuiteOptions): void {
  const checks = Object.entries({ ...permitChecks, ...limitChecks }).map(
    ([title, run]): [string, Check<LimiterFixture, [LimiterSetting]>] => [
      title,
      (trial) => run({ ...trial, keeps, isRealTime: realTime }),
    ],
  );
  registerChecks(options, factory, Object.fromEntries(checks));
}
