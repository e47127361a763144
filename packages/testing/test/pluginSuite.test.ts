import { expect, test } from 'vitest';
import { testPlugin } from '../src/index.js';
import { testMutants } from './caughtMutants.js';
import { pluginMutants, pricesFixture } from './mutants/pluginMutants.js';
import { RecordedSuite } from './recordedSuite.js';

test('G5 the suite passes a plugin that does all that a plugin may do, and skips nothing', async () => {
  const suite = new RecordedSuite((options) => {
    testPlugin({ ...options, factory: () => pricesFixture() });
  });
  expect(await suite.verdicts()).toEqual({});
  expect(suite.skipped).toEqual([]);
});

testMutants('plugin', pluginMutants, testPlugin);
