import { expect, test } from 'vitest';
import { checkHeaders, collectSecrets } from '../../src/webhook/extraHeaders.js';
import { thrownBy } from '../../../../test/kit/thrownBy.js';

test.each([
  ['webhook-id', 'mine'],
  ['Webhook-Signature', 'v1,x'],
  ['content-type', 'text/plain'],
  ['Content-Length', '3'],
  ['Host', 'elsewhere'],
  ['transfer-encoding', 'chunked'],
  ['connection', 'close'],
  ['x-a', 'line\r\nx-b: c'],
  ['x-a', 'ä'],
  ['x a', 'b'],
  ['', 'b'],
])('refuses a header %j: %j, and does not repeat its value', (name, value) => {
  const error = thrownBy(() => checkHeaders({ [name]: value }));
  expect(error).toMatchObject({ code: 'config', details: { option: 'headers' } });
  if (value.length > 2) expect(String(error)).not.toContain(value);
});

test.each([
  [{ 'X-Token': 'canary-1', 'x-token': 'canary-2' }, 'x-token'],
  [{ authorization: 'canary-1', a: 'b', AUTHORIZATION: 'canary-1' }, 'authorization'],
])('refuses a header that is set twice, in any case', (headers, name) => {
  const error = thrownBy(() => checkHeaders(headers));
  expect(error).toMatchObject({ code: 'config', message: `The header "${name}" is set twice. Leave one of them out.` });
});

test('takes what others send along', () => {
  expect(() => checkHeaders({ authorization: 'Bearer abc', 'x-tenant': '', 'X-Trace_1': 'a\tb' })).not.toThrow();
});

test('takes for secret what may authorize: signing secrets, words of headers, tokens in the URL', () => {
  const url = new URL('https://h.example/services/T0123456789ab/short/a%62cdefghijklm?token=0123456789abcdef&v=1');
  expect(
    collectSecrets({
      secrets: ['whsec_AAAA'],
      headers: { authorization: 'Bearer 0123456789abc', 'x-env': 'test' },
      url,
    }),
  ).toEqual(
    expect.arrayContaining([
      'whsec_AAAA',
      'AAAA',
      '0123456789abc',
      'T0123456789ab',
      'abcdefghijklm',
      '0123456789abcdef',
    ]),
  );
  const basic = `Basic ${Buffer.from('user42:correct-horse').toString('base64')}`;
  const short = collectSecrets({
    secrets: [],
    headers: { authorization: basic, cookie: 'a=hunter2; sid="s3ss10n"' },
    url,
  });
  for (const hidden of ['user42', 'correct-horse', 'hunter2', 's3ss10n']) expect(short).toContain(hidden);
  for (const word of ['Basic', 'Bearer', 'test', 'services', 'short']) expect(short).not.toContain(word);
});
