import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { decodeDeadLetter, encodeDeadLetter, isTornLetter } from '../../src/webhook/letters/deadLetter.js';
import { letterOf } from './deadLetterSamples.js';

const whole = encodeDeadLetter(letterOf(1), 'run');

test('W9 a letter is one line that gives the very text of its record again', { tags: ['slow'] }, () => {
  fc.assert(
    fc.property(fc.json({ noUnicodeString: false }), fc.string({ unit: 'binary' }), (json, answer) => {
      // What is sent was written by `JSON.stringify`.
      const body = JSON.stringify(JSON.parse(json));
      const letter = letterOf(1, { key: answer, answer, record: JSON.parse(body) });
      const line = encodeDeadLetter(letter, 'run');
      expect(line).not.toMatch(/[\n\r\u0085\u2028\u2029]/);
      const read = decodeDeadLetter(Buffer.from(line));
      expect(read?.letter).toEqual(letter);
      expect(JSON.stringify(read?.letter.record)).toBe(body);
    }),
  );
});

test.each([
  '{"__proto__":{"admin":true},"b":1,"a":2}',
  '{"1":1,"b":"\u2028\u2029\u0085"}',
  '"\\ud83e"',
  '[0.1,1e+21,-0.000001]',
  'null',
  '"bare"',
])('W9 the record %s is given back as it was sent', (body) => {
  const line = encodeDeadLetter(letterOf(1, { record: JSON.parse(body) }), 'run');
  expect(JSON.stringify(decodeDeadLetter(Buffer.from(line))?.letter.record)).toBe(body);
});

describe('W9 a line is no letter', () => {
  test.each([
    ['with other JSON', '{"id":"a"}'],
    ['with a list', '[]'],
    ['with nothing', ''],
    ['with a number as its id', whole.replace('"record-1"', '1')],
    ['with an id that no header can carry', whole.replace('"record-1"', String.raw`"a\r\nb"`)],
    ['with attempts below zero', whole.replace('"attempts":1', '"attempts":-1')],
    ['with half a status', whole.replace('422', '"422"')],
    ['without its record', whole.replace('"record":', '"recorded":')],
    ['of an unknown run', whole.replace('"run":"run"', '"run":null')],
  ])('%s', (_, line) => {
    expect(line).not.toBe(whole);
    expect(decodeDeadLetter(Buffer.from(line))).toBeUndefined();
  });

  test('that is no UTF-8: reading would mend it, and another text would be sent', () => {
    const bytes = Buffer.from(whole);
    bytes[bytes.indexOf('line')] = 0xff;
    expect(decodeDeadLetter(bytes)).toBeUndefined();
  });
});

test('W9 no character of a letter is taken for the end of its line', () => {
  const line = encodeDeadLetter(letterOf(1, { answer: 'a\u2028b\u2029\u0085c\r\n', record: '\u2028\u2029\n' }), 'run');
  expect(line).not.toMatch(/[\n\r\u0085\u2028\u2029]/);
  expect(decodeDeadLetter(Buffer.from(line))?.letter.record).toBe('\u2028\u2029\n');
});

test('W9 half a letter is told from what never was one', () => {
  for (let length = 1; length < whole.length; length += 1)
    expect(isTornLetter(Buffer.from(whole.slice(0, length)), false)).toBe(true);
  const holed = Buffer.from(`${whole}${' '.repeat(600)}`).fill(0, 10, 500);
  expect(isTornLetter(holed, true)).toBe(true);
  expect(isTornLetter(Buffer.from(holed).fill(0, 0, 20), true)).toBe(true);
  expect(isTornLetter(Buffer.from(whole.slice(0, 20)), true)).toBe(false);
  expect(isTornLetter(Buffer.from('my notes'), false)).toBe(false);
  expect(isTornLetter(Buffer.from('{"name":"some JSON of mine'), false)).toBe(false);
  expect(isTornLetter(Buffer.from('\x89PNG\0\0\0'), false)).toBe(false);
});
