import { describe, expect, test } from 'vitest';
import { ConfigError } from '../../../src/index.js';
import { Ticks, type TickOptions } from '../../../src/rows/operators/ticks.js';
import { SkippingClock } from '../watch/skippingClock.js';

const never = new AbortController().signal;

/** When ticks come, if the work after each takes so long. */
async function ticked(
  work: readonly number[],
  options: Partial<TickOptions> = {},
  random: () => number = () => 0,
): Promise<number[]> {
  const clock = new SkippingClock();
  clock.time = 500;
  const ticks = new Ticks({ every: 100, ...options, clock, random });
  const times: number[] = [];
  for (const ms of work) {
    await ticks.next(never);
    times.push(clock.time - 500);
    clock.time += ms;
  }
  return times;
}

describe('C9 ticks', () => {
  test('come at a fixed rate, however long the work takes', async () => {
    expect(await ticked([0, 99, 1, 100, 50, 0])).toEqual([0, 100, 200, 300, 400, 500]);
  });

  test('that are missed are skipped, and the rate stays', async () => {
    expect(await ticked([101, 250, 1_000, 999, 0])).toEqual([0, 200, 500, 1_500, 2_500]);
  });

  test('begin after the first wait where they are not immediate', async () => {
    expect(await ticked([0, 150, 0], { immediate: false })).toEqual([100, 200, 400]);
  });

  test('are put off by a share at most, and never missed because of it', async () => {
    expect(await ticked([0, 0, 0, 0], { jitter: 0.5 }, () => 0.9)).toEqual([45, 145, 245, 345]);
    let nth = 0;
    const shares = [0.99, 0, 0.99, 0.5, 0];
    expect(await ticked([5, 5, 5, 5, 5], { jitter: 1 }, () => shares[nth++] ?? 0)).toEqual([99, 200, 399, 450, 500]);
    const wild = await ticked(
      Array.from({ length: 200 }, () => 10),
      { jitter: 0.8 },
      Math.random,
    );
    wild.forEach((time, at) => {
      expect(time).toBeGreaterThanOrEqual(at * 100);
      expect(time).toBeLessThan(at * 100 + 80);
    });
  });

  test('are skipped when somebody asks for it', async () => {
    const clock = new SkippingClock();
    const ticks = new Ticks({ every: 100, clock, random: () => 0 });
    for (const [skipped, time] of [
      [0, 0],
      [0, 100],
      [1, 300],
      [3, 700],
      [0, 800],
    ] as const) {
      await ticks.next(never, skipped);
      expect(clock.time).toBe(time);
    }
  });

  test('L5 don’t follow a wall clock that jumps', async () => {
    const clock = new SkippingClock();
    const ticks = new Ticks({ every: 100, clock, random: () => 0 });
    for (let nth = 0; nth < 10; nth += 1) {
      await ticks.next(never);
      expect(clock.time).toBe(nth * 100);
      clock.offset += nth % 2 === 0 ? 1e10 : -3e10;
    }
  });

  test('T4 stop at once', async () => {
    const clock = new SkippingClock();
    const ticks = new Ticks({ every: 100, clock, random: () => 0 });
    const stopped = new AbortController();
    await ticks.next(stopped.signal);
    const next = ticks.next(stopped.signal);
    stopped.abort(new Error('enough'));
    await expect(next).rejects.toThrow('enough');
    await expect(ticks.next(stopped.signal)).rejects.toThrow('enough');
    expect(clock.time).toBe(0);
  });

  test.each<[Partial<TickOptions>, RegExp]>([
    [{ every: 0 }, /every is 0/],
    [{ every: -1 }, /every is -1/],
    [{ every: NaN }, /every is NaN/],
    [{ every: Infinity }, /every is Infinity/],
    [{ jitter: -0.1 }, /jitter is -0.1/],
    [{ jitter: 1.1 }, /jitter is 1.1/],
    [{ jitter: NaN }, /jitter is NaN/],
  ])('with %j are refused', (options, message) => {
    const make = (): unknown => new Ticks({ every: 100, ...options, clock: new SkippingClock() });
    expect(make).toThrow(ConfigError);
    expect(make).toThrow(message);
  });
});
