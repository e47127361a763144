import { once } from 'node:events';
import { request, type ClientRequest, type IncomingMessage } from 'node:http';
import { describe, expect, test } from 'vitest';
import { casesOf } from '../../../scripts/testEffort.js';
import { startReceiver, type Receiver, type ReceiverAnswer, type ReceiverFailure } from '../src/index.js';
import { envelope, SECRET, send } from './receiverSender.js';

describe('a sender is answered', () => {
  test('any status, with its headers and its body', async () => {
    await using receiver = await startReceiver({
      script: [
        { status: 429, retryAfter: 2 },
        { status: 410 },
        { status: 302, headers: { location: 'http://127.0.0.1:1/' } },
        { status: 201, headers: { 'content-type': 'text/plain' }, body: 'made' },
        { status: 204 },
        { status: 503, body: 'down', headers: { 'retry-after': 'Thu, 01 Jan 2026 00:00:00 GMT' } },
      ],
    });
    const answers = [];
    for (let sent = 1; sent <= 7; sent++) {
      const { status, headers, text } = await answerTo(receiver, `msg_${sent}`);
      answers.push([status, headers.get('retry-after') ?? headers.get('location'), text]);
    }
    expect(answers).toEqual([
      [429, '2', '{"message":"An answer with status 429"}'],
      [410, null, '{"message":"An answer with status 410"}'],
      [302, 'http://127.0.0.1:1/', '{"message":"An answer with status 302"}'],
      [201, null, 'made'],
      [204, null, ''],
      [503, 'Thu, 01 Jan 2026 00:00:00 GMT', 'down'],
      [200, null, ''],
    ]);
    expect([...receiver.accepted.keys()]).toEqual(['msg_4', 'msg_5', 'msg_7']);
    expect(receiver.counts).toMatchObject({ requests: 7, accepted: 3, failed: 4, refused: 0 });
  });

  test('by what it sends', async () => {
    await using receiver = await startReceiver({
      script: ({ records, attempt }) => {
        if (records.some(({ body }) => body.includes('poison'))) return { status: 422, body: 'poison' };
        return attempt === 1 ? 'error' : undefined;
      },
    });
    const statuses = [];
    for (const id of ['poison', 'a', 'a', 'poison']) statuses.push((await answerTo(receiver, id)).status);
    expect(statuses).toEqual([422, 500, 200, 422]);
    expect([...receiver.accepted.keys()]).toEqual(['a']);
  });

  test.each<[ReceiverAnswer, number | 'reset', boolean]>([
    ['ok', 200, true],
    ['error', 500, false],
    ['unavailable', 503, false],
    ['accept-then-error', 500, true],
    ['reset', 'reset', false],
    ['reset-after-body', 'reset', true],
    [{ kind: 'slow', ms: 1 }, 200, true],
    [{ kind: 'slow-drip', every: 1 }, 200, true],
    [{ kind: 'slow-drip', every: 1, status: 400 }, 400, false],
  ])('%j: %s, accepted: %s', async (answer, status, isAccepted) => {
    await using receiver = await startReceiver({ script: () => answer });
    const seen = answerTo(receiver, 'a').then(({ status }) => status, resetOf);
    expect(await seen).toBe(status);
    await receiver.until(() => receiver.counts.open === 0);
    expect(receiver.accepted.has('a')).toBe(isAccepted);
    expect(receiver.counts).toMatchObject({ failed: status === 200 ? 0 : 1, aborted: 0 });
    expect(receiver.requests[0]).toMatchObject({
      status: status === 'reset' ? undefined : status,
      accepted: isAccepted,
      records: 1,
      aborted: false,
    });
  });

  test('after the time it takes, and late by as much as it is slow', async () => {
    await using receiver = await startReceiver({ latency: 40, script: ['ok', { kind: 'slow', ms: 60 }] });
    await answerTo(receiver, 'a');
    await answerTo(receiver, 'b');
    await receiver.until(() => receiver.counts.open === 0);
    // A timer may be 1 ms early by the clock.
    expect(receiver.requests[0]?.took).toBeGreaterThanOrEqual(38);
    expect(receiver.requests[1]?.took).toBeGreaterThanOrEqual(98);
  });

  test('too late for one that leaves, which counts as accepted at once', async () => {
    await using receiver = await startReceiver({ script: () => ({ kind: 'slow', ms: 600_000 }) });
    const leaving = new AbortController();
    const sent = expect(send(receiver, { id: 'a', signal: leaving.signal })).rejects.toThrow('abort');
    await receiver.until(() => receiver.accepted.has('a'));
    expect(receiver.counts).toMatchObject({ open: 1, aborted: 0 });
    leaving.abort();
    await receiver.until(() => receiver.counts.aborted === 1);
    await sent;
    expect(receiver.requests[0]).toMatchObject({ aborted: true, accepted: true, status: undefined });
  });

  test('never', async () => {
    await using receiver = await startReceiver({ script: ['never', 'ok'] });
    const leaving = new AbortController();
    const sent = expect(send(receiver, { id: 'a', signal: leaving.signal })).rejects.toThrow('abort');
    await receiver.until(() => receiver.counts.failed === 1);
    await answerTo(receiver, 'b');
    expect(receiver.requests[0]).toMatchObject({ took: undefined, status: undefined, accepted: false });
    leaving.abort();
    await sent;
  });

  test('in drops', async () => {
    await using receiver = await startReceiver({
      script: [{ kind: 'slow-drip', every: 5, bytes: 2, body: 'abcdefgh' }],
    });
    expect((await answerTo(receiver, 'a')).text).toBe('abcdefgh');
    await receiver.until(() => receiver.counts.open === 0);
    // Four drops, one every 5 ms; a timer may be 1 ms early by the clock.
    expect(receiver.requests[0]?.took).toBeGreaterThanOrEqual(15);
  });

  test.each([200, 500])('with status %d and a body without end, until it leaves', async (status) => {
    await using receiver = await startReceiver({ script: () => ({ kind: 'endless', status }) });
    const asked = posted(receiver, 'a');
    const [answer]: [IncomingMessage] = (await once(asked, 'response')) as [IncomingMessage];
    expect(answer.statusCode).toBe(status);
    let bytes = 0;
    for await (const part of answer) {
      bytes += (part as Buffer).length;
      if (bytes > 10_000_000) break;
    }
    await receiver.until(() => receiver.counts.aborted === 1);
    expect(receiver.requests[0]).toMatchObject({ status, accepted: status === 200 });
  });

  test('500 where script or hook fails, and the receiver goes on', async () => {
    const fail = (): never => {
      throw new Error('a mistake');
    };
    await using receiver = await startReceiver({
      script: ({ n }) => (n === 1 ? fail() : n === 2 ? { status: 99 } : 'ok'),
      onRequest: ({ n }) => (n === 3 ? fail() : n === 4 ? Promise.reject(new Error('late')) : undefined),
    });
    const texts = [];
    for (const id of ['a', 'b', 'c', 'd', 'e']) texts.push((await answerTo(receiver, id)).text);
    expect(texts).toEqual([
      "The receiver's script failed: Error: a mistake",
      expect.stringContaining('status of an answer is 99'),
      "The receiver's hook failed: Error: a mistake",
      "The receiver's hook failed: Error: late",
      '',
    ]);
    expect(receiver.counts).toMatchObject({ failed: 4, accepted: 3 });
  });
});

describe('failures by seed', () => {
  /** Sends every id until it is answered 2xx, and tells after how many attempts that was. */
  async function attemptsFor(receiver: Receiver, ids: readonly string[]): Promise<readonly number[]> {
    const attempts = [];
    for (const id of ids) {
      let attempt = 1;
      while ((await answerTo(receiver, id).catch(() => undefined))?.status !== 200) attempt++;
      attempts.push(attempt);
    }
    return attempts;
  }
  const ids = Array.from({ length: 60 }, (_, index) => `msg_${index}`);

  test('are the same for the same seed in any order, and others for another', { tags: ['slow'] }, async () => {
    const runs = [];
    for (const [seed, order] of [
      [1, ids],
      [1, ids.toReversed()],
      [2, ids],
    ] as const) {
      await using receiver = await startReceiver({ seed, failures: { share: 0.5 } });
      const attempts = await attemptsFor(receiver, order);
      runs.push(order === ids ? attempts : attempts.toReversed());
    }
    expect(runs[1]).toEqual(runs[0]);
    expect(runs[2]).not.toEqual(runs[0]);
    // Some fail not at all, some as often as may be.
    expect(new Set(runs[0])).toEqual(new Set([1, 2, 3, 4]));
  });

  test.each([
    [undefined, 3],
    [1, 1],
    [5, 5],
  ])('with most: %s, come %d times in a row', async (max, failed) => {
    await using receiver = await startReceiver({
      failures: { share: 1, kinds: ['error'], ...(max === undefined ? {} : { max }) },
    });
    // Twice, since what follows a success begins to count anew.
    expect(await attemptsFor(receiver, ['a', 'b', 'a'])).toEqual([failed + 1, failed + 1, failed + 1]);
    expect(receiver.requests.map(({ attempt }) => attempt).slice(0, failed + 2)).toEqual([
      ...Array.from({ length: failed + 1 }, (_, index) => index + 1),
      1,
    ]);
  });

  test('without a bound, go on as the share wants it', async () => {
    await using receiver = await startReceiver({ failures: { share: 1, max: Infinity, kinds: ['unavailable'] } });
    for (let sent = 1; sent <= 20; sent++) expect((await answerTo(receiver, 'a')).status).toBe(503);
  });

  test('fail about their share, with each kind about equally often', { tags: ['slow'] }, async () => {
    const kinds: ReceiverFailure[] = ['error', 'unavailable', { status: 429, retryAfter: 1 }, 'accept-then-error'];
    await using receiver = await startReceiver({ failures: { share: 0.4, max: Infinity, kinds } });
    const sent = Array.from({ length: 1_000 }, (_, index) => send(receiver, { id: `msg_${index}` }));
    const statuses = (await Promise.all(sent)).map(({ status }) => status);
    const share = (wanted: number): number => statuses.filter((status) => status === wanted).length / 1_000;
    expect(share(200)).toBeCloseTo(0.6, 1);
    expect([share(429), share(503)]).toEqual([expect.closeTo(0.1, 1), expect.closeTo(0.1, 1)]);
    expect(share(500)).toBeCloseTo(0.2, 1);
    expect(receiver.counts.failed).toBe(statuses.filter((status) => status !== 200).length);
    expect(receiver.counts.accepted).toBeCloseTo(700, -2);
  });

  test('reset a connection before the body is read, and say so to the hook', async () => {
    const told: unknown[] = [];
    await using receiver = await startReceiver({
      failures: { share: 1, max: 1, kinds: ['reset'] },
      onRequest: ({ n, attempt, body, records }) => told.push([n, attempt, body, records.length]),
    });
    // The body is announced and never sent: only who does not wait for it can reset.
    const waiting = request(receiver.url, { method: 'POST', headers: { 'webhook-id': 'a', 'content-length': 3 } });
    waiting.flushHeaders();
    const [error]: unknown[] = await once(waiting, 'error').catch((reason: unknown) => [reason]);
    expect(error).toMatchObject({ code: 'ECONNRESET' });
    expect((await answerTo(receiver, 'a', 'abc')).status).toBe(200);
    expect(told).toEqual([
      [1, 1, '', 0],
      [2, 2, 'abc', 1],
    ]);
    expect(receiver.requests[0]).toMatchObject({ records: 0, accepted: false, aborted: false, status: undefined });
  });

  test('win over the script, which is not asked; and a wrong signature wins over them', async () => {
    await using receiver = await startReceiver({
      secrets: [SECRET],
      failures: { share: 1, max: 2, kinds: ['accept-then-error'] },
      script: [{ status: 410 }],
    });
    const statuses = [];
    for (const secret of [undefined, SECRET, SECRET, SECRET]) {
      statuses.push((await send(receiver, { id: 'a', ...(secret && { secret }) })).status);
    }
    expect(statuses).toEqual([401, 500, 410, 500]);
    expect(receiver.counts).toMatchObject({ refused: 1, failed: 3, accepted: 1, doubled: 1 });
  });

  const many = casesOf(3_000);

  test(`lose nothing of ${many} records that are sent again until they are accepted`, { tags: ['slow'] }, async () => {
    await using receiver = await startReceiver({
      secrets: [SECRET],
      failures: { share: 0.3, kinds: ['reset', 'error', 'reset-after-body'] },
    });
    const all = Array.from({ length: many }, (_, index) => `msg_${index}`);
    const left = all.values();
    const sender = async (): Promise<void> => {
      for (const id of left) {
        let attempt = 1;
        while (!(await isTaken(receiver, id))) attempt++;
        expect(attempt).toBeLessThanOrEqual(4);
      }
    };
    await Promise.all(Array.from({ length: 16 }, sender));
    expect(all.filter((id) => !receiver.accepted.has(id))).toEqual([]);
    const { requests, accepted, doubled, differing, refused, failed } = receiver.counts;
    expect({ accepted, differing, refused }).toEqual({ accepted: many, differing: 0, refused: 0 });
    expect(doubled).toBeGreaterThan(many / 20);
    expect(failed).toBe(requests - many);
    expect(receiver.counts.maxOpen).toBeGreaterThan(1);
    expect(receiver.counts.maxOpen).toBeLessThanOrEqual(16);
  });
});

async function isTaken(receiver: Receiver, id: string): Promise<boolean> {
  const answer = await send(receiver, { id, secret: SECRET }).catch(() => undefined);
  await answer?.arrayBuffer();
  return answer?.status === 200;
}

interface Seen {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

async function answerTo(receiver: Receiver, id: string, body = envelope(id)): Promise<Seen> {
  const answer = await send(receiver, { id, body });
  return { status: answer.status, headers: answer.headers, text: await answer.text() };
}

function resetOf(error: unknown): unknown {
  const { cause } = error as { cause?: { code?: string } };
  return cause?.code === 'ECONNRESET' ? 'reset' : error;
}

function posted(receiver: Receiver, id: string): ClientRequest {
  const headers = { 'webhook-id': id };
  return request(receiver.url, { method: 'POST', headers, agent: false }).end(envelope(id));
}
