import { expect, test } from 'vitest';
import { testSink } from '../../src/testing/index.js';
import { testMutants } from './caughtMutants.js';
import { sinkMutants } from './mutants/sinkMutants.js';
import { RecordedSuite } from './recordedSuite.js';
import { tableFixture } from './tableSink.js';

test('G5 the suite passes a sink that does all that a sink may do, and skips nothing', async () => {
  const suite = new RecordedSuite((options) => {
    testSink({ ...options, factory: tableFixture });
  });
  expect(await suite.verdicts()).toEqual({});
  expect(suite.skipped).toEqual([]);
});

testMutants('sink', sinkMutants, (options) => {
  testSink(options);
});
