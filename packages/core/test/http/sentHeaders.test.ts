import { AxiosHeaders } from 'axios';
import { expect, test } from 'vitest';
import { sentHeaders } from '../../src/http/adapter/sentHeaders.js';

test('T1 what a link sets under the name of the key is not sent, however it is written', () => {
  const headers = new AxiosHeaders({ Accept: 'application/json', 'x-api-KEY': 'of a link', 'X-Trace': '7' });
  expect(sentHeaders({ headers }, { 'X-API-Key': 'ours' })).toEqual({
    ...{ Accept: 'application/json', 'X-Trace': '7', 'X-API-Key': 'ours' },
  });
  expect(sentHeaders({ headers })).toMatchObject({ 'X-Trace': '7' });
});
