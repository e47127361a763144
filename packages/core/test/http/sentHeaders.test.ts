import { expect, test } from 'vitest';
import { sentHeaders } from '../../src/http/sentHeaders.js';

test('T1 what a link sets under the name of the key is not sent, however it is written', () => {
  const headers = { Accept: 'application/json', 'x-api-KEY': 'of a link', 'X-Trace': '7' };
  expect(sentHeaders(headers, { 'X-API-Key': 'ours' })).toEqual({
    ...{ accept: 'application/json', 'x-trace': '7', 'x-api-key': 'ours' },
  });
  expect(sentHeaders(headers, {})).toMatchObject({ 'x-trace': '7', 'x-api-key': 'of a link' });
});

test('a header that is written in two ways is sent once, as it was set last', () => {
  expect(sentHeaders({ Accept: 'application/json', accept: 'text/csv' }, {})).toEqual({ accept: 'text/csv' });
});

test('what a link has set to nothing is not sent', () => {
  expect(sentHeaders({ 'X-Trace': undefined, 'X-Span': null, 'X-Count': 0, 'X-Empty': '' }, {})).toEqual({
    ...{ 'x-count': '0', 'x-empty': '' },
  });
});
