import { registerChecks, type SuiteOptions } from '../suite.js';
import { lockChecks } from './lockChecks.js';
import { logChecks } from './logChecks.js';
import { recordChecks } from './recordChecks.js';
import type { StateStoreFixture } from './stateStoreFixture.js';

/** Options of {@link testStateStore}. */
export interface StateStoreSuiteOptions extends SuiteOptions {
  /** Makes a state with nothing in it. */
  readonly factory: () => StateStoreFixture | Promise<StateStoreFixture>;
}

/**
 * Checks that a state store does what exports and watches rely on: that records come back as they were saved, replaced whole or not at
 * all; that logs keep their order; that a lock has one holder; and that all of it is there for the next process, if it is to be.
 *
 * @example
 * testStateStore({ test, factory: () => ({ store: fileState(path), another: () => fileState(path) }) });
 */
export function testStateStore(options: StateStoreSuiteOptions): void {
  registerChecks(options, options.factory, { ...recordChecks, ...logChecks, ...lockChecks });
}
