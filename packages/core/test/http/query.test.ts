import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { encodeQuery, type ArrayFormat, type Query } from '../../src/http/query.js';

describe('a query', () => {
  test.each<[ArrayFormat, string]>([
    ['brackets', 'owner%5B%5D=a&owner%5B%5D=b'],
    ['repeat', 'owner=a&owner=b'],
    ['indices', 'owner%5B0%5D=a&owner%5B1%5D=b'],
    ['comma', 'owner=a%2Cb'],
  ])('writes arrays with %s', (format, expected) => {
    expect(encodeQuery({ owner: ['a', 'b'] }, format)).toBe(expected);
  });

  test.each<[Query, string]>([
    [{}, ''],
    [{ a: undefined, b: [] }, ''],
    [{ a: '', b: 0, c: false }, 'a=&b=0&c=false'],
    [{ 'a b': 'c&d=e+f%#/?' }, 'a+b=c%26d%3De%2Bf%25%23%2F%3F'],
    [{ cursor: 'ä€😀' }, 'cursor=%C3%A4%E2%82%AC%F0%9F%98%80'],
  ])('of %j is written %j', (query, expected) => {
    expect(encodeQuery(query, 'brackets')).toBe(expected);
  });

  test('is read again as it was, whatever the names and values', () => {
    const text = fc.string({ unit: 'grapheme' });
    fc.assert(
      fc.property(fc.dictionary(text, text), (query) => {
        expect(Object.fromEntries(new URLSearchParams(encodeQuery(query, 'brackets')))).toEqual(query);
      }),
    );
  });
});
