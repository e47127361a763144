import { test } from 'vitest';
import { redisProgram } from '../../../../test/kit/redisServer.js';
import { compareHistories } from './scriptHistories.js';

test.runIf(redisProgram !== undefined)(
  'K8 the script in Redis and its twin answer the same in random histories',
  { tags: ['slow'] },
  () => compareHistories(1, 500),
);
