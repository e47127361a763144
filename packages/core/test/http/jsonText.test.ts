import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { jsonText } from '../../src/http/adapter/utf8Body.js';

type Outcome = { readonly value: unknown } | 'no JSON';

function read(text: string): Outcome {
  try {
    return { value: JSON.parse(text) };
  } catch {
    return 'no JSON';
  }
}

const textOf = (document: string): string => jsonText(Buffer.from(document));

const shortest = 64 * 1024;
/** Blanks behind a document change nothing of what it says, and make it one that is worth its escapes. */
const long = (document: string): string => document + ' '.repeat(shortest);

/** Characters of one to four bytes, of which some mean something in JSON, and some have to be escaped there. */
const characters = [...'"\\{}[]:,u019 aé߀漢🎉\n\u0000\u007f\u0080\u2028\ud7ff\ue000\uffff'];
const pieces = fc.array(fc.oneof(fc.constantFrom(...characters), fc.constantFrom('"a"', '\\u', '\\\\', '0x')), {
  maxLength: 40,
});

describe('a document says in its JSON text', () => {
  test('what it says, whatever that is', { tags: ['slow'] }, () => {
    fc.assert(
      fc.property(fc.json({ noUnicodeString: false }), (json) => {
        for (const document of [json, long(json)])
          expect(read(textOf(document))).toStrictEqual(read(Buffer.from(document).toString()));
      }),
      { numRuns: 1_000 },
    );
  });

  test('nothing that it does not say: what is no JSON stays none', { tags: ['slow'] }, () => {
    fc.assert(
      fc.property(pieces, (some) => {
        for (const document of [some.join(''), `"${some.join('')}"`, `{"${some.join('')}":1}`])
          for (const text of [document, long(document)]) expect(read(textOf(text))).toStrictEqual(read(text));
      }),
      { numRuns: 1_000 },
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
    for (const text of [document, long(document)]) {
      expect(read(textOf(text))).toStrictEqual(outcome);
      expect(read(text)).toStrictEqual(outcome);
    }
  });
});

describe('a byte order mark', () => {
  test.each(['{"a":"é"}', '{"a":1}', long('{"a":"é"}'), long('{"a":1}')])(
    'is no part of the document behind it (case %#)',
    (document) => {
      expect(read(textOf(`\uFEFF${document}`))).toStrictEqual(read(document));
    },
  );

  test.each(['\uFEFF\uFEFF{}', '{}\uFEFF', '{"a":\uFEFF1}', '\uFEFF'])('elsewhere is no JSON (case %#)', (document) => {
    for (const text of [document, long(document)]) expect(read(textOf(text))).toBe('no JSON');
  });

  test('within a text stays there', () => {
    for (const text of ['"\uFEFFa"', long('"\uFEFFa"')]) expect(read(textOf(text))).toStrictEqual({ value: '\uFEFFa' });
  });
});

/** A document of so many bytes, with so many places of as many bytes each that are not ASCII. */
function documentOf({ bytes, places, long: length }: { bytes: number; places: number; long: number }): string {
  const begun = `"${`${'é'.repeat(length / 2)}a`.repeat(places)}`;
  return `${begun}${'x'.repeat(bytes - Buffer.byteLength(begun) - 1)}"`;
}

describe('a JSON text has escapes', () => {
  const bytes = 2 * shortest;
  const max = 64;
  const longest = 64;

  test.each([
    ['with as many places, and as long ones, as may be', { bytes, places: max, long: longest }],
    ['as short as may be', { bytes: shortest, places: 1, long: 2 }],
  ])('for a document %s: it takes one byte a character then', (_which, extent) => {
    const document = documentOf(extent);
    const text = textOf(document);
    expect(/^[\0-\x7f]*$/.test(text)).toBe(true);
    expect(text.length - document.length).toBe((extent.places * extent.long * 5) / 2);
    expect(read(text)).toStrictEqual(read(document));
  });

  test.each([
    ['of too many places', { bytes, places: max + 1, long: 2 }],
    ['of a place that is too long', { bytes, places: 1, long: longest + 2 }],
    ['that is short', { bytes: shortest - 1, places: 1, long: 2 }],
  ])('and not for one %s, which would take longer then', (_which, extent) => {
    const document = documentOf(extent);
    // Not compared as texts: telling where they differ takes minutes.
    expect(textOf(document) === document).toBe(true);
  });
});
