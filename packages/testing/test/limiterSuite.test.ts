import { expect, test } from 'vitest';
import { LocalLimiter } from '../../core/src/http/limit/localLimiter.js';
import { testLimiter, type LimiterSetting } from '../src/index.js';
import { testMutants } from './caughtMutants.js';
import { limiterMutants } from './mutants/limiterMutants.js';
import { RecordedSuite } from './recordedSuite.js';

const factory = ({ limits, clock }: LimiterSetting) => ({ limiter: new LocalLimiter(limits, clock) });

test(
  'G5 the suite passes a limiter that does all that a limiter has to do, and skips nothing',
  { tags: ['slow'] },
  async () => {
    const suite = new RecordedSuite((options) => {
      testLimiter({ ...options, factory });
    });
    expect(await suite.verdicts()).toEqual({});
    expect(suite.skipped).toEqual([]);
  },
);

testMutants('limiter', limiterMutants, testLimiter);
