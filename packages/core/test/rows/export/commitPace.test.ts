import { expect, test } from 'vitest';
import { systemClock } from '../../../src/clock.js';
import { CommitPace } from '../../../src/rows/export/commitPace.js';

test.each([
  [0, 1_000],
  [50, 1_000],
  [400, 8_000],
  // The target was away for a minute: its next commit may be as fast as ever.
  [60_000, 20_000],
])('E4 a commit that took %d ms is followed by another one within %d ms', (took, wait) => {
  let now = 0;
  const pace = new CommitPace(undefined, { ...systemClock, monotonic: () => now });
  pace.restart(took);
  pace.add({});
  expect(pace.left).toBe(wait);
  now = wait;
  expect(pace.isDue).toBe(true);
});
