import { expect, test } from 'vitest';
import { testSource } from '../src/index.js';
import { testMutants } from './caughtMutants.js';
import { ListingApi } from './listingApi.js';
import { sourceMutants } from './mutants/sourceMutants.js';
import { RecordedSuite } from './recordedSuite.js';

test(
  'G5 the suite passes a source that does all that a source has to do, and skips nothing',
  { tags: ['slow'] },
  async () => {
    const suite = new RecordedSuite((options) => {
      testSource({ ...options, factory: () => new ListingApi().fixture() });
    });
    expect(await suite.verdicts()).toEqual({});
    expect(suite.skipped).toEqual([]);
  },
);

testMutants('source', sourceMutants, testSource);
