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

  test('L1 counts later by what its response took longer than the fastest one of the window before', () => {
    const lateness = new Lateness([limit]);
    repeated(lateness, 60, 100);
    expect(lateness.shiftOf(60)).toBe(0);
    expect(lateness.shiftOf(173)).toBe(100);
    lateness.shiftOf(50);
    expect(lateness.shiftOf(173)).toBe(110);
  });

  test('L1 is taken for late throughout the first window, whose fastest response may be late, too', () => {
    const lateness = new Lateness([limit]);
    expect(repeated(lateness, 113, 101)).toEqual([...Array<number>(100).fill(100), 0]);
  });

  test('L1 forgets how fast responses were, two windows later', () => {
    const lateness = new Lateness([limit]);
    repeated(lateness, 20, 100);
    expect(repeated(lateness, 43, 101)).toEqual([...Array<number>(100).fill(10), 0]);
  });

  test('L1 counts later for a small share of the rate only, however slow responses are', () => {
    const lateness = new Lateness([limit]);
    const shifts = Array.from({ length: 10_000 }, (_, nth) => lateness.shiftOf(nth % 2 === 0 ? 20 : 400));
    // Half of a window at once, and 1 % on average.
    expect(sum(shifts)).toBeLessThanOrEqual(50_000 + 10_000 * 10);
    expect(sum(shifts)).toBeGreaterThan(140_000);
  });

  test('L1 keeps what is spare for a stall, and no more than that', () => {
    const lateness = new Lateness([limit]);
    repeated(lateness, 1, 5_000);
    expect(sum(repeated(lateness, 900, 100))).toBeCloseTo(50_000 + 12 + 99 * 10, -2);
  });

  test('L1 spends what fast responses save of the margin', () => {
    const lateness = new Lateness([limit]);
    const shifts = Array.from({ length: 10_000 }, (_, nth) => lateness.shiftOf(nth % 10 === 0 ? 113 : 1));
    expect(shifts.slice(-10)).toEqual([99, ...Array<number>(9).fill(-12)]);
  });

  test('L1 without limits has nothing to spare', () => {
    expect(new Lateness([]).shiftOf(5)).toBe(-8);
  });
});
