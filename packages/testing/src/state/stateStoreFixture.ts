import type { StateStore } from '@sluice/core';
import type { Fixture } from '../suite.js';

/** A new, empty state. */
export interface StateStoreFixture extends Fixture {
  readonly store: StateStore;
  /**
   * Another store on the same state, as used by the next or a concurrent process. Without it, the store is assumed to
   * live only as long as its process, and checks of several processes are skipped.
   */
  another?(): StateStore | Promise<StateStore>;
  /** Discards what is not durable, like a power cut. Called when there is no lock. Default: nothing. */
  crash?(): void | Promise<void>;
}
