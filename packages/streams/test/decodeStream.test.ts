import { DecodeError } from '@sluice/core';
import { describe, expect, test } from 'vitest';
import { streamListing } from '../src/listStreams.js';

const decode = (text: string) => streamListing.read({ body: JSON.parse(text) }, 'streams.list');

describe('the result of a page of streams', () => {
  test.each([
    ['a list', '{"result":[{"id":"a"},{"id":7}]}', [{ id: 'a' }, { id: 7 }]],
    ['an empty list', '{"result":[]}', []],
    ['a single stream', '{"result":{"id":"a"}}', [{ id: 'a' }]],
    ['null', '{"result":null}', []],
    ['absent', '{}', []],
  ])('may be %s', (_shape, text, rows) => {
    expect(decode(text).rows).toEqual(rows);
  });

  test.each([
    ['text', '{"result":"rows"}', 'result[0]'],
    ['a list with null', '{"result":[{"id":"a"},null]}', 'result[1]'],
    ['a list of lists', '{"result":[[]]}', 'result[0]'],
    ['nothing, since the document is a list', '[]', ''],
    ['nothing, since the document is null', 'null', ''],
  ])('may not be %s', (_shape, text, path) => {
    expect(faultOf(text)).toMatchObject({ code: 'decode', details: { route: 'streams.list', path } });
  });
});

describe('after a page of streams the walk', () => {
  test.each([
    ['"c"', { cursor: 'c' }],
    ['""', 'end'],
    ['null', 'end'],
    [undefined, 'end'],
  ])('with cursor %s goes on: %j', (cursor, next) => {
    expect(decode(`{"result":[{"id":"a"}]${cursor === undefined ? '' : `,"cursor":${cursor}`}}`).next).toEqual(next);
  });

  test.each(['7', 'false', '{}', '[]'])('with cursor %s can not go on', (cursor) => {
    expect(faultOf(`{"result":[],"cursor":${cursor}}`)).toMatchObject({ details: { path: 'cursor' } });
  });
});

describe('the total of a page of streams', () => {
  test.each([
    ['57', 57],
    ['0', 0],
    ['"57"', undefined],
    ['-1', undefined],
    ['1.5', undefined],
    ['1e400', undefined],
    ['null', undefined],
    ['{}', undefined],
  ])('%s is taken for %s, and is never an error', (total, count) => {
    expect(decode(`{"total":${total}}`).total).toBe(count);
  });
});

describe('a stream', () => {
  test.each(['"a"', '"7"', '" "', '0', '7', '-1', '9007199254740991'])('may have the id %s', (id) => {
    expect(JSON.stringify(decode(`{"result":{"id":${id}}}`).rows)).toBe(`[{"id":${id}}]`);
  });

  test.each([
    '{}',
    '{"id":null}',
    '{"id":""}',
    '{"id":true}',
    '{"id":{}}',
    '{"id":["a"]}',
    '{"id":9007199254740993}',
    '{"id":1e400}',
  ])('%s has no id that tells it from others', (row) => {
    expect(faultOf(`{"result":[{"id":"a"},${row}]}`)).toMatchObject({ details: { path: 'result[1].id' } });
  });

  test('keeps all other fields as they came, known or not, whatever their type', () => {
    const text =
      '{"id":"a","status":7,"tag":null,"topic0":{"0":"x"},"demo":"yes","chainIds":"0x1","abi":[],"triggers":false,"new":{"x":[1.50]},"__proto__":{"polluted":"yes"}}';
    expect(JSON.stringify(decode(`{"result":[${text}]}`).rows)).toBe(`[${text.replace('1.50', '1.5')}]`);
    expect({}).not.toHaveProperty('polluted');
  });
});

function faultOf(text: string): unknown {
  try {
    decode(text);
  } catch (error) {
    expect(error).toBeInstanceOf(DecodeError);
    return error;
  }
  throw new Error('It was accepted.');
}
