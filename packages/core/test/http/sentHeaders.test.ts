import { expect, test } from 'vitest';
import { ConfigError } from '../../src/index.js';
import { HeaderJoiner, sentHeaders } from '../../src/http/sendAttempt.js';

test('T1 what a link sets under the name of the key is not sent, however it is written', () => {
  const headers = { Accept: 'application/json', 'x-api-KEY': 'of a link', 'X-Trace': '7' };
  expect(sentHeaders(headers, { 'X-API-Key': 'ours' })).toEqual({
    accept: 'application/json',
    'x-trace': '7',
    'x-api-key': 'ours',
  });
  expect(sentHeaders(headers, {})).toMatchObject({ 'x-trace': '7', 'x-api-key': 'of a link' });
});

test('a header that is written in two ways is sent once, as it was set last', () => {
  expect(sentHeaders({ Accept: 'application/json', accept: 'text/csv' }, {})).toEqual({ accept: 'text/csv' });
});

test('what a link has set to nothing is not sent, however it was written before', () => {
  expect(
    sentHeaders({ 'X-Trace': undefined, 'X-Span': null, 'X-Off': false, 'X-Count': 0, 'X-Empty': '' }, {}),
  ).toEqual({
    'x-count': '0',
    'x-empty': '',
  });
  expect(sentHeaders({ Accept: 'application/json', accept: undefined }, {})).toEqual({});
});

test('a value may end as the line of a file does', () => {
  expect(sentHeaders({ 'X-Token': 'abc\n' }, {})).toEqual({ 'x-token': 'abc' });
});

test.each<[string, string]>([
  ['X-Trace', 'a\r\nX-Evil: 1'],
  ['X-Trace', 'a\0b'],
  ['X-Trace', '\u20AC'],
  ['X-Trace ', '7'],
  ['X\nTrace', '7'],
  ['', '7'],
])('what is no header is refused before it is sent, and its value not shown: %j: %j', (name, value) => {
  const refused = (): unknown => sentHeaders({ [name]: value }, { 'X-API-Key': 'ours' });
  expect(refused).toThrow(ConfigError);
  expect(refused).toThrow(JSON.stringify(name));
  expect(refused).not.toThrow('Evil');
});

test('T1 headers are put together again for another secret, and for headers that somebody has modified', () => {
  const joiner = new HeaderJoiner();
  const frozen = Object.freeze({ Accept: 'application/json' });
  const first = { 'X-API-Key': 'first' };
  const second = { 'X-API-Key': 'second' };
  const sent = joiner.join(frozen, first);
  expect(sent).toEqual({ accept: 'application/json', 'x-api-key': 'first' });
  expect(joiner.join(frozen, first)).toBe(sent);
  expect(joiner.join(frozen, second)).toMatchObject({ 'x-api-key': 'second' });
  const modified: Record<string, string> = { Accept: 'text/csv' };
  expect(joiner.join(modified, second)).toMatchObject({ accept: 'text/csv' });
  modified['Accept'] = 'application/json';
  expect(joiner.join(modified, second)).toMatchObject({ accept: 'application/json' });
});
