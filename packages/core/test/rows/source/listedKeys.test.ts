import { expect, test } from 'vitest';
import { ListedKeys } from '../../../src/rows/source/listedKeys.js';

test.each<[string, (nth: number) => string | number]>([
  ['numbers', (nth) => nth],
  ['large numbers with gaps', (nth) => 10 ** 15 + nth * 4096],
  ['texts that differ at their end', (nth) => `0x000000000000000000000000${nth.toString(16)}`],
  ['texts that differ at their beginning', (nth) => `${nth.toString(36)}-listing-of-a-shop`],
])('different keys are told apart, and the same ones are found: %s', { tags: ['slow'] }, (_, keyOf) => {
  const keys = new ListedKeys();
  const count = 200_000;
  let repeated = 0;
  for (let nth = 0; nth < count; nth += 1) if (keys.add(0, keyOf(nth))) repeated += 1;
  expect(repeated).toBe(0);
  for (let nth = 0; nth < count; nth += 1) if (keys.add(0, String(keyOf(nth)))) repeated += 1;
  expect(repeated).toBe(count);
});

test('another partition has keys of its own, and one that has ended has none', () => {
  const keys = new ListedKeys();
  expect([keys.add(0, 'a'), keys.add(1, 'a'), keys.add(0, 'a')]).toEqual([false, false, true]);
  keys.end(0);
  expect([keys.add(0, 'a'), keys.add(1, 'a')]).toEqual([false, true]);
});

test('a row without a key is never repeated', () => {
  const keys = new ListedKeys();
  expect([keys.add(0, undefined), keys.add(0, undefined)]).toEqual([false, false]);
});
