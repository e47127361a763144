import { isAscii } from 'node:buffer';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { jsonText } from '../../src/http/adapter/jsonText.js';

type Outcome = { readonly value: unknown } | 'no JSON';

function read(text: string): Outcome {
  try {
    return { value: JSON.parse(text) };
  } catch {
    return 'no JSON';
  }
}

const textOf = (document: string): string => jsonText(Buffer.from(document));

/** Characters of one to four bytes, of which some mean something in JSON, and some have to be escaped there. */
const characters = [...'"\\{}[]:,u019 aé߀漢🎉\n\u0000\u007f\u0080\u2028\ud7ff\ue000\uffff'];
const pieces = fc.array(fc.oneof(fc.constantFrom(...characters), fc.constantFrom('"a"', '\\u', '\\\\', '0x')), {
  maxLength: 40,
});

/** Long enough for an emoji or two. */
const filling = 'x'.repeat(10_000);

describe('a document says in its JSON text', () => {
  test('what it says, whatever that is', () => {
    fc.assert(
      fc.property(fc.json({ noUnicodeString: false }), fc.constantFrom('', filling), (document, behind) => {
        const json = JSON.stringify([JSON.parse(document), behind]);
        expect(read(textOf(json))).toStrictEqual(read(json));
      }),
      { numRuns: 2_000 },
    );
  });

  test('nothing that it does not say: what is no JSON stays none', () => {
    fc.assert(
      fc.property(pieces, (some) => {
        for (const document of [some.join(''), `"${some.join('')}"`, `["${some.join('')}","${filling}"]`])
          expect(read(textOf(document))).toStrictEqual(read(document));
      }),
      { numRuns: 5_000 },
    );
  });

  test.each([
    ['"\\é"', 'no JSON'],
    ['"\\\\é"', { value: '\\é' }],
    ['"\\\\\\é"', 'no JSON'],
    ['{"é":"🎉"}', { value: { é: '🎉' } }],
    ['é', 'no JSON'],
    ['["a"]\u00a0', 'no JSON'],
    ['["a"\u2028]', 'no JSON'],
    ['"\u2028"', { value: '\u2028' }],
    ['"\u0080\u07ff\u0800\uffff\u{10000}\u{10ffff}"', { value: '\u0080\u07ff\u0800\uffff\u{10000}\u{10ffff}' }],
    ['é"a"', 'no JSON'],
    ['"é', 'no JSON'],
    ['', 'no JSON'],
  ])('%j', (document, outcome) => {
    expect(read(textOf(document))).toStrictEqual(outcome);
    expect(read(document)).toStrictEqual(outcome);
  });
});

describe('a byte order mark', () => {
  test.each(['{"a":"é"}', '{"a":1}', `["é","${'漢 '.repeat(1_000)}"]`])('before %j is not part of it', (document) => {
    expect(read(textOf(`\uFEFF${document}`))).toStrictEqual(read(document));
  });

  test.each(['\uFEFF\uFEFF{}', '{}\uFEFF', '{"a":\uFEFF1}', '\uFEFF'])('elsewhere is no JSON (case %#)', (document) => {
    expect(read(textOf(document))).toBe('no JSON');
  });

  test('within a text stays there', () => {
    expect(read(textOf('"\uFEFFa"'))).toStrictEqual({ value: '\uFEFFa' });
  });
});

describe('the JSON text is', () => {
  test('of ASCII where few characters are not: such a text takes half the memory', () => {
    const document = JSON.stringify(Array.from({ length: 30 }, (_, nth) => [`${nth} 🎉`, 'x'.repeat(5_000)]));
    const text = textOf(document);
    expect(isAscii(Buffer.from(text))).toBe(true);
    expect(text).toHaveLength(Buffer.from(document).length + 30 * ('\\ud83c\\udf89'.length - 4));
  });

  test.each([
    ['many places', 'a é '.repeat(1_000)],
    ['long places', 'é'.repeat(1_000)],
  ])('its own where they are in %s', (_which, text) => {
    const document = JSON.stringify(text);
    expect(textOf(document)).toBe(document);
  });

  test('never much longer than the document, whatever lies in it', () => {
    fc.assert(
      fc.property(fc.array(fc.constantFrom('é', '漢', '🎉', 'a', filling), { maxLength: 400 }), (some) => {
        const document = Buffer.from(JSON.stringify(some.join('')));
        expect(jsonText(document).length).toBeLessThanOrEqual(1.5 * document.length + 8 * 768);
      }),
    );
  });
});
