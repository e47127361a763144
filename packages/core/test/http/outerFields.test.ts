import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parseExactly } from '../../src/http/exactNumbers.js';
import { outerFields, outerLength } from '../../src/http/outerFields.js';

/** The two ends of a document, as a body gives them. */
function found(json: string): unknown {
  return outerFields(json.slice(0, outerLength), json.slice(-outerLength));
}

describe('the fields around the rows of a document', () => {
  test.each([
    ['before the rows', '{"cursor":"b","hasNextPage":true,"result":[{"a":1}]}', { cursor: 'b', hasNextPage: true }],
    ['after them', '{"result":[{"a":1}],"cursor":"b","hasNextPage":false}', { cursor: 'b', hasNextPage: false }],
    ['on both sides', '{"total":12,"result":[{}],"cursor":null}', { total: 12, cursor: null }],
    [
      'with white space',
      ' {\n "total" : -1.5e3 ,\t"result": [ ] ,\r\n "cursor" : "b" } \n',
      { total: -1500, cursor: 'b' },
    ],
    ['with escapes', String.raw`{"cursor":"a\n\u0041\"","result":[]}`, { cursor: 'a\nA"' }],
    ['with brackets in a text', '{"result":[1],"a":"x","cursor":"b]c"}', {}],
  ])('are found %s', (_where, json, fields) => {
    expect(found(json)).toEqual(fields);
  });

  test.each([
    ['a list', '[{"cursor":"b"}]'],
    ['a row', '{"result":[{"cursor":"b","hasNextPage":true}]}'],
    ['an object that is not the outermost', '{"result":[],"page":{"cursor":"b"}}'],
    ['a text that looks like one', String.raw`{"result":[],"note":"x,\"cursor\":\"b\"","last":[]}`],
    ['other alphabets, which may be cut', '{"result":[],"cursor":"\u0416"}'],
    ['a document that is cut short', '{"result":[{"cursor":"b","hasNextPage":true'],
    ['nothing', ''],
    ['a number that JSON has not', '{"result":[],"cursor":007}'],
    ['a negative one', '{"cursor":-01,"result":[]}'],
  ])('are not those of %s', (_what, json) => {
    expect(found(json)).not.toHaveProperty('cursor');
  });

  test('are the last ones of repeated names, as for JSON.parse, and never a prototype', () => {
    expect(found('{"cursor":"a","cursor":"b","result":[],"n":1,"n":2}')).toEqual({ cursor: 'b', n: 2 });
    const fields = found('{"__proto__":"a","constructor":"b","result":[]}');
    expect(fields).toEqual({ constructor: 'b' });
    expect(Object.getPrototypeOf(fields)).toBe(Object.prototype);
  });

  test('are those of the parsed document, in whatever document', () => {
    const scalar = fc.oneof(fc.string(), fc.integer(), fc.double({ noNaN: true }), fc.boolean(), fc.constant(null));
    const value = fc.oneof(scalar, fc.jsonValue(), fc.constant(['rows', { cursor: 'in a row' }]));
    const entries = fc.array(fc.tuple(fc.oneof(fc.constantFrom('cursor', 'more', 'a-b', '$c'), fc.string()), value));
    fc.assert(
      fc.property(entries, fc.constantFrom(undefined, 1, '\t'), (list, space) => {
        const json = JSON.stringify(Object.fromEntries(list), undefined, space);
        const parsed = parseExactly(json);
        for (const [name, seen] of Object.entries(found(json) ?? {})) expect(parsed).toHaveProperty([name], seen);
      }),
      { numRuns: 2_000 },
    );
  });
});
