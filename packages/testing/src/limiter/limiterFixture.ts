import type { Clock, Limit } from '@sluice/core';
import type { Limiter } from '@sluice/core/kit';
import type { Fixture } from '../suite.js';

/** The settings of a limiter. */
export interface LimiterSetting {
  /** All limits apply together, as far as the limiter supports them. */
  readonly limits: readonly Limit[];
  /** Advanced by the suite: the limiter must use it for all its times. */
  readonly clock: Clock;
}

/** A new limiter. */
export interface LimiterFixture extends Fixture {
  readonly limiter: Limiter;
}

/** What a limiter may enforce: starts per window, concurrent requests, and costs of routes. */
export type Keeping = 'rate' | 'concurrency' | 'costs';
