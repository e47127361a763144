import { expect, test } from 'vitest';
import { formatBytes, formatCount, formatDuration, formatNumber, formatTimeLeft } from '../../src/terminal/format.js';

test.each([
  [0, '0'],
  [999, '999'],
  [12_345, '12,345'],
  [1023.6, '1,024'],
])('%d reads %s', (value, text) => {
  expect(formatNumber(value)).toBe(text);
});

test.each([
  [0, '0 pages'],
  [1, '1 page'],
  [1200, '1,200 pages'],
])('%d pages read %s', (value, text) => {
  expect(formatCount(value, 'page')).toBe(text);
});

test('an irregular plural is given', () => {
  expect([1, 2].map((value) => formatCount(value, 'retry', 'retries'))).toEqual(['1 retry', '2 retries']);
});

test.each([
  [0, '0 B'],
  [999, '999 B'],
  [1000, '1.0 kB'],
  [9949, '9.9 kB'],
  [9960, '10 kB'],
  [999_499, '999 kB'],
  [999_500, '1.0 MB'],
  [4_120_000, '4.1 MB'],
  [7_300_000_000, '7.3 GB'],
  [2e15, '2.0 PB'],
  [5e18, '5000 PB'],
])('%d bytes read %s', (bytes, text) => {
  expect(formatBytes(bytes)).toBe(text);
});

test.each([
  [0, '0 ms'],
  [999.4, '999 ms'],
  [999.6, '1.0 s'],
  [3240, '3.2 s'],
  [9949, '9.9 s'],
  [9950, '10 s'],
  [59_499, '59 s'],
  [59_500, '1 min 0 s'],
  [125_000, '2 min 5 s'],
  [3_599_400, '59 min 59 s'],
  [3_599_600, '1 h 0 min'],
  [9_000_000, '2 h 30 min'],
])('%d ms read %s', (ms, text) => {
  expect(formatDuration(ms)).toBe(text);
});

test.each([
  [0, '0 s'],
  [1, '1 s'],
  [3240, '4 s'],
  [59_001, '1 min 0 s'],
])('%d ms to go read %s', (ms, text) => {
  expect(formatTimeLeft(ms)).toBe(text);
});
