import { describe, expect, test } from 'vitest';
import { settlesWithin, type Clock } from '../src/clock.js';

/** A clock whose timers are heard when a test says so, as those of a process that stood still. */
function lateClock() {
  let time = 0;
  const timers: { readonly at: number; readonly callback: () => void }[] = [];
  const clock: Clock = {
    now: () => time,
    monotonic: () => time,
    after(ms, callback) {
      timers.push({ at: time + ms, callback });
      return () => undefined;
    },
  };
  const goOnAt = (at: number): void => {
    time = at;
    for (const timer of timers.splice(0)) timer.callback();
  };
  return { clock, goOnAt, waits: () => timers.map(({ at }) => at - time) };
}

describe('a promise settles within a time', () => {
  test('T4 also where the process stood still meanwhile, and hears of its timer first', async () => {
    const { clock, goOnAt, waits } = lateClock();
    let settle: () => void = () => undefined;
    const settles = settlesWithin(clock, 30_000, new Promise<void>((resolve) => (settle = resolve)));
    goOnAt(70_000);
    expect(waits()).toEqual([1_000]);
    settle();
    expect(await settles).toBe(true);
  });

  test.each([
    ['in time', [30_000]],
    ['a little late, as on a busy machine', [30_900]],
    ['after a standstill and another second', [70_000, 71_000]],
  ])('but not if its timer comes %s, and it has not settled', async (_, times) => {
    const { clock, goOnAt, waits } = lateClock();
    const settles = settlesWithin(clock, 30_000, new Promise(() => undefined));
    for (const time of times) goOnAt(time);
    expect(waits()).toEqual([]);
    expect(await settles).toBe(false);
  });
});
