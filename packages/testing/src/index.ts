/**
 * Conformance suites for your own sources, sinks, limiters, state stores and plugins, for any test runner.
 *
 * @module @sluice/testing
 */

// Suites
export { testLimiter, type LimiterSuiteOptions } from './limiter/testLimiter.js';
export { testPlugin, type PluginSuiteOptions } from './plugin/testPlugin.js';
export { testSink, type SinkSuiteOptions } from './sink/testSink.js';
export { testSource, type SourceSuiteOptions } from './source/testSource.js';
export { testStateStore, type StateStoreSuiteOptions } from './state/testStateStore.js';

// Fixtures
export type { LimiterFixture, LimiterSetting } from './limiter/limiterFixture.js';
export type { PluginFixture } from './plugin/pluginFixture.js';
export { sampleRows, type RowSamples, type SampleRow, type SinkFixture } from './sink/sinkFixture.js';
export { serveListing, type ReceivedRequest, type ServedListing, type ServedResponse } from './source/serveListing.js';
export type { Answering, SeenRequests, SentRequest, SourceFixture, TestedSource } from './source/sourceFixture.js';
export type { StateStoreFixture } from './state/stateStoreFixture.js';

// Time
export { ManualClock } from './manualClock.js';

// Runners
export type { Fixture, SuiteOptions, TestFunction } from './suite.js';
