import { once } from 'node:events';
import { request } from 'node:http';
import { connect } from 'node:net';
import { describe, expect, test } from 'vitest';
import { startReceiver, type ReceiverAnswer } from '../src/index.js';
import { lastingResources } from './lastingResources.js';
import { send } from './receiverSender.js';

describe('close()', () => {
  test('ends every open request and connection at once and leaves nothing behind', async () => {
    const answers: ReceiverAnswer[] = [
      'never',
      { kind: 'slow', ms: 600_000 },
      { kind: 'slow-drip', every: 60_000 },
      { kind: 'endless' },
      'ok',
    ];
    const late: (() => void)[] = [];
    const receiver = await startReceiver({
      latency: 1,
      script: ({ n }) => answers[n - 1],
      onRequest: ({ n }) => (n === 5 ? new Promise<void>((resolve) => late.push(resolve)) : undefined),
    });
    const silent = connect(receiver.port, '127.0.0.1');
    await once(silent, 'connect');
    const requests = answers.map(() => {
      const asked = request(receiver.url, { method: 'POST', headers: { 'webhook-id': 'a' }, agent: false }).end('{}');
      asked.on('response', (answer) => answer.on('error', () => undefined).resume());
      return Promise.race([once(asked, 'error'), once(asked, 'close')]);
    });
    await receiver.until(() => receiver.counts.open === 5 && late.length === 1);

    await receiver.close();
    await Promise.all([...requests, once(silent, 'close')]);
    // The hook's promise comes too late: its answer must not start a timer.
    late.forEach((resolve) => resolve());
    expect(receiver.counts).toMatchObject({ requests: 5, open: 0, aborted: 0 });
    expect(await lastingResources()).toEqual([]);
  });

  test('refuses new connections, rejects those who still wait, and may be called again', async () => {
    const receiver = await startReceiver();
    await send(receiver, { id: 'a' });
    const waiting = expect(receiver.until(() => false)).rejects.toThrow('closed before');
    await Promise.all([receiver.close(), receiver.close(), waiting]);
    await receiver.close();
    await expect(send(receiver, { id: 'b' })).rejects.toThrow();
    await receiver.until(() => receiver.accepted.has('a'));
    await expect(receiver.until(() => receiver.accepted.has('b'))).rejects.toThrow('closed before');
    expect([...receiver.accepted.keys()]).toEqual(['a']);
  });
});
