// @module-tag slow
import { test } from 'vitest';
import { redisProgram } from '../../../../test/kit/redisServer.js';
import { compareHistories } from './scriptHistories.js';

test.runIf(redisProgram !== undefined)('K8 the script and its twin answer the same in 10,000 random histories', () =>
  compareHistories(501, 10_500),
);
