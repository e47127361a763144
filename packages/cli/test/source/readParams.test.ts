import { expect, test } from 'vitest';
import { UsageError } from '../../src/errors/errors.js';
import { parseParam, readParams } from '../../src/source/params.js';

const params = [
  { name: 'count', isRequired: false, type: 'integer' },
  { name: 'price', isRequired: false, type: 'number' },
  { name: 'all', isRequired: false, type: 'boolean' },
  { name: 'ids', isRequired: true, type: 'array' },
];

test.each<[string[], Record<string, unknown>]>([
  [['currency=usd'], { currency: 'usd' }],
  [['q=a=b:=c'], { q: 'a=b:=c' }],
  [['q='], { q: '' }],
  [['q=a\nb'], { q: 'a\nb' }],
  [['n=5', 'json:={"a":[1]}'], { n: '5', json: { a: [1] } }],
  [['count=5', 'price=-1.5', 'all=true'], { count: 5, price: -1.5, all: true }],
  [['count=many', 'all=yes'], { count: 'many', all: 'yes' }],
  [['count='], { count: '' }],
  [['n:=12345678901234567890', 'price:=1.5e16'], { n: '12345678901234567890', price: 1.5e16 }],
  [['count=9007199254740991', 'price=9007199254740993'], { count: 9007199254740991, price: '9007199254740993' }],
  [['price=1e16', 'count=1e400'], { price: 1e16, count: '1e400' }],
  [['ids=1'], { ids: ['1'] }],
  [['ids=1', 'ids=2'], { ids: ['1', '2'] }],
  [['ids:=[1,2]'], { ids: [1, 2] }],
  [['tag=a', 'tag=b'], { tag: ['a', 'b'] }],
  [[], {}],
])('%j is read as %j', (texts, expected) => {
  const given = texts.map((text) => parseParam(text));
  expect(readParams(given, { params }, [])).toEqual(expected);
});

test('a name of the language is a name like others', () => {
  const read = readParams([parseParam('__proto__=x'), parseParam('constructor=y')], {}, []);
  expect(Object.keys(read)).toEqual(['__proto__', 'constructor']);
  expect(Object.getPrototypeOf(read)).toBe(Object.prototype);
});

test.each([
  ['currency', '--param must be name=value, or name:=JSON for anything but text, like ids:=[1,2].'],
  ['=usd', '--param must be name=value, or name:=JSON for anything but text, like ids:=[1,2].'],
  ['ids:=[1', '--param ids:= must be followed by JSON. Write ids=… for text.'],
  ['pageSize=5', '--param pageSize is an option of its own: give --page-size.'],
  ['pageSize:=5', '--param pageSize is an option of its own: give --page-size.'],
  ['maxRows=5', '--param maxRows is not a parameter, and this command has no option for it. Leave it out.'],
  ['maxPages=1', '--param maxPages is not a parameter, and this command has no option for it. Leave it out.'],
  ['maxPages:=1', '--param maxPages is not a parameter, and this command has no option for it. Leave it out.'],
])('%s is refused', (text, sentence) => {
  expect(() => readParams([parseParam(text)], {}, ['pageSize'])).toThrow(new UsageError(sentence));
});
