import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { isExactNumber, parseExactly } from '../../src/http/response/exactNumbers.js';

describe('D4 of a document', () => {
  test.each([
    '9007199254740992',
    '9007199254740993',
    '-9007199254740993',
    '12345678901234567890123456789',
    '9007199254740993.0',
    '0.1000000000000000055',
    '-1.00000000000000000001',
    '1e400',
    '1e-400',
    '-1e-400',
    '12345678901234567890e0',
    '12345678901234567890.0',
    '9007199254740993e0',
    '100000000000000000000',
    '12345678901234567E-3',
    '0.12345678901234563',
    '0.12345678901234567',
    `1${'0'.repeat(400)}`,
  ])('the number %s arrives as text', (token) => {
    expect(parseExactly(token)).toBe(token);
    expect(parseExactly(` [${token} , {"a":${token}},\n${token}]`)).toEqual([token, { a: token }, token]);
  });

  test.each([
    '0',
    '-0',
    '0.000000000000000000000',
    '9007199254740991',
    '-9007199254740991.000000',
    '0.1',
    '0.30000000000000004',
    '1.0000000000000000000',
    '1e5',
    '1.5E+3',
    '5e-324',
    '1234567890123450e-1',
    '0.00000000000000000001',
    '1e17',
    '-1.5e16',
    '1e20',
    '1E+21',
    '1e23',
    '1.7976931348623157e+308',
    '9007199254740992.0',
    '9007199254740992e0',
    '100000000000000000000.0',
    '1.2345678901234567e+19',
    '0.10000000000000001',
    '0.29999999999999999',
    '4.9406564584124654e-324',
    '0.1000000000000000055511151231257827021181583404541015625',
  ])('the number %s stays a number', (token) => {
    expect(parseExactly(`[${token}]`)).toEqual([JSON.parse(token)]);
  });

  test.each([
    '"9007199254740993"',
    '[1,"a,9007199254740993",2,9007199254740993.5]',
    '{"9007199254740993":"\\\\","a":":9007199254740993","b":9007199254740991}',
    '["\\"",",1e400","\\\\\\"",",1e400"]',
  ])('text is never changed: %s', (json) => {
    const expected = JSON.parse(json.replace('9007199254740993.5', '"9007199254740993.5"')) as unknown;
    expect(parseExactly(json)).toEqual(expected);
  });

  test('behind a key with quotes and backslashes it is one, but not in a document that is a text', () => {
    const number = '9007199254740993';
    const names = ['a', 'a"', 'a\\', 'a\\"', 'a"\\', '"', '\\'];
    for (const name of names) {
      expect(parseExactly(`{${JSON.stringify(name)}:-${number}}`)).toEqual({ [name]: `-${number}` });
      const inner = `{${JSON.stringify(name)}:${number}}`;
      expect(parseExactly(JSON.stringify([inner, JSON.stringify(inner)]))).toEqual([inner, JSON.stringify(inner)]);
    }
  });

  test.each([
    '',
    '{12345678901234567890:1}',
    '[12345678901234567890',
    '[01234567890123456789]',
    '12345678901234567890.',
  ])('that is not JSON is refused: %j', (json) => {
    expect(() => parseExactly(json)).toThrow(SyntaxError);
  });

  test('of 500 levels is read, and one of more is refused', () => {
    const nested = (levels: number): string => '['.repeat(levels) + ']'.repeat(levels);
    expect(parseExactly(nested(500))).toEqual(JSON.parse(nested(500)));
    expect(() => parseExactly(nested(501))).toThrow(RangeError);
    expect(() => parseExactly(`{"a":${nested(100_000)}}`)).toThrow(RangeError);
  });

  test('every number keeps its digits, and everything else is as JSON.parse has it', { tags: ['slow'] }, () => {
    // Stands for a number, and is not in any other text.
    const mark = '\u{1F6B0}';
    const digits = fc.stringMatching(/^(0|[1-9]\d{0,25})(\.\d{1,25})?([eE][+-]?\d{1,3})?$/);
    const token = fc.tuple(fc.constantFrom('', '-'), digits).map(([sign, rest]) => sign + rest);
    const text = fc.string({ unit: 'grapheme' }).map((any) => any.replaceAll(mark, ''));
    const scalar = fc.oneof(
      text,
      fc.boolean(),
      fc.constant(null),
      token.map((number) => mark + number),
    );
    const { document } = fc.letrec<{ document: unknown }>((tie) => ({
      document: fc.oneof(
        { maxDepth: 4 },
        scalar,
        fc.array(tie('document')),
        fc.dictionary(fc.oneof(text, digits), tie('document')),
      ),
    }));
    fc.assert(
      fc.property(document, fc.constantFrom(undefined, 1, '\t'), (any, space) => {
        const written = JSON.stringify(any, null, space);
        const json = written.replace(new RegExp(`"${mark}([^"]*)"`, 'gu'), '$1');
        const read = parseExactly(json);
        // Numbers in the order of the document: each is the text that was sent, or a double that prints as it.
        const sent = [...written.matchAll(new RegExp(`"${mark}([^"]*)"`, 'gu'))].map(([, number = '']) => number);
        const found: unknown[] = [];
        const walk = (was: unknown, is: unknown): void => {
          if (typeof was === 'string' && was.startsWith(mark)) {
            found.push(is);
            return;
          }
          if (typeof was !== 'object' || was === null) {
            expect(is).toBe(was);
            return;
          }
          const before = Object.entries(was);
          const after = Object.entries(is as object);
          expect(after.map(([name]) => name)).toEqual(before.map(([name]) => name));
          for (const [nth, [, value]] of before.entries()) walk(value, after[nth]?.[1]);
        };
        walk(JSON.parse(written), read);
        expect(found).toHaveLength(sent.length);
        for (const [nth, number] of sent.entries()) {
          const value = found[nth];
          if (typeof value === 'string') {
            expect(value).toBe(number);
            expect(isKept(number)).not.toBe(true);
          } else {
            expect(value).toBe(Number(number));
            expect(isKept(number)).not.toBe(false);
          }
        }
      }),
      { numRuns: 300 },
    );
  });

  test('what serializers write for a double stays a number, unless it is an integer beyond 2^53', () => {
    const forms: ((value: number) => string)[] = [
      String,
      (value) => value.toPrecision(17),
      (value) => value.toExponential(),
      (value) => value.toExponential(16),
      // As Python does.
      (value) => (Number.isInteger(value) ? `${String(value)}.0` : String(value)).replace(/(e.*)\.0$/, '$1'),
    ];
    fc.assert(
      fc.property(fc.double({ noNaN: true, noDefaultInfinity: true }), (value) => {
        for (const form of forms) {
          const token = form(value);
          expect(parseExactly(`[${token}]`)).toEqual([isLargeInteger(token) ? token : Number(token)]);
        }
      }),
    );
  });

  test('a number beyond 2^53 that stays one is known not to be rounded', () => {
    const document = parseExactly('{"a":1.5e16,"b":1.5,"c":9007199254740993,"d":"9007199254740993"}');
    expect(['a', 'b', 'c', 'd'].filter((name) => isExactNumber(document, name))).toEqual(['a', 'c']);
    expect(isExactNumber(JSON.parse('{"a":1.5e16}'), 'a')).toBe(false);
  });

  test('a million digits take no time', () => {
    const token = `1${'0'.repeat(1_000_000)}1`;
    expect(parseExactly(`[${token}]`)).toEqual([token]);
    expect(parseExactly(`["${'\\\\'.repeat(500_000)}",9007199254740993]`)).toEqual([
      '\\'.repeat(500_000),
      '9007199254740993',
    ]);
  });
});

function isLargeInteger(token: string): boolean {
  return /^-?\d+$/.test(token) && !Number.isSafeInteger(Number(token));
}

/**
 * Whether a number is one that a serializer writes for its double, by exact arithmetic: up to 17 digits, nearest to it,
 * or all of its digits; and not the digits of an integer beyond 2^53. `undefined` if two are equally near.
 */
function isKept(token: string): boolean | undefined {
  const value = Number(token);
  if (/^-?\d+$/.test(token)) return Number.isSafeInteger(value);
  if (!Number.isFinite(value)) return false;
  const sent = scaled(token);
  const double = exactly(value);
  const shift = Math.max(sent.scale, double.scale);
  const [a, b] = [sent, double].map(({ digits, scale }) => digits * 10n ** BigInt(shift - scale)) as [bigint, bigint];
  if (a === b) return true;
  const significant = String(sent.digits).replace(/^-/, '').replace(/0+$/, '');
  if (significant.length > 17) return false;
  const zeros = String(sent.digits).replace(/^-/, '').length - significant.length;
  const unit = 10n ** BigInt(shift - sent.scale + zeros);
  const twice = 2n * (a > b ? a - b : b - a);
  return twice === unit ? undefined : twice < unit;
}

/** A double as digits times 10 to the power of minus `scale`. */
function exactly(value: number): { readonly digits: bigint; readonly scale: number } {
  let whole = value;
  let halvings = 0;
  while (!Number.isInteger(whole)) [whole, halvings] = [whole * 2, halvings + 1];
  return { digits: BigInt(whole) * 5n ** BigInt(halvings), scale: halvings };
}

function scaled(token: string): { readonly digits: bigint; readonly scale: number } {
  const [mantissa = '', exponent = '0'] = token.split(/e/i);
  const [whole = '', fraction = ''] = mantissa.split('.');
  return { digits: BigInt(whole + fraction), scale: fraction.length - Number(exponent) };
}
