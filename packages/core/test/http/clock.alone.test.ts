import { getEventListeners } from 'node:events';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { sleep } from '../../src/clock.js';
import { systemClock } from '../../src/index.js';
import { FakeClock } from '../fakeClock.js';

const day = 86_400_000;

describe("the machine's clock", () => {
  // It turns months of all timers of its process, which has to have none but these.
  beforeEach(() => {
    vi.useFakeTimers();
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  test('calls back once, after its time', async () => {
    const callback = vi.fn();
    systemClock.after(1_000, callback);
    await vi.advanceTimersByTimeAsync(999);
    expect(callback).not.toHaveBeenCalled();
    await vi.advanceTimersByTimeAsync(day);
    expect(callback).toHaveBeenCalledTimes(1);
  });

  test('calls back after months, though no timer is that long', async () => {
    const callback = vi.fn();
    systemClock.after(60 * day, callback);
    await vi.advanceTimersByTimeAsync(60 * day - 1);
    expect(callback).not.toHaveBeenCalled();
    await vi.advanceTimersByTimeAsync(1);
    expect(callback).toHaveBeenCalledTimes(1);
  });

  test('never calls back after an infinite time, or when it was told not to', async () => {
    const callback = vi.fn();
    const cancel = [systemClock.after(Infinity, callback), systemClock.after(60 * day, callback)];
    await vi.advanceTimersByTimeAsync(30 * day);
    for (const one of cancel) one();
    expect(vi.getTimerCount()).toBe(0);
    await vi.advanceTimersByTimeAsync(100 * day);
    expect(callback).not.toHaveBeenCalled();
  });

  test('L5 has a time that a jump of the wall clock does not touch', () => {
    const before = systemClock.monotonic();
    vi.setSystemTime(0);
    expect(systemClock.now()).toBe(0);
    expect(systemClock.monotonic()).toBe(before);
  });
});

describe('a sleep', () => {
  test('ends after its time and leaves nothing behind', async () => {
    const clock = new FakeClock();
    const { signal } = new AbortController();
    const slept = sleep(clock, 500, signal);
    await clock.advance(500);
    await slept;
    expect(clock.pending).toEqual([]);
    expect(getEventListeners(signal, 'abort')).toEqual([]);
  });

  test('T4 ends at once when it is aborted, with exactly its reason', async () => {
    const clock = new FakeClock();
    const controller = new AbortController();
    const slept = sleep(clock, 500, controller.signal);
    controller.abort('enough');
    await expect(slept).rejects.toBe('enough');
    expect(clock.pending).toEqual([]);
    await expect(sleep(clock, 500, controller.signal)).rejects.toBe('enough');
    expect(clock.pending).toEqual([]);
  });
});
