import { describe, expect, test } from 'vitest';
import { Lateness } from '../../src/http/limit/lateness.js';
import type { Limit } from '../../src/index.js';

const limit: Limit = { requests: 100, per: 1_000 };

/** Responses that took so long, one after the other. */
const repeated = (lateness: Lateness, took: number, times: number): number[] =>
  Array.from({ length: times }, () => lateness.shiftOf(took));

const sum = (all: readonly number[]): number => all.reduce((total, each) => total + each, 0);

describe('L1 a start', () => {
  test('L1 needs less margin if its response came within it', () => {
    expect(new Lateness([limit]).shiftOf(5)).toBe(-8);
    expect(new Lateness([limit]).shiftOf(13)).toBeCloseTo(0);
  });

  test('L1 counts later by what its response took longer than the fastest ones', () => {
    const lateness = new Lateness([limit]);
    repeated(lateness, 60, 3_000);
    expect(lateness.shiftOf(60)).toBeLessThan(5);
    expect(lateness.shiftOf(173)).toBeGreaterThan(95);
    expect(lateness.shiftOf(173)).toBeLessThan(105);
  });

  test('L1 is taken for late from the first response on, since the fastest is not known yet', () => {
    expect(new Lateness([limit]).shiftOf(113)).toBeGreaterThan(95);
  });

  test('L1 counts later for a small share of the rate only, however slow responses are', () => {
    const lateness = new Lateness([limit]);
    const shifts = Array.from({ length: 10_000 }, (_, nth) => lateness.shiftOf(nth % 2 === 0 ? 20 : 400));
    // 3 % of a window at once, and 0.5 % on average.
    expect(sum(shifts)).toBeLessThanOrEqual(3_000 + 10_000 * 5);
    expect(sum(shifts)).toBeGreaterThan(40_000);
  });

  test('L1 keeps what is spare for a stall, and no more than that', () => {
    const lateness = new Lateness([limit]);
    repeated(lateness, 1, 5_000);
    expect(sum(repeated(lateness, 500, 100))).toBeCloseTo(3_000 + 99 * 5, -2);
  });

  test('L1 without limits has nothing to spare', () => {
    expect(new Lateness([]).shiftOf(5)).toBe(-8);
  });
});
