import { checkOptions } from '@sluice/core/kit';
import { registerChecks, suiteOptionNames, type SuiteOptions, type Trial } from '../suite.js';
import { lockChecks } from './lockChecks.js';
import { logChecks } from './logChecks.js';
import { OpenedState } from './openedState.js';
import { recordChecks } from './recordChecks.js';
import type { StateStoreFixture } from './stateStoreFixture.js';

/** Options of {@link testStateStore}. */
export interface StateStoreSuiteOptions extends SuiteOptions {
  /** Creates an empty state. */
  readonly factory: () => StateStoreFixture | Promise<StateStoreFixture>;
}

/**
 * Checks that a state store does what exports and watches rely on: records are loaded as they were saved and replaced
 * atomically; logs keep their order; a lock has one holder; with `another`, the next process finds everything.
 *
 * @example
 * testStateStore({ test, factory: () => ({ store: fileState(path), another: () => fileState(path) }) });
 */
export function testStateStore(options: StateStoreSuiteOptions): void {
  checkOptions('testStateStore()', options, { ...suiteOptionNames, factory: true });
  const open = async (trial: Trial): Promise<OpenedState> => new OpenedState(trial, await trial.own(options.factory()));
  registerChecks(options, { ...recordChecks, ...logChecks }, async (trial) => (await open(trial)).lock());
  registerChecks(options, lockChecks, open);
}
