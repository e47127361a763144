import { describe, expect, test } from 'vitest';
import { casesOf, someOf, testEffort } from '../scripts/testEffort.js';

const calls = [0, 1, 2, 3, 4, 5, 6, 7];

describe('the effort of tests', () => {
  test.each([
    ['', 1],
    ['1', 1],
    ['0.5', 0.5],
    ['3', 3],
    ['30', 30],
  ])('with SLUICE_TEST_EFFORT=%s is %d', (value, effort) => {
    expect(testEffort(value)).toBe(effort);
  });

  test.each(['full', '0', '-1', 'Infinity'])('refuses SLUICE_TEST_EFFORT=%s', (value) => {
    expect(() => testEffort(value)).toThrow(`SLUICE_TEST_EFFORT is "${value}": give a number`);
  });

  test.each([
    [1, 34],
    [2, 67],
    [3, 100],
    [6, 200],
  ])('of %d runs %d of 100 cases', (effort, cases) => {
    expect(casesOf(100, effort)).toBe(cases);
  });

  test.each([
    [0, 1, [0, 3, 6]],
    [1, 1, [1, 4, 7]],
    [2, 1, [2, 5]],
    [3, 1, [0, 3, 6]],
    [1, 2, [1, 2, 4, 5, 7]],
    [0, 3, calls],
    [2, 9, calls],
  ])('from case %d on, with effort %d, runs %j', (first, effort, taken) => {
    expect(someOf(calls, first, effort)).toEqual(taken);
  });

  test('skips no case, whichever is the first', () => {
    const taken = [0, 1, 2].flatMap((first) => someOf(calls, first, 1));
    expect(taken.toSorted((a, b) => a - b)).toEqual(calls);
  });
});
