import { describe, expect, test } from 'vitest';
import { entityTagOf, isConditional, isSameTag } from '../../src/http/response/entityTag.js';

describe('entity tags', () => {
  test.each([
    ['"1a"', true],
    ['W/"1a"', true],
    ['""', true],
    [`"${'x'.repeat(8190)}"`, true],
    [`"${'x'.repeat(8191)}"`, false],
    ['1a', false],
    ['w/"1a"', false],
    ['"1a" ', false],
    ['"a b"', false],
    ['"a"b"', false],
    ['"a\tb"', false],
    ['"a\u0000b"', false],
    ['"a\u007fb"', false],
    ['"é"', false],
    ['*', false],
    ['"a", "b"', false],
    ['', false],
  ])('A7 the tag %j is sent: %s', (etag, isSent) => {
    expect(entityTagOf({ etag })).toBe(isSent ? etag : undefined);
  });

  test.each([
    ['"1a"', '"1a"', true],
    ['W/"1a"', '"1a"', true],
    ['"1a-gzip"', '"1a"', true],
    ['W/"1a--gzip"', '"1a-br"', true],
    ['"1a"', '"1b"', false],
    ['"1a-gzip"', '"1b-gzip"', false],
    ['"gzip"', '""', false],
  ])('A7 the tags %j and %j name the same content: %s', (one, other, isSame) => {
    expect(isSameTag(one, other)).toBe(isSame);
  });

  test.each<[Record<string, unknown>, boolean]>([
    [{ 'if-none-match': '"a"' }, true],
    [{ 'If-None-Match': '*' }, true],
    [{ 'If-Modified-Since': 'Sun, 06 Nov 1994 08:49:37 GMT' }, true],
    [{ 'if-none-match': undefined }, false],
    [{ 'if-none-match': false }, false],
    [{ 'if-match': '"a"' }, false],
    [{}, false],
  ])('A7 a request with %j may be answered by 304: %s', (headers, is) => {
    expect(isConditional(headers)).toBe(is);
  });
});
