import { expect, test } from 'vitest';
import { countSkipped } from '../../../src/rows/operators/ticks.js';

test.each<[every: number, skipped: readonly number[]]>([
  [1_000, [0, 0, 1, 3, 7, 7, 7]],
  [30_000, [0, 0, 1, 3, 7, 7, 7]],
  [42_857, [0, 0, 1, 3, 7, 7, 7]],
  [42_858, [0, 0, 1, 3, 6, 6, 6]],
  [60_000, [0, 0, 1, 3, 5, 5, 5]],
  [300_000, [0, 0, 1, 1, 1, 1, 1]],
  [300_001, [0, 0, 0, 0, 0, 0, 0]],
  [3_600_000, [0, 0, 0, 0, 0, 0, 0]],
])('C9 with a poll every %d ms, after 0, 1, 2 … failures, nobody waits 5 minutes longer', (every, skipped) => {
  expect(skipped.map((_, failures) => countSkipped(failures, every))).toEqual(skipped);
  expect(countSkipped(2_000, every)).toBe(skipped.at(-1));
});
