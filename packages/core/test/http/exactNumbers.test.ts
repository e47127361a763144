import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parseExactly } from '../../src/http/exactNumbers.js';

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
    '1e21',
    '12345678901234567E-3',
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

  test.each([
    '',
    '{12345678901234567890:1}',
    '[12345678901234567890',
    '[01234567890123456789]',
    '12345678901234567890.',
  ])('that is not JSON is refused: %j', (json) => {
    expect(() => parseExactly(json)).toThrow(SyntaxError);
  });

  test('every number keeps its digits, and everything else is as JSON.parse has it', () => {
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
          const [before, after] = [Object.entries(was), Object.entries(is as object)];
          expect(after.map(([name]) => name)).toEqual(before.map(([name]) => name));
          for (const [nth, [, value]] of before.entries()) walk(value, after[nth]?.[1]);
        };
        walk(JSON.parse(written), read);
        expect(found).toHaveLength(sent.length);
        for (const [nth, number] of sent.entries()) {
          const value = found[nth];
          if (typeof value === 'string') {
            expect(value).toBe(number);
            expect(isKept(number)).toBe(false);
          } else {
            expect(value).toBe(Number(number));
            expect(isKept(number)).toBe(true);
          }
        }
      }),
      { numRuns: 300 },
    );
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

/** Whether a double prints as the same decimal, by exact arithmetic, and is not an integer beyond 2^53. */
function isKept(token: string): boolean {
  const value = Number(token);
  if (!Number.isFinite(value) || (Number.isInteger(value) && !Number.isSafeInteger(value))) return false;
  const [a, b] = [scaled(token), scaled(String(value))];
  const shift = Math.max(a.scale, b.scale);
  return a.digits * 10n ** BigInt(shift - a.scale) === b.digits * 10n ** BigInt(shift - b.scale);
}

function scaled(token: string): { readonly digits: bigint; readonly scale: number } {
  const [mantissa = '', exponent = '0'] = token.split(/e/i);
  const [whole = '', fraction = ''] = mantissa.split('.');
  return { digits: BigInt(whole + fraction), scale: fraction.length - Number(exponent) };
}
