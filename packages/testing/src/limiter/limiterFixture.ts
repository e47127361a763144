import type { Clock, Limit, Limiter } from '@sluice/core';
import type { Fixture } from '../suite.js';

/** What a limiter is to be made of. */
export interface LimiterSetting {
  /** All of them hold at once, as far as the limiter keeps such limits. */
  readonly limits: readonly Limit[];
  /** Turned by the suite. A limiter that can't be given one is tested with `realTime`. */
  readonly clock: Clock;
}

/** A limiter that nobody uses yet. */
export interface LimiterFixture extends Fixture {
  readonly limiter: Limiter;
}

/** What a limiter may keep to: starts in a window, requests under way at once, and what requests of a route count. */
export type Keeping = 'rate' | 'concurrency' | 'costs';
