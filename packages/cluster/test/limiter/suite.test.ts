import type { Clock, Limit } from '@sluice/core';
import { testLimiter } from '@sluice/testing';
import { describe, test } from 'vitest';
import { encodeLimits } from '../../src/limiter/decodeLimits.js';
import { SharedLimiter } from '../../src/limiter/sharedLimiter.js';
import { TwinServer } from './twinAccess.js';

describe('K8 a limiter of one process, on the twin of the script', () => {
  testLimiter({ test, factory: ({ limits, clock }) => ({ limiter: limiterOf(limits, clock) }) });
});

function limiterOf(limits: readonly Limit[], clock: Clock): SharedLimiter {
  const server = new TwinServer(clock);
  const text = encodeLimits(limits);
  server.openLongAgo(text);
  return new SharedLimiter({
    name: 'suite',
    limits: text,
    clock,
    worker: 'only',
    access: server.access(),
    concurrency: Math.min(...limits.map(({ concurrency = Infinity }) => concurrency)),
    waitForBook: 30_000,
    maxPause: 60_000,
  });
}
