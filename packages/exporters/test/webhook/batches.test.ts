import fc from 'fast-check';
import { expect, test } from 'vitest';
import { encodeBatch, splitIntoBatches } from '../../src/webhook/batches.js';
import type { Numbered } from '../../src/webhook/outgoing.js';

const recordOf = (number: number, length = 10): Numbered => ({
  id: `id${number}`,
  key: null,
  number,
  body: JSON.stringify('x'.repeat(length - 2)),
});

test('W6 batches hold all records in their order, within the limits unless one record alone is beyond them', () => {
  fc.assert(
    fc.property(
      fc.array(fc.integer({ min: 2, max: 60 }), { maxLength: 50 }),
      fc.integer({ min: 1, max: 10 }),
      fc.integer({ min: 1, max: 100 }),
      (lengths, count, bytes) => {
        const records = lengths.map((length, at) => recordOf(at, length));
        const batches = splitIntoBatches(records, { count, bytes });
        expect(batches.flat()).toEqual(records);
        for (const batch of batches) {
          expect(batch.length).toBeGreaterThan(0);
          expect(batch.length).toBeLessThanOrEqual(count);
          const size = batch.reduce((sum, { body }) => sum + body.length, 0);
          if (batch.length > 1) expect(size).toBeLessThanOrEqual(bytes);
        }
        for (const [at, batch] of batches.slice(1).entries()) {
          const before = batches[at]!;
          const sizeWithNext = [...before, batch[0]!].reduce((sum, { body }) => sum + body.length, 0);
          expect(before.length === count || sizeWithNext > bytes).toBe(true);
        }
      },
    ),
  );
});

test('W6 sizes are those of the bytes that are sent, and not of characters', () => {
  const records = ['ä', 'ö', 'ü'].map((letter, number) => ({ ...recordOf(number), body: JSON.stringify(letter) }));
  expect(splitIntoBatches(records, { count: 10, bytes: 8 }).map((batch) => batch.length)).toEqual([2, 1]);
});

test('W6 a batch is an envelope with an envelope for each record, and an id that follows from theirs', () => {
  const records = [4, 5].map((number) => ({ ...recordOf(number), body: `{"id":"id${number}","data":"\u2028"}` }));
  const context = { source: 'things', at: '2026-01-02T03:04:05.678Z' };
  const { id, body } = encodeBatch(records, context);
  expect(JSON.parse(body)).toEqual({
    id,
    type: 'batch',
    timestamp: context.at,
    source: 'things',
    sequence: 4,
    data: [
      { id: 'id4', data: '\u2028' },
      { id: 'id5', data: '\u2028' },
    ],
  });
  expect(encodeBatch(records, context)).toEqual({ id, body });
  expect(encodeBatch(records.slice(1), context).id).not.toBe(id);
  expect(encodeBatch([...records].reverse(), context).id).not.toBe(id);
});
