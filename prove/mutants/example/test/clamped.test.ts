import { expect, test } from 'vitest';
import { clamped } from '../src/numbers/clamped.js';

test('the larger number gives way', () => {
  expect(clamped(3, 2)).toBe(2);
});

test('a number without a limit stays', { tags: ['slow'] }, () => {
  expect(clamped(2)).toBe(2);
});
