import { expect, test } from 'vitest';
import { DecodeError } from '../../src/index.js';
import { documentReader } from '../../src/define/responses/documentReader.js';

const read = documentReader('test.rows');

test.each([
  ['a list', [{ id: 1 }, { id: 2 }], [{ id: 1 }, { id: 2 }]],
  ['an empty list', [], []],
  ['a single row', { id: 1 }, [{ id: 1 }]],
  ['nothing', undefined, []],
  ['null, which is no row', null, []],
])('a field of rows may hold %s', (_, field, rows) => {
  expect(read.rows(field)).toEqual(rows);
});

test.each([undefined, null, ''])('a cursor that is %j is none', (field) => {
  expect(read.cursor(field, 'cursor')).toBeUndefined();
});

test.each([0, false, {}, ['a']])('a cursor that is %j is an error that says where it stands', (field) => {
  expect(() => read.cursor(field, 'page.cursor')).toThrow(DecodeError);
  expect(() => read.cursor(field, 'page.cursor')).toThrow(
    'test.rows: the server responded with a document of an unexpected shape at page.cursor',
  );
});

test.each([null, 'x', 1, [{}]])('%j is no record, and the error says where it stands', (value) => {
  expect(() => read.record(value, 'result[3]')).toThrow(DecodeError);
  expect(() => read.record(value, 'result[3]')).toThrow('result[3]');
  expect(read.record({ id: 1 }, 'result[3]')).toEqual({ id: 1 });
});
