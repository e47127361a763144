import type { StateStore } from '@sluice/core';
import type { Fixture } from '../suite.js';

/** A state of its own, with nothing in it yet. */
export interface StateStoreFixture extends Fixture {
  readonly store: StateStore;
  /**
   * Another store on the same state, as the next process has it, or one that runs beside this one. Without it a store is taken for one
   * that lives as long as its process, and nothing is checked beyond that.
   */
  another?(): StateStore | Promise<StateStore>;
  /** Drops what is not durable, as a power cut does; asked when nobody holds a lock. Default: nothing. */
  crash?(): void | Promise<void>;
}
