import fc from 'fast-check';
import { expect, test } from 'vitest';
import { Watermark } from '../../src/webhook/deliveries.js';

/** A mark of deliveries that nothing ends. */
const markAt = (next: number): Watermark => new Watermark(next, new AbortController().signal);

test('all below the mark are settled, in whatever order they settle', () => {
  fc.assert(
    fc.property(fc.shuffledSubarray([5, 6, 7, 8, 9, 10, 11, 12]), (order) => {
      const mark = markAt(5);
      const settled = new Set<number>();
      for (const number of order) {
        mark.settle(number);
        settled.add(number);
        let next = 5;
        while (settled.has(next)) next += 1;
        expect(mark.next).toBe(next);
      }
    }),
  );
});

test('who waits is told when it is reached, and not before', async () => {
  const mark = markAt(1);
  const told: number[] = [];
  const waits = [1, 3, 4].map((below) => mark.until(below).then(() => told.push(below)));
  await waits[0];
  mark.settle(2);
  mark.settle(2);
  await Promise.resolve();
  expect(told).toEqual([1]);
  mark.settle(1);
  await waits[1];
  expect(told).toEqual([1, 3]);
  mark.settle(3);
  await Promise.all(waits);
});

test('a failure is told to all who wait, and to all who come later', async () => {
  const ending = new AbortController();
  const mark = new Watermark(1, ending.signal);
  const waiting = mark.until(2);
  ending.abort(new Error('first'));
  ending.abort(new Error('second'));
  await expect(waiting).rejects.toThrow('first');
  await expect(mark.until(1)).rejects.toThrow('first');
});

test('what was settled before does not count again', () => {
  const mark = markAt(5);
  mark.settle(3);
  expect(mark.next).toBe(5);
});
