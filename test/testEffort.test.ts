import { describe, expect, test } from 'vitest';
import { casesOf, someOf, testEffort, testTurn } from '../scripts/testEffort.js';

const calls = [0, 1, 2, 3, 4, 5, 6, 7];

describe('the effort of tests', () => {
  test.each([
    ['', 1],
    ['1', 1],
    ['0.5', 0.5],
    ['4', 4],
    ['30', 30],
  ])('with SLUICE_TEST_EFFORT=%s is %d', (value, effort) => {
    expect(testEffort(value)).toBe(effort);
  });

  test.each(['full', '0', '-1', 'Infinity'])('refuses SLUICE_TEST_EFFORT=%s', (value) => {
    expect(() => testEffort(value)).toThrow(`SLUICE_TEST_EFFORT is "${value}": give a number`);
  });

  test.each([
    [1, 25],
    [2, 50],
    [4, 100],
    [8, 200],
  ])('of %d runs %d of 100 cases', (effort, cases) => {
    expect(casesOf(100, effort)).toBe(cases);
  });

  test.each([
    [0, 1, [0, 4]],
    [1, 1, [1, 5]],
    [3, 1, [3, 7]],
    [4, 1, [0, 4]],
    [1, 2, [1, 2, 5, 6]],
    [0, 4, calls],
    [2, 9, calls],
  ])('from case %d on, with effort %d, runs %j', (first, effort, taken) => {
    expect(someOf(calls, first, { effort, turn: 0 })).toEqual(taken);
  });

  test('skips no case, whichever is the first', () => {
    const taken = [0, 1, 2, 3].flatMap((first) => someOf(calls, first, { effort: 1, turn: 0 }));
    expect(taken.toSorted((a, b) => a - b)).toEqual(calls);
  });

  test.each([
    ['', 0],
    ['0', 0],
    ['11259375', 11_259_375],
  ])('with SLUICE_TEST_TURN=%s begins at %d', (value, turn) => {
    expect(testTurn(value)).toBe(turn);
  });

  test.each(['first', '-1', '1.5', 'Infinity'])('refuses SLUICE_TEST_TURN=%s', (value) => {
    expect(() => testTurn(value)).toThrow(`SLUICE_TEST_TURN is "${value}": give a whole number`);
  });

  test('takes every case within four turns', () => {
    const taken = [4, 5, 6, 7].flatMap((turn) => someOf(calls, 1, { effort: 1, turn }));
    expect(taken.toSorted((a, b) => a - b)).toEqual(calls);
  });

  test.each([[[]], [['SQLite']], [['SQLite', 'PostgreSQL']]])('has a case of %j in every turn', (all) => {
    for (const turn of [0, 1, 2, 3]) expect(someOf(all, 0, { effort: 1, turn })).toHaveLength(Math.min(all.length, 1));
  });
});
