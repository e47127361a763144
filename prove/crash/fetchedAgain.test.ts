import { expect, test } from 'vitest';
import { fetchedAgain, maxFetchedAgain } from './fetchedAgain.js';

test('counts the pages of each run that later runs request again, retries once', () => {
  expect(
    fetchedAgain([
      { asked: ['a', 'b', 'b', 'c', 'd'], answered: ['a', 'b', 'c'] },
      // A run's own retry does not count, and no earlier run fetched `d`.
      { asked: ['b', 'd', 'd', 'e'], answered: ['b', 'd'] },
      { asked: ['c', 'c', 'd', 'e'], answered: ['c', 'd', 'e'] },
    ]),
  ).toEqual([2, 1, 0]);
});

test.each([
  [{ commitEvery: 1, concurrency: 1 }, 3],
  [{ commitEvery: 8, concurrency: 1 }, 10],
  [{ commitEvery: 8, concurrency: 4 }, 16],
])('with %j %i are permitted', (options, max) => {
  expect(maxFetchedAgain(options)).toBe(max);
});
