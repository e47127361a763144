import type { Clock } from '@sluice/core';
import { expect, test } from 'vitest';
import type { Wait } from '../../src/progress/waits.js';
import { onLongWaits } from '../../src/watch/watchChanges.js';

test('a long wait of a watch is reported once, and again when it comes back', () => {
  let tick = (): void => undefined;
  const clock: Clock = {
    now: () => 0,
    monotonic: () => 0,
    after: (_, callback) => {
      tick = callback;
      return () => (tick = () => undefined);
    },
  };
  let current: Wait | undefined;
  const reported: Wait[] = [];
  const end = onLongWaits(
    () => current,
    clock,
    (wait) => reported.push(wait),
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
    { kind: 'stopping' },
  ];
  for (const wait of waits) {
    current = wait;
    tick();
  }
  expect(reported).toEqual([waits[2], waits[5], waits[8]]);
  end();
  current = { kind: 'response', since: 60_000 };
  tick();
  expect(reported).toHaveLength(3);
});
