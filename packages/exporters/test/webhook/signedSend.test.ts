import type { Sender } from '@sluice/core/kit';
import { expect, test } from 'vitest';
import { signedSend } from '../../src/webhook/endpoint.js';
import { signer } from '../../src/webhook/signature.js';
import { secret } from './forwarding.js';

test('W3 each attempt is signed anew, with its own time and the same id', async () => {
  let now = 1_000_000;
  const clock = { now: () => now, monotonic: () => now, after: () => () => undefined };
  const stamped: Readonly<Record<string, string>>[] = [];
  const sender: Sender = {
    name: 'The endpoint',
    hide: () => undefined,
    close: () => Promise.resolve(),
    send({ headers }) {
      stamped.push(headers());
      now += 61_000;
      stamped.push(headers());
      return Promise.resolve({ status: 200, attempts: 2 });
    },
  };
  const sign = signer([secret]);
  const send = signedSend(sender, clock, (message) => ({ 'x-a': 'b', ...sign(message) }));
  expect(await send({ id: 'one', body: '{}' }, new AbortController().signal)).toEqual({
    attempts: 2,
    status: 200,
  });
  expect(stamped.map((headers) => headers['webhook-timestamp'])).toEqual(['1000', '1061']);
  expect(new Set(stamped.map((headers) => headers['webhook-signature'])).size).toBe(2);
  expect(stamped.map((headers) => [headers['webhook-id'], headers['x-a']])).toEqual([
    ['one', 'b'],
    ['one', 'b'],
  ]);
});
