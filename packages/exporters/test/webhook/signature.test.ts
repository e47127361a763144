import fc from 'fast-check';
import { Webhook } from 'standardwebhooks';
import { describe, expect, test } from 'vitest';
import { signer } from '../../src/webhook/signature.js';
import { thrownBy } from '../../../../test/kit/thrownBy.js';

const secret = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';
const other = `whsec_${Buffer.alloc(32, 7).toString('base64')}`;

describe('W3 signatures', () => {
  test('are those of the vectors that the specification and its libraries share', () => {
    expect(
      signer([secret])({
        id: 'msg_p5jXN8AQM9LWM0D4loKWxJek',
        timestamp: 1614265330,
        body: '{"test": 2432232314}',
      }),
    ).toEqual({
      'webhook-id': 'msg_p5jXN8AQM9LWM0D4loKWxJek',
      'webhook-timestamp': '1614265330',
      'webhook-signature': 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
    });
    expect(
      signer(['whsec_plJ3nmyCDGBKInavdOK15jsl'])({
        id: 'msg_loFOjxBNrRLzqYUf',
        timestamp: 1731705121,
        body: '{"event_type":"ping","data":{"success":true}}',
      }),
    ).toMatchObject({ 'webhook-signature': 'v1,rAvfW3dJ/X/qxhsaXPOyyCGmRKsaKWcsNccKXlIktD0=' });
  });

  test('are good to the library of the specification, whatever the text', () => {
    const now = Math.floor(Date.now() / 1000);
    fc.assert(
      fc.property(fc.json(), fc.stringMatching(/^[\w-]{1,40}$/), (body, id) => {
        const headers = signer([secret])({ id, timestamp: now, body });
        expect(new Webhook(secret).verify(body, { ...headers })).toEqual(JSON.parse(body));
        expect(() => new Webhook(other).verify(body, { ...headers })).toThrow(/signature/i);
        expect(() => new Webhook(secret).verify(`${body} `, { ...headers })).toThrow(/signature/i);
      }),
    );
  });

  test('are two while one secret replaces the other: each of them is good', () => {
    const body = '{"a":1}';
    const headers = signer([secret, other])({ id: 'one', timestamp: Math.floor(Date.now() / 1000), body });
    expect(headers['webhook-signature']).toMatch(/^v1,\S+ v1,\S+$/);
    for (const either of [secret, other]) expect(new Webhook(either).verify(body, { ...headers })).toEqual({ a: 1 });
  });
});

test.each([
  ['none at all', []],
  ['three', [secret, other, secret]],
  ['an empty one', ['']],
  ['nothing but the prefix', ['whsec_']],
  ['one too short', [`whsec_${Buffer.alloc(15).toString('base64')}`]],
  ['one too long', [`whsec_${Buffer.alloc(65).toString('base64')}`]],
  ['one that is no base64', ['whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaS!']],
  ['one with a line break', [`${secret}\n`]],
  ['one cut short', [secret.slice(0, -1)]],
])('refuses %s as secrets, and repeats none', (_what, secrets) => {
  const error = thrownBy(() => signer(secrets));
  expect(error).toMatchObject({ code: 'config', details: { option: 'secret' } });
  for (const each of secrets.filter((text) => text.length > 10)) expect(String(error)).not.toContain(each.slice(6, 20));
});

test.each([16, 64])('takes a secret of %d bytes, with its prefix and without', (bytes) => {
  const key = Buffer.alloc(bytes, 9).toString('base64');
  const message = { id: 'a', timestamp: 1, body: '' };
  expect(signer([key])(message)).toEqual(signer([`whsec_${key}`])(message));
});
