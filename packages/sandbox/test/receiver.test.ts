import { once } from 'node:events';
import { Agent, request, type IncomingMessage } from 'node:http';
import { setTimeout as wait } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { startReceiver, type ReceiverOptions } from '../src/index.js';
import { envelope, send } from './receiverSender.js';

describe('the log', () => {
  test('tells what came, when, and how it ended', async () => {
    let now = 0;
    await using receiver = await startReceiver({ now: () => ++now, script: ['error'] });
    await send(receiver, { id: 'a' });
    await (await fetch(`${receiver.url}/hooks?x=1`, { method: 'POST', headers: { 'webhook-id': 'a' } })).text();
    await receiver.until(() => receiver.counts.open === 0);
    expect(receiver.requests).toEqual([
      {
        n: 1,
        id: 'a',
        attempt: 1,
        method: 'POST',
        path: '/',
        headers: expect.objectContaining({ 'webhook-id': 'a', host: `127.0.0.1:${receiver.port}` }),
        arrivedAt: 1,
        took: expect.any(Number),
        status: 500,
        records: 1,
        accepted: false,
        refusal: undefined,
        aborted: false,
      },
      expect.objectContaining({ n: 2, attempt: 2, path: '/hooks?x=1', status: 200, accepted: true }),
    ]);
    expect(receiver.requests[0]?.took).toBeGreaterThan(0);
  });

  test('knows who went away before the body was whole, and accepts nothing from them', async () => {
    await using receiver = await startReceiver();
    const headers = { 'webhook-id': 'a', 'content-length': 1_000 };
    const leaving = request(receiver.url, { method: 'POST', headers, agent: false });
    leaving.on('error', () => undefined).write('{');
    await receiver.until(() => receiver.counts.open === 1);
    leaving.destroy();
    await receiver.until(() => receiver.counts.aborted === 1);
    expect(receiver.counts).toMatchObject({ requests: 1, accepted: 0, failed: 0, open: 0 });
  });

  test('tells kept connections from new ones', async () => {
    await using receiver = await startReceiver();
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    for (let sent = 0; sent < 5; sent++) await sendOver(agent);
    expect(receiver.connections).toBe(1);
    await sendOver(new Agent());
    expect(receiver.connections).toBe(2);
    agent.destroy();

    async function sendOver(agent: Agent): Promise<void> {
      const asked = request(receiver.url, { method: 'POST', headers: { 'webhook-id': 'a' }, agent }).end('{}');
      const [answer] = (await once(asked, 'response')) as [IncomingMessage];
      await once(answer.resume(), 'end');
    }
  });

  test('knows how many were open at once', async () => {
    await using receiver = await startReceiver({ latency: 50 });
    await Promise.all(['a', 'b', 'c', 'd'].map((id) => send(receiver, { id })));
    await send(receiver, { id: 'e' });
    await receiver.until(() => receiver.counts.open === 0);
    expect(receiver.counts).toEqual({
      requests: 5,
      accepted: 5,
      doubled: 0,
      differing: 0,
      refused: 0,
      failed: 0,
      aborted: 0,
      open: 0,
      maxOpen: 4,
    });
  });
});

describe('onRequest', () => {
  test('is called once a request, when its records are counted and before its answer', async () => {
    const told: unknown[] = [];
    await using receiver = await startReceiver({
      onRequest: ({ n, id, attempt, headers, body, records }) => {
        const { accepted, open } = receiver.counts;
        told.push({
          n,
          id,
          attempt,
          host: headers.host,
          body,
          values: records.map(({ value }) => value),
          accepted,
          open,
        });
      },
    });
    const host = `127.0.0.1:${receiver.port}`;
    await send(receiver, { id: 'a', body: '{"x":1}' });
    await send(receiver, { id: 'a', body: 'no JSON' });
    expect(told).toEqual([
      { n: 1, id: 'a', attempt: 1, host, body: '{"x":1}', values: [{ x: 1 }], accepted: 1, open: 1 },
      { n: 2, id: 'a', attempt: 2, host, body: 'no JSON', values: [undefined], accepted: 1, open: 1 },
    ]);
  });

  test('holds the answer back until its promise is kept, so that a sender can be killed before', async () => {
    let goOn = (): void => undefined;
    await using receiver = await startReceiver({
      onRequest: () => new Promise<void>((resolve) => (goOn = resolve)),
    });
    const sent = send(receiver, { id: 'a' });
    await receiver.until(() => receiver.accepted.has('a'));
    expect(await Promise.race([sent, wait(50)])).toBeUndefined();
    goOn();
    expect((await sent).status).toBe(200);
  });
});

describe('startReceiver', () => {
  test('listens on the port it is given, and says so where that is taken', async () => {
    const receiver = await startReceiver();
    const { port } = receiver;
    await expect(startReceiver({ port })).rejects.toThrow(`can't listen on 127.0.0.1:${port}`);
    await receiver.close();
    await using again = await startReceiver({ port });
    expect((await send(again, { id: 'a' })).status).toBe(200);
  });

  test('keeps receivers apart', async () => {
    await using one = await startReceiver({ failures: { share: 1, max: 1, kinds: ['error'] } });
    await using other = await startReceiver({ failures: { share: 1, max: 1, kinds: ['error'] } });
    expect((await send(one, { id: 'a', body: envelope('a') })).status).toBe(500);
    expect((await send(one, { id: 'a', body: envelope('a') })).status).toBe(200);
    expect((await send(other, { id: 'a', body: envelope('a') })).status).toBe(500);
    expect([one.counts.requests, other.counts.requests]).toEqual([2, 1]);
  });

  test.each<[string, ReceiverOptions]>([
    ['secrets is empty', { secrets: [] }],
    ['tolerance is -1', { tolerance: -1 }],
    ['port is 65536', { port: 65_536 }],
    ['seed is 0.5', { seed: 0.5 }],
    ['latency is NaN', { latency: NaN }],
    ['failures.share is 1.1', { failures: { share: 1.1 } }],
    ['failures.max is -1', { failures: { share: 1, max: -1 } }],
    ['failures.kinds is empty', { failures: { share: 1, kinds: [] } }],
    ['status of an answer is 99', { failures: { share: 1, kinds: [{ status: 99 }] } }],
    ['status of an answer is 600', { script: ['ok', { kind: 'endless', status: 600 }] }],
  ])('says that %s', async (message, options) => {
    const started = startReceiver(options).then((receiver) => receiver.close());
    await expect(started).rejects.toThrow(expect.objectContaining({ name: 'RangeError' }));
    await expect(started).rejects.toThrow(message);
  });
});
