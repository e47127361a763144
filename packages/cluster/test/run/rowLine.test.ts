import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { decodeRow, encodeRow } from '../../src/run/rowLine.js';

const where = (): string => 'Row 1';

function stored(row: unknown): unknown {
  const line = encodeRow(row, where);
  expect(line.indexOf('\n')).toBe(line.length - 1);
  return decodeRow(line);
}

/** Any value that a row may have. */
const values = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'small' },
    fc.string({ unit: 'binary' }),
    fc.double(),
    fc.bigInt(),
    fc.boolean(),
    fc.date({ noInvalidDate: true }),
    fc.constantFrom(null, undefined, -0, '\ud800', '\u2028', 2 ** 53, { $bigint: '1' }, { $object: {} }),
    fc.array(tie('value'), { maxLength: 3 }),
    fc.dictionary(fc.oneof(fc.string(), fc.constantFrom('$bigint', '$date', '__proto__', '1')), tie('value'), {
      maxKeys: 3,
      noNullPrototype: true,
    }),
  ),
})).value;

describe('a row that is stored as a line', () => {
  test('K7 is read again exactly, whatever its values are', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), values, { maxKeys: 4, noNullPrototype: true }), (row) => {
        expect(stored(row)).toStrictEqual(row);
      }),
    );
  });

  test.each([
    [{ id: 'a', amount: 1.5, of: [null, { b: true }] }, '{"id":"a","amount":1.5,"of":[null,{"b":true}]}'],
    [{ amount: 12n }, '{"amount":{"$bigint":"12"}}'],
    [{ at: new Date(0) }, '{"at":{"$date":"1970-01-01T00:00:00.000Z"}}'],
    [{ of: { $oid: 'a' } }, '{"of":{"$object":{"$oid":"a"}}}'],
  ])('is JSON that other programs read, case %#', (row, line) => {
    expect(encodeRow(row, where)).toBe(`${line}\n`);
  });

  const circle: Record<string, unknown> = {};
  circle['of'] = circle;
  test.each([
    [
      { a: 1, of: new Map() },
      'Row 1, column "of", can\'t be stored and read again exactly: it is an object of a class.',
    ],
    [{ of: [() => 1] }, 'Row 1, column "of", can\'t be stored and read again exactly: it is a function.'],
    [{ of: new Date(NaN) }, 'Row 1, column "of", can\'t be stored and read again exactly: it is an invalid date.'],
    [circle, 'Row 1, column "of", is nested more than 200 levels deep.'],
    [Object.create(new Date(0)), "Row 1 is an object of a class, so it can't be stored and read again exactly."],
    ['text', "Row 1 is not an object, so it can't be stored."],
  ])('is refused by name if it has no exact form, case %#', (row, message) => {
    expect(() => encodeRow(row, where)).toThrow(message);
  });
});
