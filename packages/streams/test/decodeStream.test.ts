import { describe, expect, test } from 'vitest';
import { brokenResults, faultOf, resultShapes } from '../../core/test/define/resultShapes.js';
import { streamListing } from '../src/listStreams.js';

const decode = (text: string) => streamListing.read({ body: JSON.parse(text) }, 'streams.list');
const refusalOf = (text: string) => faultOf(() => decode(text));

describe('the result of a page of streams', () => {
  test.each(resultShapes)('may be %s', (_shape, text, rows) => {
    expect(decode(text).rows).toEqual(rows);
  });

  test.each(brokenResults)('may not be %s', (_shape, text, path) => {
    expect(refusalOf(text)).toMatchObject({ code: 'decode', details: { route: 'streams.list', path } });
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
    expect(refusalOf(`{"result":[],"cursor":${cursor}}`)).toMatchObject({ details: { path: 'cursor' } });
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
    expect(refusalOf(`{"result":[{"id":"a"},${row}]}`)).toMatchObject({ details: { path: 'result[1].id' } });
  });

  test('keeps all other fields as they came, known or not, whatever their type', () => {
    const text =
      '{"id":"a","status":7,"tag":null,"topic0":{"0":"x"},"demo":"yes","chainIds":"0x1","abi":[],"triggers":false,"new":{"x":[1.50]},"__proto__":{"polluted":"yes"}}';
    expect(JSON.stringify(decode(`{"result":[${text}]}`).rows)).toBe(`[${text.replace('1.50', '1.5')}]`);
    expect({}).not.toHaveProperty('polluted');
  });
});
