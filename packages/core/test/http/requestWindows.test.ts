import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type Start, RequestWindows, type StartWindow } from '../../src/http/limit/requestWindows.js';

const at = (...times: number[]): Start[] => times.map((time) => ({ at: time, costs: [1] }));

/** Windows with these starts, which are written. */
function windowsOf(windows: readonly StartWindow[], starts: readonly Start[]): RequestWindows {
  const opened = new RequestWindows(windows);
  for (const start of starts) opened.settle(start, start.at);
  return opened;
}

const earliestStart = (
  starts: readonly Start[],
  windows: readonly StartWindow[],
  costs: readonly number[],
  now: number,
): number => windowsOf(windows, starts).earliest(costs, now);

const threePerSecond: StartWindow[] = [{ max: 3, span: 1_000 }];

describe('the next start', () => {
  test.each<[string, Start[], number, number]>([
    ['is now where there was none', [], 500, 500],
    ['is now while there is room', at(0, 100), 500, 500],
    ['is when the oldest leaves the window', at(0, 100, 200), 500, 1_000],
    ['is now in the moment in which the oldest has left', at(0, 100, 200), 1_000, 1_000],
    ['is now after a long stall', at(0, 100, 200), 60_000, 60_000],
    ['waits for as many as it needs room for', at(0, 0, 0, 700), 800, 1_000],
    ['is not held up by what started long ago', at(0, 0, 0, 2_000, 2_100), 2_200, 2_200],
  ])('L1 %s', (_what, starts, now, expected) => {
    expect(earliestStart(starts, threePerSecond, [1], now)).toBe(expected);
  });

  test.each<[string, number, number]>([
    ['of 2 finds room', 2, 500],
    ['of 3 waits for the dearest to leave', 3, 1_000],
    ['of 5 waits for all', 5, 1_400],
    ['of nothing never waits', 0, 500],
  ])('L1 at a cost %s', (_what, cost, expected) => {
    const starts: Start[] = [
      { at: 0, costs: [2] },
      { at: 400, costs: [1] },
    ];
    expect(earliestStart(starts, [{ max: 5, span: 1_000 }], [cost], 500)).toBe(expected);
  });

  test('L1 waits for the slowest of several windows', () => {
    const windows = [
      { max: 1, span: 100 },
      { max: 2, span: 5_000 },
    ];
    const starts = [0, 100].map((time) => ({ at: time, costs: [1, 1] }));
    expect(earliestStart(starts, windows, [1, 1], 150)).toBe(5_000);
    expect(earliestStart(starts.slice(1), windows, [1, 1], 150)).toBe(200);
  });

  test('L1 never exceeds any window, whatever the stalls, and is never later than it has to be', () => {
    const anyWindows = fc.array(
      fc.record({ max: fc.integer({ min: 3, max: 9 }), span: fc.integer({ min: 1, max: 500 }) }),
      {
        minLength: 1,
        maxLength: 3,
      },
    );
    const asked = fc.array(fc.record({ stall: fc.nat(300), costs: fc.tuple(fc.nat(3), fc.nat(3), fc.nat(3)) }), {
      maxLength: 60,
    });
    fc.assert(
      fc.property(anyWindows, asked, (limits, requests) => {
        let now = 0;
        const windows = new RequestWindows(limits);
        const all: Start[] = [];
        for (const { stall, costs } of requests) {
          now += stall;
          const start = windows.earliest(costs, now);
          if (start > now) expect(exceeded(limits, [...all, { at: start - 0.5, costs }])).toBe(true);
          now = start;
          windows.settle({ at: now, costs }, now);
          all.push({ at: now, costs });
        }
        expect(exceeded(limits, all)).toBe(false);
      }),
    );
  });
});

test('L1 counts those that are not written, until they are given up', () => {
  const windows = new RequestWindows(threePerSecond);
  const [first, second, third] = [
    { at: 10_000, costs: [1] },
    { at: 10_001, costs: [1] },
    { at: 10_002, costs: [1] },
  ];
  for (const pending of [first!, second!, third!]) windows.add(pending);
  expect(windows.used(500)).toEqual([3]);
  expect(windows.earliest([1], 500)).toBe(11_000);
  expect(windows.earliest([2], 500)).toBe(11_001);
  windows.settle(second!, undefined);
  expect(windows.earliest([1], 500)).toBe(500);
  windows.settle(first!, 600);
  expect(windows.earliest([2], 700)).toBe(1_600);
  expect(windows.used(1_600)).toEqual([1]);
  expect(windows.used(11_002)).toEqual([0]);
});

test('L1 counts a start later or earlier in a rate, and not in a burst', () => {
  const windows = new RequestWindows([
    { max: 3, span: 1_000, per: 1_000 },
    { max: 3, span: 500 },
  ]);
  const [, second] = [0, 100, 200].map((time) => windows.settle({ at: time, costs: [1, 1] }, time));
  windows.shift(second!, 400);
  expect(windows.earliest([2, 1], 300)).toBe(1_200);
  expect(windows.earliest([3, 1], 300)).toBe(1_500);
  expect(windows.earliest([0, 2], 300)).toBe(600);
  expect(windows.used(600)).toEqual([3, 1]);
  // It is a start of its own by now, and what has left stays away.
  windows.shift(second!, 5_000);
  expect(windows.used(1_600)).toEqual([0, 0]);
  windows.shift(second!, 5_000);
  expect(windows.used(1_600)).toEqual([0, 0]);
});

test('L1 looks at each start once, however many a window has', { tags: ['slow'] }, () => {
  let looks = 0;
  const costs = new Proxy([1], { get: (target, name) => (name === '0' && (looks += 1), Reflect.get(target, name)) });
  const windows = new RequestWindows([{ max: 1e9, span: 60_000 }]);
  for (let now = 0; now < 100_000; now += 1) {
    expect(windows.earliest([1], now)).toBe(now);
    windows.settle({ at: now, costs }, now);
  }
  expect(windows.used(100_000)).toEqual([59_999]);
  expect(looks).toBeLessThanOrEqual(200_000);
});

/** Whether some window, laid anywhere, holds more than it may. */
function exceeded(windows: readonly StartWindow[], starts: readonly Start[]): boolean {
  return windows.some(({ max, span }, w) =>
    starts.some(({ at: from }) => {
      const inside = starts.filter((start) => start.at >= from && start.at < from + span);
      return inside.reduce((sum, start) => sum + (start.costs[w] ?? 1), 0) > max;
    }),
  );
}
