import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  columnValues,
  toBoolean,
  integerText,
  jsonText,
  numberText,
  plainText,
  timestampMicros,
} from '../../../src/rows/columns/columnValue.js';

const cycle: unknown[] = [];
cycle.push(cycle);

describe('D4 an integer', () => {
  test.each<[unknown, string]>([
    [0, '0'],
    [-0, '0'],
    [-7, '-7'],
    [2 ** 53 - 1, '9007199254740991'],
    [9_007_199_254_740_993n, '9007199254740993'],
    ['9007199254740993', '9007199254740993'],
    ['-340282366920938463463374607431768211456', '-340282366920938463463374607431768211456'],
    ['+007', '7'],
    ['-0', '0'],
    ['-0.00', '0'],
    ['12.000', '12'],
    ['1.50e2', '150'],
    ['15000E-2', '150'],
    ['1e21', '1000000000000000000000'],
    ['0e21', '0'],
  ])('%s is %s', (value, text) => {
    expect(integerText(value)).toBe(text);
  });

  test.each([2 ** 53, 1e21, 1.5, NaN, Infinity, '', ' 1', '1 ', '1.5', '15e-1', '0x10', '1_000', '1e999999999', 'one'])(
    '%s is not one',
    (value) => {
      expect(integerText(value)).toBeUndefined();
    },
  );

  test.each([true, null, undefined, [], {}, new Date(0)])('%j is not one either', (value) => {
    expect(integerText(value)).toBeUndefined();
  });
});

describe('D4 a number', () => {
  test.each<[unknown, string]>([
    [0.1, '0.1'],
    [-0, '0'],
    [1e21, '1000000000000000000000'],
    [1e-7, '0.0000001'],
    [-2.5e-10, '-0.00000000025'],
    [2n ** 64n, '18446744073709551616'],
    ['0.1000000000000000055', '0.1000000000000000055'],
    ['-1.50', '-1.50'],
    ['.5', '0.5'],
    ['5.', '5'],
    ['00.10', '0.10'],
    ['-0.0', '0.0'],
    ['1.25e1', '12.5'],
    ['1.25E+3', '1250'],
    ['125e-5', '0.00125'],
  ])('%s is %s', (value, text) => {
    expect(numberText(value)).toBe(text);
  });

  test.each([NaN, -Infinity, '', '.', '-', 'e5', '1e', '1,5', '1e-999999999', 'NaN', '１', true, {}])(
    '%s is not one',
    (value) => {
      expect(numberText(value)).toBeUndefined();
    },
  );

  test('keeps the value of any double', () => {
    fc.assert(
      fc.property(fc.double({ noNaN: true, noDefaultInfinity: true }), (value) => {
        const text = numberText(value) ?? '';
        expect(text).toMatch(/^-?(0|[1-9]\d*)(\.\d+)?$/);
        expect(Number(text) + 0).toBe(value + 0);
      }),
    );
  });

  test('keeps all digits of any decimal text', () => {
    const part = fc.stringMatching(/^\d{1,40}$/);
    fc.assert(
      fc.property(part, part, fc.integer({ min: -60, max: 60 }), (whole, fraction, exponent) => {
        const text = numberText(`${whole}.${fraction}e${exponent}`) ?? '';
        const [before = '', after = ''] = text.split('.');
        // Both sides times 10^(60 + 40).
        const scaled = BigInt(`${before}${after.padEnd(100, '0')}`);
        expect(scaled).toBe(BigInt(`${whole}${fraction}`) * 10n ** BigInt(100 + exponent - fraction.length));
      }),
    );
  });

  test('is found in a million digits at once', () => {
    const digits = '1'.repeat(1_000_000);
    expect(numberText(digits)).toBe(digits);
    expect(numberText(`${digits}x`)).toBeUndefined();
  });
});

describe('D4 a boolean', () => {
  test.each<[unknown, boolean | undefined]>([
    [true, true],
    [false, false],
    ['true', true],
    ['false', false],
    ['TRUE', undefined],
    [1, undefined],
    ['', undefined],
  ])('%s is %s', (value, expected) => {
    expect(toBoolean(value)).toBe(expected);
  });
});

describe('D4 a timestamp', () => {
  test.each<[unknown, bigint]>([
    ['1970-01-01T00:00:00Z', 0n],
    ['1970-01-01T00:00:00.000001Z', 1n],
    ['1969-12-31T23:59:59.999999Z', -1n],
    ['1970-01-01T01:00:00,5+01:00', 500_000n],
    ['1970-01-01 00:00-0130', 5_400_000_000n],
    ['1969-12-31T12:00:00-12', 0n],
    ['2024-02-29T23:59:59.123456Z', 1_709_251_199_123_456n],
    ['2024-02-29T23:59:59.1234560000z', 1_709_251_199_123_456n],
    ['0001-01-01T00:00:00Z', -62_135_596_800_000_000n],
    ['0099-01-01T00:00:00Z', BigInt(Date.parse('0099-01-01T00:00:00Z')) * 1_000n],
    ['+012345-01-01T00:00:00Z', BigInt(Date.parse('+012345-01-01T00:00:00Z')) * 1_000n],
    [new Date(-1), -1_000n],
    ['2024-02-28T23:59:59Z', 1_709_164_799_000_000n],
    ['2024-02-28T23:59:59.5Z', 1_709_164_799_500_000n],
    ['2024-02-28T23:59:59.1234Z', 1_709_164_799_123_400n],
    ['2024-02-28T23:59:59.999999Z', 1_709_164_799_999_999n],
    ['9999-12-28T23:59:59.999999Z', 253_402_041_599_999_999n],
  ])('%s is %s', (value, micros) => {
    expect(timestampMicros(value)).toBe(micros);
    expect(columnValues.timestamp.read(value)).toBe(String(micros));
  });

  test.each([
    '2024-02-29T23:59:59',
    '2024-02-29',
    '2023-02-29T00:00:00Z',
    '2024-13-01T00:00:00Z',
    '2024-00-01T00:00:00Z',
    '2024-01-00T00:00:00Z',
    '2024-01-01T24:00:00Z',
    '2024-01-01T00:60:00Z',
    '2024-12-31T23:59:60Z',
    '2024-01-01T00:00:00.0000001Z',
    '2024-01-01T00:00:00+24:00',
    '-000000-01-01T00:00:00Z',
    '24-01-01T00:00:00Z',
    'now',
    '',
    0,
    1_709_251_199n,
  ])('%s is not one', (value) => {
    expect(timestampMicros(value)).toBeUndefined();
  });

  test('an invalid Date is not one', () => {
    expect(timestampMicros(new Date(NaN))).toBeUndefined();
  });

  test('has the microseconds of any date', () => {
    fc.assert(
      fc.property(fc.date({ noInvalidDate: true }), (date) => {
        expect(timestampMicros(date.toISOString())).toBe(BigInt(date.getTime()) * 1_000n);
      }),
    );
  });
});

describe('D4 as JSON and as text', () => {
  test.each<[unknown, string | undefined, string | undefined]>([
    ['a', '"a"', 'a'],
    ['{"a":1}', '"{\\"a\\":1}"', '{"a":1}'],
    [1.5, '1.5', '1.5'],
    [false, 'false', 'false'],
    [[1, null], '[1,null]', '[1,null]'],
    [{ a: '\ud800' }, '{"a":"\\ud800"}', '{"a":"\\ud800"}'],
    [new Date(0), '"1970-01-01T00:00:00.000Z"', '1970-01-01T00:00:00.000Z'],
    [new Date(NaN), 'null', undefined],
    [1n, undefined, '1'],
    [{ a: 1n }, undefined, undefined],
    [cycle, undefined, undefined],
    [() => 1, undefined, undefined],
    [Symbol('a'), undefined, undefined],
  ])('case %#', (value, json, text) => {
    expect(jsonText(value)).toBe(json);
    expect(plainText(value)).toBe(text);
  });
});
