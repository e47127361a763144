import fc from 'fast-check';
import { expect, test } from 'vitest';
import { fingerprintOf } from '../../../src/rows/source/fingerprint.js';
import { SeenTexts } from '../../../src/rows/source/seenTexts.js';

test('knows just the texts that it was given', () => {
  fc.assert(
    fc.property(fc.array(fc.string()), fc.array(fc.string()), (given, others) => {
      const seen = new SeenTexts();
      for (const text of given) seen.add(text);
      expect(seen.size).toBe(new Set(given).size);
      for (const text of [...given, ...others]) expect(seen.has(text)).toBe(given.includes(text));
    }),
  );
});

test(
  'P4 takes no page of a million for another one, and remembers the first 917,504 of them',
  { tags: ['slow'] },
  () => {
    const seen = new SeenTexts();
    const max = 917_504;
    // Texts that differ in few characters, as the cursors of one API do.
    for (let page = 0; page < 1_000_000; page += 1) {
      const text = fingerprintOf([{ id: page, name: 'a name' }]);
      if (seen.has(text)) expect.fail(`Page ${page} is taken for an earlier one.`);
      seen.add(text);
    }
    expect(seen.size).toBe(max);
    for (const page of [0, 1, 12_345, max - 1])
      expect(seen.has(fingerprintOf([{ id: page, name: 'a name' }]))).toBe(true);
    expect(seen.has(fingerprintOf([{ id: max, name: 'a name' }]))).toBe(false);
  },
);

test('P4 pages are told apart by eight rows, and by all where rows are alike', () => {
  const rows = Array.from({ length: 100 }, (_, id) => ({ id }));
  const changed = (at: number, page: readonly object[] = rows): object[] =>
    page.map((row, nth) => (nth === at ? { id: 'another' } : row));
  const first = fingerprintOf(rows);
  expect(fingerprintOf([...rows])).toBe(first);
  expect(fingerprintOf(rows.slice(1))).not.toBe(first);
  // First, last, and between.
  for (const at of [0, 14, 28, 42, 57, 71, 85, 99]) expect(fingerprintOf(changed(at))).not.toBe(first);
  expect(fingerprintOf(changed(50))).toBe(first);
  const alike = rows.map(({ id }) => ({ status: id < 30 ? 'active' : 'paused' }));
  for (const at of [0, 50, 98]) expect(fingerprintOf(changed(at, alike))).not.toBe(fingerprintOf(alike));
  for (const at of rows.slice(0, 8).keys())
    expect(fingerprintOf(changed(at, rows.slice(0, 8)))).not.toBe(fingerprintOf(rows.slice(0, 8)));
});
