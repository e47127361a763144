import { createHmac } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { startReceiver, type Receiver } from '../src/index.js';
import { envelope, OTHER_SECRET, SECRET, send, signedHeaders } from './receiverSender.js';

describe('a receiver with a secret', () => {
  test('accepts what the package of Standard Webhooks has signed', async () => {
    await using receiver = await startReceiver({ secrets: [SECRET] });
    const body = envelope('msg_1', { name: 'Zoë 🚀\r\n' });
    const answer = await send(receiver, { id: 'msg_1', body, secret: SECRET });
    expect([answer.status, await answer.text()]).toEqual([200, '']);
    expect(receiver.counts).toMatchObject({ accepted: 1, refused: 0, failed: 0 });
    expect(receiver.accepted.get('msg_1')?.body).toBe(body);
  });

  test('accepts the reference vector of Standard Webhooks, at its time', async () => {
    await using receiver = await startReceiver({ secrets: [SECRET], now: () => 1_614_265_330_000 });
    const headers = {
      'webhook-id': 'msg_p5jXN8AQM9LWM0D4loKWxJek',
      'webhook-timestamp': '1614265330',
      'webhook-signature': 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
    };
    expect(await post(receiver, '{"test": 2432232314}', headers)).toBe(200);
    expect(await post(receiver, '{"test":2432232314}', headers)).toBe(401);
  });

  test('verifies bytes, not the text that they might be', async () => {
    await using receiver = await startReceiver({ secrets: [SECRET] });
    const sign = (body: Uint8Array): Record<string, string> => {
      const timestamp = String(Math.floor(Date.now() / 1_000));
      const mac = createHmac('sha256', Buffer.from(SECRET.slice(6), 'base64')).update(`msg_1.${timestamp}.`);
      const signature = `v1,${mac.update(body).digest('base64')}`;
      return { 'webhook-id': 'msg_1', 'webhook-timestamp': timestamp, 'webhook-signature': signature };
    };
    // As text both are the same: two characters that stand for what is no UTF-8.
    expect(await post(receiver, Buffer.from([0xff, 0xfe]), sign(Buffer.from([0xff, 0xfe])))).toBe(200);
    expect(await post(receiver, Buffer.from([0xff, 0xfe]), sign(Buffer.from([0xfe, 0xff])))).toBe(401);
  });

  const right = signedHeaders('msg_1', envelope('msg_1'));
  const { 'webhook-signature': signature = '', 'webhook-timestamp': timestamp = '' } = right;
  const aMinuteAgo = String(Number(timestamp) - 60);
  test.each<[string, Readonly<Record<string, string | undefined>>, RegExp]>([
    ['another id', { 'webhook-id': 'msg_2' }, /none matches/],
    ['another time', { 'webhook-timestamp': aMinuteAgo }, /none matches/],
    ['another secret', signedHeaders('msg_1', envelope('msg_1'), OTHER_SECRET), /none matches/],
    ['another version', { 'webhook-signature': signature.replace('v1,', 'v2,') }, /none matches/],
    ['a cut signature', { 'webhook-signature': signature.slice(0, -1) }, /none matches/],
    ['more after the signature', { 'webhook-signature': `${signature}!` }, /none matches/],
    ['a signature without version', { 'webhook-signature': signature.slice(3) }, /none matches/],
    ['no id', { 'webhook-id': undefined }, /webhook-id: missing/],
    ['no time', { 'webhook-timestamp': undefined }, /webhook-timestamp: missing/],
    ['no signature', { 'webhook-signature': undefined }, /webhook-signature: missing/],
    ['a time that is no number', { 'webhook-timestamp': `${timestamp}.0` }, /not a whole number/],
    ['a time in ms', { 'webhook-timestamp': `${timestamp}000` }, /not a whole number/],
  ])('refuses %s', async (_, changes, reason) => {
    await using receiver = await startReceiver({ secrets: [SECRET] });
    const changed: Record<string, string> = {};
    for (const [name, value] of Object.entries({ ...right, ...changes })) {
      if (value !== undefined) changed[name] = value;
    }
    expect(await post(receiver, envelope('msg_1'), changed)).toBe(401);
    expect(receiver.requests[0]).toMatchObject({
      status: 401,
      accepted: false,
      refusal: expect.stringMatching(reason),
    });
    expect(receiver.counts).toMatchObject({ requests: 1, accepted: 0, refused: 1, failed: 0 });

    expect(await post(receiver, envelope('msg_1'), right)).toBe(200);
    expect(receiver.counts).toMatchObject({ accepted: 1, refused: 1, differing: 0 });
  });

  test('refuses another body, and does not take it for one of the record', async () => {
    await using receiver = await startReceiver({ secrets: [SECRET] });
    expect(await post(receiver, envelope('msg_1', { amount: '2' }), right)).toBe(401);
    expect(await post(receiver, envelope('msg_1'), right)).toBe(200);
    expect(receiver.counts).toMatchObject({ accepted: 1, refused: 1, differing: 0 });
  });

  test.each([
    { tolerance: undefined, off: 300, status: 200 },
    { tolerance: undefined, off: 301, status: 401 },
    { tolerance: undefined, off: -300, status: 200 },
    { tolerance: undefined, off: -301, status: 401 },
    { tolerance: 10, off: 10, status: 200 },
    { tolerance: 10, off: 11, status: 401 },
    { tolerance: 0, off: 0, status: 200 },
  ])('with a tolerance of $tolerance s, answers $status to what is $off s old', async ({ tolerance, off, status }) => {
    const now = 1_700_000_000_000;
    await using receiver = await startReceiver({
      secrets: [SECRET],
      now: () => now,
      ...(tolerance === undefined ? {} : { tolerance }),
    });
    const headers = signedHeaders('msg_1', envelope('msg_1'), SECRET, new Date(now - off * 1_000));
    expect(await post(receiver, envelope('msg_1'), headers)).toBe(status);
  });

  test('takes any of its secrets, and any signature of a list', async () => {
    await using receiver = await startReceiver({ secrets: [SECRET, OTHER_SECRET] });
    const third = `whsec_${Buffer.from('a third secret').toString('base64')}`;
    const statuses = [];
    for (const secret of [SECRET, OTHER_SECRET, third]) {
      statuses.push((await send(receiver, { id: 'msg_1', secret })).status);
    }
    expect(statuses).toEqual([200, 200, 401]);
    const lists = [third, OTHER_SECRET].map((secret) => signedHeaders('msg_1', envelope('msg_1'), secret));
    const list = lists.map((headers) => headers['webhook-signature']).join(' ');
    expect(await post(receiver, envelope('msg_1'), { ...lists[0], 'webhook-signature': list })).toBe(200);
  });
});

describe('a receiver without a secret', () => {
  test('checks no signature, but wants an id and POST', async () => {
    await using receiver = await startReceiver();
    expect((await send(receiver, { id: 'msg_1' })).status).toBe(200);
    expect(await post(receiver, '{}', { 'webhook-id': 'msg_2', 'webhook-signature': 'v1,nonsense' })).toBe(200);
    expect(await post(receiver, '{}', {})).toBe(400);
    expect((await fetch(receiver.url, { headers: { 'webhook-id': 'msg_3' } })).status).toBe(405);
    expect([...receiver.accepted.keys()]).toEqual(['msg_1', 'msg_2']);
    expect(receiver.counts).toMatchObject({ requests: 4, accepted: 2, refused: 2, failed: 0 });
  });
});

test.each(['MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw', 'whsec_', 'whsec_%%%%', 'whsec_TWFu TWFu', 'whsk_TWFu'])(
  'the secret %s is none, and is not repeated',
  async (secret) => {
    const error: unknown = await startReceiver({ secrets: [SECRET, secret] }).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(RangeError);
    expect(String(error)).toBe('RangeError: secrets[1] is not a signing secret: give whsec_ and base64.');
  },
);

async function post(
  receiver: Receiver,
  body: string | Uint8Array<ArrayBuffer>,
  headers: Readonly<Record<string, string>>,
): Promise<number> {
  const answer = await fetch(receiver.url, { method: 'POST', headers, body });
  await answer.arrayBuffer();
  return answer.status;
}
