import { isUtf8 } from 'node:buffer';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { utf8Text } from '../../src/http/adapter/utf8Body.js';

const texts = fc.oneof(fc.string(), fc.string({ unit: 'binary', maxLength: 300 }), fc.string({ unit: 'grapheme' }));

test('is the text that the bytes spell', () => {
  fc.assert(
    fc.property(texts, (text) => {
      const wellFormed = Buffer.from(text).toString();
      expect(utf8Text(Buffer.from(wellFormed))).toBe(wellFormed);
    }),
    { numRuns: 2_000 },
  );
});

test('is what toString makes of any valid bytes', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 6 }), (bytes) => {
      fc.pre(isUtf8(bytes));
      expect(utf8Text(Buffer.from(bytes))).toBe(Buffer.from(bytes).toString());
    }),
    { numRuns: 2_000 },
  );
});

test.each(['', '\uFEFF{}', 'a\u0000b', 'é', '🎉', 'ascii'.repeat(100_000), `${'ascii'.repeat(100_000)}ß`])(
  'keeps what stands at an end (case %#)',
  (text) => {
    expect(utf8Text(Buffer.from(text))).toBe(text);
  },
);
