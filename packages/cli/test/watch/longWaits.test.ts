import type { Clock } from '@sluice/core';
import { expect, test } from 'vitest';
import type { Wait } from '../../src/progress/waits.js';
import { onLongWaits } from '../../src/watch/watchChanges.js';

test('a long wait or an outage of a watch is reported once, when it is over, and when it comes back', () => {
  let now = 0;
  let tick = (): void => undefined;
  const clock: Clock = {
    now: () => 0,
    monotonic: () => now,
    after: (_, callback) => {
      tick = callback;
      return () => (tick = () => undefined);
    },
  };
  let current: Wait | undefined;
  const reported: unknown[] = [];
  const end = onLongWaits(
    () => ({ wait: current, level: current?.kind === 'target' ? 'failing' : 'waiting' }),
    clock,
    (wait, lasted) => reported.push(lasted ?? wait),
  );
  const waits: (Wait | undefined)[] = [
    undefined,
    { kind: 'limit', since: 9_999 },
    { kind: 'limit', since: 10_000 },
    { kind: 'limit', since: 11_000 },
    { kind: 'pause', left: 9_000, cause: 'HTTP 429' },
    { kind: 'pause', left: 50_000, cause: 'HTTP 429' },
    { kind: 'pause', left: 49_000, cause: 'HTTP 429' },
    undefined,
    { kind: 'pause', left: 20_000 },
    undefined,
    { kind: 'target', since: 5_000, target: 'the table' },
    { kind: 'target', since: 6_000, target: 'the table', cause: 'connection refused' },
    undefined,
    { kind: 'stopping' },
  ];
  for (const wait of waits) {
    current = wait;
    now += 1_000;
    tick();
  }
  expect(reported).toEqual([waits[2], waits[5], 15_000, waits[8], 1_000, waits[10], waits[11], 7_000]);
  end();
  current = { kind: 'response', since: 60_000 };
  tick();
  expect(reported).toHaveLength(8);
});
