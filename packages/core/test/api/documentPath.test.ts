import { describe, expect, test } from 'vitest';
import { documentPath } from '../../src/api/documentPath.js';
import { documentReader } from '../../src/source/documentReader.js';

const read = documentReader('test.items');
const find = (path: string, document: unknown): unknown => documentPath(path).find(document, read);

describe('a path in a document', () => {
  test.each<[string, unknown, unknown]>([
    ['', [1], [1]],
    ['items', { items: [] }, []],
    ['data.items', { data: { items: [1] } }, [1]],
    ['[1]', [{ page: 1 }, ['row']], ['row']],
    ['[0].rows[1]', [{ rows: ['a', 'b'] }], 'b'],
    ['@odata.nextLink', { '@odata': { nextLink: 'x' } }, 'x'],
    ['_embedded.my-items', { _embedded: { 'my-items': 1 } }, 1],
    ['next', { next: null }, null],
    ['constructor', JSON.parse('{"constructor":1}'), 1],
    ['__proto__.x', JSON.parse('{"__proto__":{"x":2}}'), 2],
    ['items?', {}, undefined],
    ['items?', { items: null }, undefined],
    ['data?.items', {}, undefined],
    ['data?.items', { data: null }, undefined],
    ['data.next?.href', { data: {} }, undefined],
    ['[3]?', [1], undefined],
  ])('%j leads in %j to %j', (path, document, found) => {
    expect(find(path, document)).toEqual(found);
  });

  test.each<[string, unknown, string, RegExp]>([
    ['itmes', { items: [] }, 'itmes', /there is no such field/],
    ['data.itmes', { data: { items: [] } }, 'data.itmes', /there is no such field/],
    ['data?.itmes', { data: { items: [] } }, 'data.itmes', /there is no such field/],
    ['data.items?', { date: {} }, 'data', /there is no such field/],
    ['data.items?', { data: null }, 'data', /it is null: if it may be, write \? after its name/],
    ['data.items?', { data: 'x' }, 'data', /it is text, and not an object/],
    ['data.items', { data: [{ items: 1 }] }, 'data', /it is a list, and not an object/],
    ['data[0]', { data: { 0: 1 } }, 'data', /it is an object, and not a list/],
    ['[2]', [1, 2], '[2]', /there is no such field/],
    ['items', [], '', /it is a list, and not an object/],
    ['items', null, '', /it is null/],
    ['toString', {}, 'toString', /there is no such field/],
    ['items.length', { items: [] }, 'items', /it is a list, and not an object/],
  ])('%j leads nowhere in %j, which is told at %j', (path, document, at, message) => {
    const asked = (): unknown => find(path, document);
    expect(asked).toThrow(message);
    expect(asked).toThrow(expect.objectContaining({ code: 'decode', details: { route: 'test.items', path: at } }));
  });

  test.each(['.', 'a.', '.a', 'a..b', 'a[', 'a[x]', 'a[0]b', '?', '[0', 'a??', 'a.[0]', '[-1]'])(
    '%j is none, which is told at once',
    (path) => {
      expect(() => documentPath(path)).toThrow(expect.objectContaining({ code: 'config' }));
    },
  );
});
