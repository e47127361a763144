import { expect, test } from 'vitest';
import { ManualClock } from '../src/index.js';

test('a clock that two move at once never goes back', async () => {
  const clock = new ManualClock();
  const called: number[] = [];
  clock.after(5, () => called.push(clock.monotonic()));
  clock.after(2_000, () => called.push(clock.monotonic()));
  const advanced = clock.advance(10);
  await clock.stall(1_000);
  await advanced;
  expect(clock.monotonic()).toBe(1_000);
  await clock.advance(1_000);
  expect(called).toEqual([1_000, 2_000]);
});
