import { expect, test } from 'vitest';
import { ConfigError } from '../../src/index.js';
import { joinHeaders } from '../../src/http/headers.js';

test('T1 what a link sets under the name of the key is not sent, however it is written', () => {
  const headers = { Accept: 'application/json', 'x-api-KEY': 'of a link', 'X-Trace': '7' };
  expect(joinHeaders(headers, { 'X-API-Key': 'ours' })).toEqual({
    accept: 'application/json',
    'x-trace': '7',
    'x-api-key': 'ours',
  });
  expect(joinHeaders(headers, {})).toMatchObject({ 'x-trace': '7', 'x-api-key': 'of a link' });
});

test('a header that is written in two ways is sent once, as it was set last', () => {
  expect(joinHeaders({ Accept: 'application/json', accept: 'text/csv' }, {})).toEqual({ accept: 'text/csv' });
});

test('what a link has set to nothing is not sent, however it was written before', () => {
  expect(
    joinHeaders({ 'X-Trace': undefined, 'X-Span': null, 'X-Off': false, 'X-Count': 0, 'X-Empty': '' }, {}),
  ).toEqual({
    'x-count': '0',
    'x-empty': '',
  });
  expect(joinHeaders({ Accept: 'application/json', accept: undefined }, {})).toEqual({});
});

test('a value may end as the line of a file does', () => {
  expect(joinHeaders({ 'X-Token': 'abc\n' }, {})).toEqual({ 'x-token': 'abc' });
});

test.each<[string, string]>([
  ['X-Trace', 'a\r\nX-Evil: 1'],
  ['X-Trace', 'a\0b'],
  ['X-Trace', '\u20AC'],
  ['X-Trace ', '7'],
  ['X\nTrace', '7'],
  ['', '7'],
])('what is no header is refused before it is sent, and its value not shown: %j: %j', (name, value) => {
  const refused = (): unknown => joinHeaders({ [name]: value }, { 'X-API-Key': 'ours' });
  expect(refused).toThrow(ConfigError);
  expect(refused).toThrow(JSON.stringify(name));
  expect(refused).not.toThrow('Evil');
});
