import { join } from 'node:path';
import { expect, test } from 'vitest';
import { memoryState } from '@sluice/core';
import { fileState } from '@sluice/core/node';
import { testStateStore } from '../src/index.js';
import { temporaryFolder } from '../../../test/kit/temporaryFolder.js';
import { testMutants } from './caughtMutants.js';
import { stateMutants } from './mutants/stateMutants.js';
import { RecordedSuite } from './recordedSuite.js';

test(
  'G5 the suite passes a state store that does all that one has to do, and skips nothing',
  { tags: ['slow'] },
  async () => {
    const suite = new RecordedSuite((options) => {
      const factory = () => {
        const folder = join(temporaryFolder(), 'state');
        return { store: fileState(folder), another: () => fileState(folder) };
      };
      testStateStore({ ...options, factory });
    });
    expect(await suite.verdicts()).toEqual({});
    expect(suite.skipped).toEqual([]);
  },
);

test('G5 the suite passes one that lives as long as its process, and skips what comes after', async () => {
  const suite = new RecordedSuite((options) => {
    testStateStore({ ...options, factory: () => ({ store: memoryState() }) });
  });
  expect(await suite.verdicts()).toEqual({});
  expect(suite.skipped).toEqual([
    'still has its records in the next process',
    'still has its logs in the next process',
    'grants no lock to another store while it is locked',
  ]);
});

testMutants('state store', stateMutants, testStateStore);
