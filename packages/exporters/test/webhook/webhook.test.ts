import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { changes, exportTo, memoryState, SluiceError, Source, type Page, type StateStore, writeTo } from '@sluice/core';
import type { Advice, HttpEvent, PullIterator } from '@sluice/core/kit';
import { fileState } from '@sluice/core/node';
import { replay, webhook, type WebhookOptions } from '@sluice/exporters/webhook';
import { startReceiver, type Delivery, type ReceiverOptions } from '@sluice/sandbox';
import { filter, firstValueFrom, from, lastValueFrom, Subject } from 'rxjs';
import { describe, expect, test } from 'vitest';
import { temporaryFolder } from '../../../../test/kit/temporaryFolder.js';
import { thrownBy } from '../../../../test/kit/thrownBy.js';
import { FakeClock } from '../../../core/test/fakeClock.js';
import { openReceiver, secret, webhookTo } from './forwarding.js';
import { thingsOf, thingSource, type Thing } from './thingSource.js';

const faultOf = (run: Promise<unknown>): Promise<unknown> =>
  run.then(
    () => undefined,
    (error: unknown) => error,
  );

interface Envelope {
  readonly id: string;
  readonly type: string;
  readonly timestamp: string;
  readonly source: string;
  readonly sequence: number;
  readonly data: Thing;
}

/** A state in memory, whose spool waits for `onAppend` before each record. */
function spoolingTo(onAppend: (record: { readonly pages: readonly unknown[] }) => Promise<void>): StateStore {
  const memory = memoryState();
  return {
    lock: (...options) => memory.lock(...options),
    load: (name) => memory.load(name),
    save: (name, record) => memory.save(name, record),
    remove: (name) => memory.remove(name),
    log(name) {
      const log = memory.log(name);
      if (name !== 'spool') return log;
      return {
        get bytes() {
          return log.bytes;
        },
        read: () => log.read(),
        async append(record) {
          await onAppend(record as { readonly pages: readonly unknown[] });
          await log.append(record);
        },
        async replace(records) {
          for (const record of records) await onAppend(record as { readonly pages: readonly unknown[] });
          await log.replace(records);
        },
        remove: () => log.remove(),
        close: () => log.close(),
      };
    },
  };
}

const envelopeIn = (body: string): Envelope => JSON.parse(body);

describe('a forward', () => {
  test('W3 brings each row once, in an envelope, signed, numbered from 1', { tags: ['slow'] }, async () => {
    const receiver = await openReceiver();
    const report = await exportTo(thingSource({ count: 250 }), webhookTo(receiver)).run();
    expect(report).toMatchObject({ rows: 250, pages: 3, target: receiver.url });
    expect(report).not.toHaveProperty('deadLetters');
    expect(receiver.counts).toMatchObject({ requests: 250, accepted: 250, doubled: 0, differing: 0, refused: 0 });
    const envelopes = [...receiver.accepted.values()].map(({ body }) => envelopeIn(body));
    expect(new Set(envelopes.map(({ sequence }) => sequence))).toEqual(new Set(thingsOf(250).map(({ n }) => n + 1)));
    for (const { data, sequence, source, type } of envelopes) {
      expect({ data, source, type }).toEqual({
        data: thingsOf(250)[sequence - 1],
        source: 'test.things',
        type: 'test.things.row',
      });
    }
    for (const { id, headers } of receiver.requests) expect(headers['webhook-id']).toBe(id);
  });

  test('W3 is good to a receiver that knows only the old secret, or only the new one', async () => {
    const other = `whsec_${Buffer.alloc(32, 1).toString('base64')}`;
    for (const known of [secret, other]) {
      const receiver = await openReceiver({ secrets: [known] });
      await exportTo(thingSource({ count: 3 }), webhookTo(receiver, { secret: [secret, other] })).run();
      expect(receiver.counts).toMatchObject({ accepted: 3, refused: 0 });
    }
  });

  test('W3 uses a secret and headers that functions give, from the next attempt on, and never shows them', async () => {
    const other = `whsec_${Buffer.alloc(32, 1).toString('base64')}`;
    let [current, token] = [secret, 'Bearer the-first-token'];
    const receiver = await openReceiver({
      secrets: [secret],
      onRequest({ n }) {
        if (n === 2) [current, token] = [other, 'Bearer the-second-token'];
      },
    });
    const options = { secret: () => current, headers: () => ({ authorization: token }), deliveries: 1 };
    const ended = exportTo(thingSource({ count: 5 }), webhookTo(receiver, options)).run();
    const error: unknown = await ended.catch((reason: unknown) => reason);
    expect(error).toMatchObject({ code: 'http', details: { status: 401 } });
    expect(JSON.stringify(error)).not.toContain(other.slice(6));
    expect(receiver.requests.map(({ headers }) => headers['authorization'])).toEqual([
      'Bearer the-first-token',
      'Bearer the-first-token',
      'Bearer the-second-token',
    ]);
  });

  test('W7 has as many requests open as it may, although each page is one batch', async () => {
    let open = 0;
    const full = new Subject<void>();
    const isFull = firstValueFrom(full);
    const receiver = await openReceiver({
      async onRequest() {
        if ((open += 1) === 16) full.next();
        await isFull;
      },
    });
    const things = thingSource({ count: 400, pageSize: 10 });
    await exportTo(things, webhookTo(receiver, { batch: 10, deliveries: 16 }), { state: memoryState() }).run();
    expect(receiver.counts).toMatchObject({ requests: 40, doubled: 0 });
  });

  test('L1 W7 sends no more than its rate limit allows, however many deliveries are free', async () => {
    const clock = new FakeClock();
    const receiver = await openReceiver({ now: () => clock.now() });
    let answered = 0;
    const onEvent = ({ type }: HttpEvent): void => {
      if (type === 'settled') answered += 1;
    };
    const options = { deliveries: 8, clock, onEvent, rateLimit: { requests: 3, per: 1_000 } };
    const run = exportTo(thingSource({ count: 8 }), webhookTo(receiver, options)).run();
    for (const arrived of [3, 6]) {
      // A response that comes when the clock has moved on counts as late.
      await expect.poll(() => answered).toBe(arrived);
      await clock.asked(1_000);
      await clock.advance(999);
      expect(receiver.counts.requests).toBe(arrived);
      await clock.advance(1);
    }
    expect(await run).toMatchObject({ rows: 8 });
    expect(receiver.counts).toMatchObject({ requests: 8, accepted: 8, refused: 0 });
  });

  test('W7 requests no more pages than its deliveries can use', { tags: ['slow'] }, async () => {
    let fetched = 0;
    const answers = new Subject<void>();
    const isAnswering = firstValueFrom(answers);
    const receiver = await openReceiver({ onRequest: () => isAnswering });
    const things = thingSource({ count: 4_000, pageSize: 10, onFetch: () => void (fetched += 1) });
    const run = exportTo(things, webhookTo(receiver, { batch: 10, deliveries: 2 })).run();
    await expect.poll(() => fetched).toBeGreaterThan(5);
    for (let turn = 0; turn < 100; turn += 1) await new Promise(setImmediate);
    // Two pages for each delivery, one that waits for room, and what the walk fetches ahead.
    expect(fetched).toBeLessThan(10);
    answers.next();
    await run;
    expect(receiver.counts).toMatchObject({ requests: 400 });
  });

  test('W1 stores pages that come while the disk is busy together, and sends none of them before', async () => {
    const receiver = await openReceiver();
    const disk = new Subject<void>();
    const isFree = firstValueFrom(disk);
    let fetched = 0;
    const stored: number[] = [];
    const state = spoolingTo(async ({ pages }) => {
      stored.push(pages.length);
      if (stored.length === 1) await isFree;
    });
    const things = thingSource({ count: 40, pageSize: 10, onFetch: () => void (fetched += 1) });
    const run = exportTo(things, webhookTo(receiver, { deliveries: 40 }), { state }).run();
    await expect.poll(() => fetched).toBe(4);
    expect(receiver.counts.requests).toBe(0);
    disk.next();
    await run;
    expect(stored).toEqual([1, 3]);
    expect(receiver.counts).toMatchObject({ requests: 40, doubled: 0 });
  });

  test('W1 ends with the error of the disk, and sends nothing of what it refused', async () => {
    const receiver = await openReceiver();
    const state = spoolingTo(({ pages }) =>
      pages.length === 0 ? Promise.resolve() : Promise.reject(new Error('No space is left.')),
    );
    const things = thingSource({ count: 400, pageSize: 10 });
    const run = exportTo(things, webhookTo(receiver), { state }).run();
    await expect(run).rejects.toThrow('No space is left.');
    expect(receiver.counts.requests).toBe(0);
  });

  test('has so many requests under way', async () => {
    const receiver = await openReceiver({ script: () => 'never' });
    const stop = new AbortController();
    const run = exportTo(thingSource({ count: 300 }), webhookTo(receiver, { deliveries: 16 })).run(stop);
    await receiver.until(() => receiver.counts.maxOpen === 16);
    stop.abort();
    await expect(run).rejects.toThrow();
  });

  test('has no more requests under way', { tags: ['slow'] }, async () => {
    const receiver = await openReceiver({ latency: 5 });
    await exportTo(thingSource({ count: 300 }), webhookTo(receiver, { deliveries: 16 })).run();
    expect(receiver.counts.maxOpen).toBeLessThanOrEqual(16);
    expect(receiver.connections).toBeLessThanOrEqual(32);
  });

  test('can be of bare rows, named by the header', async () => {
    const receiver = await openReceiver();
    await exportTo(thingSource({ count: 3 }), webhookTo(receiver, { format: 'bare', id: ({ n }) => `t${n}` })).run();
    expect(receiver.accepted.get('t2')?.body).toBe(JSON.stringify(thingsOf(3)[2]));
  });

  test('sends headers along', async () => {
    const receiver = await openReceiver();
    await exportTo(thingSource({ count: 1 }), webhookTo(receiver, { headers: { 'x-tenant': 'seven' } })).run();
    expect(receiver.requests[0]?.headers).toMatchObject({ 'x-tenant': 'seven', 'content-type': 'application/json' });
  });

  test('is a few pages ahead of what was taken, and no more', { tags: ['slow'] }, async () => {
    const fetched: number[] = [];
    const ahead: number[] = [];
    const receiver = await openReceiver({
      onRequest: () => ahead.push(fetched.length * 20 - receiver.accepted.size),
    });
    const source = thingSource({ count: 1_000, pageSize: 20, onFetch: (page) => void fetched.push(page) });
    await exportTo(source, webhookTo(receiver, { deliveries: 4 })).run();
    // Two pages that are sent, one that is put in the spool, and one that is fetched meanwhile.
    expect(Math.max(...ahead)).toBeLessThanOrEqual(4 * 20);
    expect(receiver.counts.accepted).toBe(1_000);
  });

  test('does not send again what the listing shows again', { tags: ['slow'] }, async () => {
    const receiver = await openReceiver();
    // Rows that move to the next page while it is walked.
    const pageOf = (page: number, things: readonly Thing[]): readonly Thing[] =>
      things.slice(Math.max(0, page * 100 - 3 * page), (page + 1) * 100 - 3 * page);
    const source = thingSource({ count: 1_000, pageOf });
    await exportTo(source, webhookTo(receiver), { state: memoryState(), commitEvery: 1 }).run();
    expect(receiver.counts).toMatchObject({ requests: 973, accepted: 973, doubled: 0, differing: 0 });
  });
});

describe('W6 a batch', () => {
  test('ends with its page, and has an id for each record', async () => {
    const receiver = await openReceiver();
    const report = await exportTo(thingSource({ count: 250 }), webhookTo(receiver, { batch: 40 })).run();
    expect(report.rows).toBe(250);
    expect(receiver.requests.map(({ records }) => records).sort((a, b) => a - b)).toEqual([
      10, 20, 20, 40, 40, 40, 40, 40,
    ]);
    expect(receiver.counts).toMatchObject({ accepted: 250, doubled: 0 });
  });

  test('is closed by its bytes, too', async () => {
    const receiver = await openReceiver();
    await exportTo(thingSource({ count: 100 }), webhookTo(receiver, { batch: { count: 100, bytes: 1_000 } })).run();
    expect(receiver.counts).toMatchObject({ accepted: 100 });
    expect(receiver.counts.requests).toBeGreaterThan(15);
    for (const { headers } of receiver.requests) expect(Number(headers['content-length'])).toBeLessThan(1_400);
  });

  test('W5 with one poison record of a hundred leaves one dead letter, and all others arrive', async () => {
    const isPoison = ({ records }: Delivery): boolean => records.some(({ body }) => body.includes('"n":37}'));
    const receiver = await openReceiver({
      script: (delivery) => (isPoison(delivery) ? { status: 422, body: 'n must not be 37' } : 'ok'),
    });
    const deadLetter = join(temporaryFolder(), 'dead.jsonl');
    const sink = webhookTo(receiver, { batch: 100, deadLetter });
    const report = await exportTo(thingSource({ count: 100 }), sink).run();
    expect(report.deadLetters).toEqual({ count: 1, path: deadLetter });
    expect(receiver.counts).toMatchObject({ accepted: 99, doubled: 0, differing: 0 });
    // By halves: 100, 50, 50, 25, 25, 13, 12, …
    expect(receiver.counts.requests).toBeLessThanOrEqual(16);
    const [letter, ...rest] = lettersIn(deadLetter);
    expect(rest).toEqual([]);
    expect(letter).toMatchObject({
      attempts: 1,
      status: 422,
      answer: 'n must not be 37',
      key: 'thing 37',
      record: { data: { n: 37 } },
    });
  });

  test('W5 warns of a dead letter, unless somebody asked to be called', async () => {
    const receiver = await openReceiver({ script: () => ({ status: 422 }) });
    const deadLetter = join(temporaryFolder(), 'dead.jsonl');
    const warnings: string[] = [];
    const onWarning = (text: string): void => void warnings.push(text);
    const sinks = [
      webhookTo(receiver, { deadLetter }),
      webhookTo(receiver, { deadLetter, onDeadLetter: () => undefined }),
    ];
    for (const sink of sinks) await exportTo(thingSource({ count: 1 }), sink, { onWarning }).run();
    const [{ id } = {}] = lettersIn(deadLetter);
    expect(warnings).toEqual([`Record ${String(id)} was refused with 422, and set aside in ${deadLetter}.`]);
  });

  test.each([503, 401])("W5 is not split by a %d, which is the endpoint's", async (status) => {
    const receiver = await openReceiver({ script: () => ({ status }) });
    const sink = webhookTo(receiver, { batch: 50, retry: { retries: 2, baseDelay: 1 }, deliveries: 1 });
    await faultOf(exportTo(thingSource({ count: 50 }), sink).run());
    expect(new Set(receiver.requests.map(({ records }) => records))).toEqual(new Set([50]));
  });
});

function lettersIn(path: string): Record<string, unknown>[] {
  return readFileSync(path, 'utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map((line): Record<string, unknown> => JSON.parse(line));
}

describe('W5 a fault of the endpoint', () => {
  test.each([
    ['a 503 that stays', { script: () => ({ status: 503 }) as const }, { code: 'http', details: { status: 503 } }],
    [
      'a wrong secret',
      { secrets: [`whsec_${Buffer.alloc(32).toString('base64')}`] },
      { code: 'http', details: { status: 401 } },
    ],
    ['a 404', { script: () => ({ status: 404 }) as const }, { code: 'http', details: { status: 404 } }],
    ['a 410', { script: () => ({ status: 410 }) as const }, { code: 'http', message: /permanently gone/ }],
    [
      'a redirect',
      { script: () => ({ status: 302, headers: { location: '/' } }) as const },
      { code: 'unexpected-redirect' },
    ],
    ['a connection that breaks', { script: () => 'reset' as const }, { code: 'network' }],
  ])(
    '%s ends the export, which goes on once it is mended: nothing is lost, nothing dead',
    { tags: ['slow'] },
    async (_what, options, expected) => {
      const folder = temporaryFolder();
      const deadLetter = join(temporaryFolder(), 'dead.jsonl');
      const broken = await startReceiver({ secrets: [secret], ...options });
      const run = (): Promise<unknown> =>
        exportTo(
          thingSource({ count: 250 }),
          webhookTo({ url: broken.url }, { deadLetter, retry: { retries: 1, baseDelay: 1 } }),
          { state: fileState(join(folder, 'state')) },
        ).run();
      const error = await faultOf(run());
      const { message, ...rest } = expected as { message?: RegExp; code: string };
      expect(error).toMatchObject(rest);
      if (message) expect(String(error)).toMatch(message);
      expect(broken.counts.accepted).toBe(0);
      await broken.close();
      const mended = await startReceiver({ secrets: [secret], port: broken.port });
      await run();
      expect(mended.counts).toMatchObject({ accepted: 250, doubled: 0 });
      expect(() => statSync(deadLetter)).toThrow('ENOENT');
      // The record of the finished export.
      expect(readdirSync(folder, { recursive: true })).toEqual(['state', join('state', 'checkpoint')]);
      await mended.close();
    },
  );

  test('a refused connection, likewise', async () => {
    const gone = await startReceiver();
    await gone.close();
    const state = memoryState();
    const sink = webhookTo(gone, { retry: { retries: 1, baseDelay: 1 } });
    const error = await faultOf(exportTo(thingSource({ count: 5 }), sink, { state }).run());
    expect(error).toMatchObject({ code: 'network', message: expect.stringContaining('ECONNREFUSED') });
  });

  test('in the middle is gone on from there: what was taken does not come again', { tags: ['slow'] }, async () => {
    const state = fileState(join(temporaryFolder(), 'state'));
    let isDown = false;
    const receiver = await openReceiver({
      script: ({ n }) => ((isDown ||= n === 431) ? { status: 503 } : 'ok'),
    });
    const sink = webhookTo(receiver, { deliveries: 4, retry: { retries: 1, baseDelay: 1 } });
    expect(await faultOf(exportTo(thingSource({ count: 1_000 }), sink, { state }).run())).toMatchObject({
      code: 'http',
    });
    const before = receiver.counts.accepted;
    expect(before).toBeGreaterThanOrEqual(427);
    isDown = false;
    await exportTo(thingSource({ count: 1_000 }), sink, { state }).run();
    expect(receiver.counts).toMatchObject({ accepted: 1_000, differing: 0 });
    // Only what was under way when it ended.
    expect(receiver.counts.doubled).toBeLessThanOrEqual(4);
  });

  test('W4 429 with Retry-After holds back the endpoint for that long', { tags: ['slow'] }, async () => {
    const receiver = await openReceiver({ script: [{ status: 429, retryAfter: 2 }] });
    await exportTo(thingSource({ count: 40 }), webhookTo(receiver, { deliveries: 2 })).run();
    expect(receiver.counts).toMatchObject({ accepted: 40, failed: 1 });
    const refused = receiver.requests.findIndex(({ status }) => status === 429);
    // What was under way beside it may still come.
    const later = receiver.requests.slice(refused + 2).map(({ arrivedAt }) => arrivedAt);
    expect(Math.min(...later) - receiver.requests[refused]!.arrivedAt).toBeGreaterThanOrEqual(2_000 - 5);
  });

  test.each<[string, ReceiverOptions, Partial<WebhookOptions<Thing>>, string, Advice[]]>([
    [
      '429',
      { script: () => ({ status: 429 }) },
      {},
      'rate-limited',
      [{ kind: 'lower', option: 'deliveries' }, { kind: 'wait' }],
    ],
    [
      'no response in time',
      { script: () => ({ kind: 'slow', ms: 60_000 }) },
      { timeout: 50 },
      'timeout',
      [{ kind: 'wait' }, { kind: 'raise', option: 'timeout' }],
    ],
  ])('W4 %s is an error with advice about options that a webhook has', async (_, script, options, code, advice) => {
    const receiver = await openReceiver(script);
    const sink = webhookTo(receiver, { retry: { retries: 0 }, ...options });
    const error = await faultOf(exportTo(thingSource({ count: 1 }), sink).run());
    expect(error).toMatchObject({ code, advice, fault: 'endpoint' });
  });
});

test('W1 a finished forward is complete: the same one again sends nothing, and has no dead letter twice', async () => {
  const receiver = await openReceiver({ script: ({ n }) => (n === 2 ? { status: 400 } : 'ok') });
  const folder = temporaryFolder();
  const state = fileState(join(folder, 'state'));
  const deadLetter = join(folder, 'dead.jsonl');
  const run = (count = 5, restart = false) =>
    exportTo(thingSource({ count }), webhookTo(receiver, { deadLetter }), { state, restart }).run();
  expect(await run()).toMatchObject({ rows: 5, deadLetters: { count: 1 } });
  const letters = readFileSync(deadLetter, 'utf8');
  for (let nth = 0; nth < 2; nth += 1) {
    const again = await run();
    expect(again).toMatchObject({ rows: 5, finishedAt: expect.stringMatching(/^20/) });
    expect(again).not.toHaveProperty('deadLetters');
  }
  expect(receiver.counts).toMatchObject({ requests: 5, accepted: 4 });
  expect(readFileSync(deadLetter, 'utf8')).toBe(letters);
  // Another plan, and what is asked for in so many words.
  expect(await run(7)).not.toHaveProperty('finishedAt');
  expect(await run(7, true)).not.toHaveProperty('finishedAt');
  expect(receiver.counts.requests).toBe(5 + 7 + 7);
});

describe('W5 dead letters', () => {
  const refusing = (...numbers: number[]) => ({
    script: ({ records }: Delivery) =>
      records.some(({ body }) => numbers.includes(envelopeIn(body).data.n)) ? ({ status: 400 } as const) : undefined,
  });

  test('without a file for them the first one ends the export, and says what to do', async () => {
    const receiver = await openReceiver(refusing(5));
    const error = await faultOf(exportTo(thingSource({ count: 10 }), webhookTo(receiver)).run());
    expect(error).toMatchObject({ code: 'sink', message: expect.stringContaining('deadLetter') });
  });

  test(
    'beyond the number that is allowed they end the export, which goes on with a higher one',
    { tags: ['slow'] },
    async () => {
      const receiver = await openReceiver(refusing(3, 5, 7, 9));
      const state = fileState(join(temporaryFolder(), 'state'));
      const deadLetter = join(temporaryFolder(), 'dead.jsonl');
      const run = (maxDeadLetters: number) =>
        exportTo(thingSource({ count: 20 }), webhookTo(receiver, { deadLetter, maxDeadLetters, deliveries: 1 }), {
          state,
        }).run();
      expect(await faultOf(run(0))).toMatchObject({
        message: expect.stringMatching(/and 0 before it: too many to continue\. Raise/),
      });
      expect(existsSync(deadLetter)).toBe(false);
      expect(await faultOf(run(2))).toMatchObject({
        code: 'sink',
        message: expect.stringContaining('and 2 before it: too many to continue. See'),
        details: { deadLetters: 2 },
      });
      expect(lettersIn(deadLetter)).toHaveLength(2);
      expect(await run(4)).toMatchObject({ deadLetters: { count: 4 } });
      expect(lettersIn(deadLetter).map(({ key }) => key)).toEqual([3, 5, 7, 9].map((n) => `thing ${n}`));
      expect(receiver.counts).toMatchObject({ accepted: 16 });
    },
  );

  test.each([
    ['continue', [6, 8, 10], [4]],
    ['park', [], [4, 6, 8, 10]],
  ] as const)('W7 later records of their key go on or are parked: %s', async (onDead, taken, dead) => {
    const receiver = await openReceiver(refusing(4));
    const deadLetter = join(temporaryFolder(), 'dead.jsonl');
    const source = thingSource({ count: 12, groups: 2 });
    const sink = webhookTo(receiver, { deadLetter, onDead, key: ({ group }) => group });
    await exportTo(source, sink).run();
    const evens = [...receiver.accepted.values()].map(({ body }) => envelopeIn(body).data.n).filter((n) => n % 2 === 0);
    expect(evens).toEqual([0, 2, ...taken]);
    const letters = lettersIn(deadLetter);
    expect(letters.map(({ record }) => (record as Envelope).data.n)).toEqual(dead);
    expect(letters.map(({ attempts, status }) => [attempts, status])).toEqual(
      dead.map((_n, at) => (at === 0 ? [1, 400] : [0, null])),
    );
  });

  test('W7 parked keys stay parked over a restart, and do not count as refused', async () => {
    const state = fileState(join(temporaryFolder(), 'state'));
    const deadLetter = join(temporaryFolder(), 'dead.jsonl');
    let isDown = true;
    const receiver = await openReceiver({
      script: ({ records }) => {
        const { n } = envelopeIn(records[0]?.body ?? '').data;
        if (n === 2 || n === 11) return { status: 400 };
        return isDown && n >= 5 ? { status: 503 } : 'ok';
      },
    });
    const run = () =>
      exportTo(
        thingSource({ count: 12, groups: 2 }),
        webhookTo(receiver, {
          deadLetter,
          maxDeadLetters: 2,
          onDead: 'park',
          key: ({ group }: Thing) => group,
          deliveries: 1,
          retry: { retries: 0 },
        }),
        { state },
      ).run();
    await faultOf(run());
    isDown = false;
    await run();
    expect(lettersIn(deadLetter).map(({ record }) => (record as Envelope).data.n)).toEqual([2, 4, 6, 8, 10, 11]);
    expect([...receiver.accepted.values()].map(({ body }) => envelopeIn(body).data.n)).toEqual([0, 1, 3, 5, 7, 9]);
  });
});

test('W7 changes that an Observable emits are sent in order per key, and need no option for it', async () => {
  const statuses: unknown[] = [];
  const receiver = await openReceiver({
    script(delivery) {
      if (delivery.n === 1) return { status: 503 };
      const { data } = JSON.parse(delivery.body) as { data: { after: { status: string } } };
      statuses.push(data.after.status);
      return undefined;
    },
  });
  const polled = ['new', 'a', 'b', 'c', 'd', 'e'].map((status) => ({
    rows: [{ uuid: 'u', status }],
    observedAt: '2030-01-01T00:00:00.000Z',
  }));
  const flow = from(polled).pipe(
    changes({ key: ({ uuid }) => uuid, project: ['status'] }),
    filter(({ type }) => type === 'changed'),
    writeTo(webhookTo(receiver)),
  );
  expect(await lastValueFrom(flow)).toMatchObject({ isDone: true, rows: 5 });
  expect(statuses).toEqual(['a', 'b', 'c', 'd', 'e']);
});

test('W7 order per key is kept through failures, and keys go in parallel', { tags: ['slow'] }, async () => {
  const receiver = await openReceiver({
    latency: 2,
    failures: { share: 0.3, kinds: ['error', 'reset', 'reset-after-body', 'accept-then-error'] },
  });
  const sink = webhookTo(receiver, { deliveries: 8, key: ({ group }) => group });
  await exportTo(thingSource({ count: 600, groups: 20 }), sink).run();
  expect(receiver.counts).toMatchObject({ accepted: 600, differing: 0 });
  expect(receiver.counts.failed).toBeGreaterThan(100);
  expect(receiver.counts.maxOpen).toBeGreaterThan(4);
  const lastOf = new Map<string, number>();
  for (const { body } of receiver.accepted.values()) {
    const { group, n } = envelopeIn(body).data;
    expect(n).toBeGreaterThan(lastOf.get(group) ?? -1);
    lastOf.set(group, n);
  }
});

describe('W1 a source without end', () => {
  /** Gives so many pages of three, then ends for today. */
  const endless = (pages: number): Source<Thing> =>
    new Source(
      {
        name: 'test.feed',
        identity: null,
        partitions: 1,
        isEndless: true,
        schema: { columns: ['n'], key: ({ uuid }) => uuid },
      },
      (options) => {
        const [from = 0] = Object.values(options.startAt.begun).map(({ pages }) => pages);
        let page = from;
        const iterator: PullIterator<Page<Thing>> = {
          next: () => {
            if (page >= from + pages) return Promise.resolve({ done: true, value: undefined });
            page += 1;
            return Promise.resolve({
              done: false,
              value: {
                items: thingsOf(3 * page).slice(-3),
                position: {
                  before: 0,
                  begun: { '0': { next: { cursor: String(page) }, pages: page, rows: 0 } },
                  rows: 0,
                  pages: page,
                },
                index: page - 1,
                partition: 0,
                endsPartition: false,
              },
            });
          },
          return: () => Promise.resolve({ done: true, value: undefined }),
          [Symbol.asyncIterator]: () => iterator,
          [Symbol.asyncDispose]: () => Promise.resolve(),
        };
        return iterator;
      },
    );

  test('that ends before its first page has first sent what an earlier run left', async () => {
    const folder = temporaryFolder();
    const options = { state: fileState(join(folder, 'state')), commitEvery: 50 };
    let isDown = true;
    const receiver = await openReceiver({ script: () => (isDown ? { status: 503 } : 'ok'), latency: 5 });
    const sink = webhookTo(receiver, { deliveries: 1, retry: { retries: 0 } });
    expect(await faultOf(exportTo(endless(2), sink, options).run())).toMatchObject({ code: 'http' });
    isDown = false;
    await exportTo(endless(0), sink, options).run();
    // The first run ended before, between or after its two commits.
    const { accepted } = receiver.counts;
    expect([3, 6]).toContain(accepted);
    // Pages that were not committed come again, and are not sent again.
    await exportTo(endless(4), sink, options).run();
    expect(receiver.counts).toMatchObject({ doubled: 0, differing: 0 });
    expect([12, 15, 18]).toContain(receiver.counts.accepted);
    const sequences = [...receiver.accepted.values()].map(({ body }) => envelopeIn(body).sequence);
    expect(sequences).toEqual(Array.from({ length: receiver.counts.accepted }, (_, index) => index + 1));
  });

  test('counts the dead letters that are there, and not those that were replayed', { tags: ['slow'] }, async () => {
    const folder = temporaryFolder();
    const deadLetter = join(folder, 'dead.jsonl');
    const state = fileState(join(folder, 'state'));
    let isPicky = true;
    const receiver = await openReceiver({ script: () => (isPicky ? { status: 400 } : 'ok') });
    const sink = webhookTo(receiver, { deadLetter, maxDeadLetters: 3 });
    expect(await exportTo(endless(1), sink, { state }).run()).toMatchObject({ deadLetters: { count: 3 } });
    isPicky = false;
    const counts = await replay(deadLetter, { url: `${receiver.url}/hook`, secret, allowAddresses: ['127.0.0.1'] });
    expect(counts).toMatchObject({ replayed: 3, left: 0 });
    expect(await exportTo(endless(1), sink, { state }).run()).not.toHaveProperty('deadLetters');
    isPicky = true;
    expect(await exportTo(endless(1), sink, { state }).run()).toMatchObject({ deadLetters: { count: 3 } });
  });
});

describe('secrets', () => {
  test('W9 stand in no error, spool, checkpoint or dead letter, even where the endpoint quotes them', async () => {
    const folder = temporaryFolder();
    const token = 'T0K3N-in-the-address-9876';
    const bearer = 'bearer-token-0123456789';
    let n = 0;
    const receiver = await openReceiver({
      script: ({ headers, body }) => {
        const body2 = `${secret} ${token} ${String(headers.authorization)} ${body.slice(0, 10)}`;
        n += 1;
        return n <= 3 ? { status: 400, body: body2 } : { status: 403, body: body2 };
      },
    });
    const state = fileState(join(folder, 'state'));
    const sink = webhook<Thing>({
      url: `${receiver.url}/hook/${token}?key=${token}`,
      secret,
      allowAddresses: ['127.0.0.1'],
      deliveries: 1,
      headers: { authorization: `Bearer ${bearer}` },
      deadLetter: join(folder, 'dead.jsonl'),
    });
    const error = await faultOf(exportTo(thingSource({ count: 10 }), sink, { state }).run());
    expect(error).toMatchObject({ code: 'http', details: { status: 403 } });
    const written = ['state/checkpoint', 'state/spool.log', 'dead.jsonl'].map((name) =>
      readFileSync(join(folder, name), 'utf8'),
    );
    const { inspect } = await import('node:util');
    const seen = [String(error), JSON.stringify(error), inspect(error, { depth: 20 }), ...written];
    for (const text of seen) {
      for (const hidden of [secret.slice(6), token, bearer]) expect(text).not.toContain(hidden);
    }
    expect(written[2]).toContain('[hidden]');
    expect(lettersIn(join(folder, 'dead.jsonl'))).toHaveLength(3);
  });

  const bytes = Buffer.from(Array.from({ length: 32 }, (_, at) => (at * 67 + 129) % 256));
  const keys = { 'of text': Buffer.from('correct horse battery staple'), 'of any bytes': bytes };
  const quotations: Readonly<Record<string, (key: Buffer) => string>> = {
    'as text': (key) => key.toString('utf8'),
    'as bytes of ISO 8859-1': (key) => key.toString('latin1'),
    'in hex': (key) => key.toString('hex'),
    'in hex, in upper case': (key) => key.toString('hex').toUpperCase(),
    'in hex, as Node.js prints bytes': (key) => key.toString('hex').replace(/..(?!$)/g, '$& '),
    'in hex, with colons': (key) => key.toString('hex').replace(/..(?!$)/g, '$&:'),
    'in base64 for URLs': (key) => key.toString('base64url'),
    'in JSON': (key) => JSON.stringify({ key: key.toString('base64') }).replaceAll('/', '\\/'),
    'as Python prints bytes': (key) => key.toString('hex').replace(/../g, '\\x$&'),
    'as a list of bytes': (key) => JSON.stringify([...key]),
  };
  const echoes = Object.entries(keys).flatMap(([kind, key]) =>
    Object.entries(quotations).map(([form, quote]) => ({ kind, form, key, quoted: quote(key) })),
  );

  test.each(echoes)(
    'W9 a secret $kind stays hidden where the endpoint quotes its key $form',
    async ({ key, quoted }) => {
      const own = `whsec_${key.toString('base64')}`;
      const receiver = await openReceiver({ secrets: [own], script: () => ({ status: 400, body: `no: ${quoted} .` }) });
      const folder = temporaryFolder();
      const sink = webhookTo(receiver, {
        secret: own,
        deadLetter: join(folder, 'dead.jsonl'),
      });
      await exportTo(thingSource({ count: 1 }), sink, { state: fileState(join(folder, 'state')) }).run();
      const [letter] = lettersIn(join(folder, 'dead.jsonl'));
      expect(JSON.stringify(letter)).toMatch(/no: (\[|\{\\"key\\":\\")?\[hidden\](\]|\\"\})? \./);
    },
  );

  test('W1 nobody else can read the spool', async () => {
    const folder = join(temporaryFolder(), 'state');
    const modes: number[] = [];
    const receiver = await openReceiver({
      onRequest: () => modes.push(statSync(join(folder, 'spool.log')).mode & 0o777),
    });
    await exportTo(thingSource({ count: 3 }), webhookTo(receiver), { state: fileState(folder) }).run();
    expect(modes).toEqual([0o600, 0o600, 0o600]);
  });
});

describe('W8 an address', () => {
  test('that is private is refused at once, and nothing is connected to', async () => {
    const receiver = await openReceiver();
    const error = thrownBy(() => webhook({ url: receiver.url.replace('http:', 'https:'), secret }));
    expect(error).toMatchObject({ code: 'forbidden-address' });
    expect(thrownBy(() => webhook({ url: receiver.url, secret }))).toMatchObject({ code: 'forbidden-address' });
    expect(receiver.connections).toBe(0);
  });

  test('that a name leads to is refused when it is private, once it is looked up', async () => {
    const receiver = await openReceiver();
    const sink = webhook<Thing>({
      url: `https://hooks.example.com:${receiver.port}/`,
      secret,
      resolve: () => Promise.resolve([{ address: '127.0.0.1', family: 4 }]),
    });
    const error = await faultOf(exportTo(thingSource({ count: 3 }), sink).run());
    expect(error).toMatchObject({ code: 'forbidden-address', details: { address: '127.0.0.1' } });
    expect(receiver.connections).toBe(0);
  });
});

describe('refuses', () => {
  const fine = { url: 'https://hooks.example.com/', secret };
  const refused: [string, Partial<WebhookOptions<Thing>>][] = [
    ['what is no URL', { url: 'hooks.example.com/token-token-token' }],
    ['plain http', { url: 'http://hooks.example.com/' }],
    ['another scheme', { url: 'ftp://hooks.example.com/' }],
    ['credentials in the URL', { url: 'https://user:p4ssw0rd@hooks.example.com/' }],
    ['no secret', { secret: [] }],
    ['what is no secret', { secret: 'secret' }],
    ['no requests at once', { deliveries: 0 }],
    ['an empty batch', { batch: 0 }],
    ['a batch of no bytes', { batch: { count: 1, bytes: 0 } }],
    ['bare rows in a batch', { batch: 10, format: 'bare' }],
    ['bodies of a function in a batch', { batch: 10, format: (row) => row }],
    ['a secret that is neither text nor false', { secret: true as false }],
    ['less than no dead letters', { maxDeadLetters: -1 }],
    ['an answer in no time', { timeout: 0 }],
    ['half a retry', { retry: { retries: 0.5 } }],
    ['headers of ours', { headers: { 'webhook-id': 'x' } }],
    ['an address that is none', { allowAddresses: ['10.0.0.0/33'] }],
  ];
  test.each(refused)('%s', (_what, options) => {
    const error = thrownBy(() => webhook<Thing>({ ...fine, ...options }));
    expect(SluiceError.is(error, 'config')).toBe(true);
    expect(String(error)).not.toContain('token-token');
    expect(String(error)).not.toContain('timeouts.');
    expect(String(error)).not.toContain('p4ssw0rd');
  });

  test('rows that nothing tells apart, before anything is sent', async () => {
    const receiver = await openReceiver();
    const source = thingSource({ count: 3 }, { schema: { columns: ['n'] } });
    const state = memoryState();
    expect(await faultOf(exportTo(source, webhookTo(receiver), { state }).run())).toMatchObject({ code: 'config' });
    expect(await state.load('checkpoint')).toBeUndefined();
    expect(receiver.counts.requests).toBe(0);
  });

  test("dead letters whose lock would be the export's own", async () => {
    const receiver = await openReceiver();
    const deadLetter = join(temporaryFolder(), 'dead.jsonl');
    const sink = webhookTo(receiver, { deadLetter });
    const state = fileState(`${deadLetter}.sluice`);
    expect(await faultOf(exportTo(thingSource({ count: 3 }), sink, { state }).run())).toMatchObject({
      code: 'config',
      details: { option: 'deadLetter' },
    });
    const folder = temporaryFolder();
    const inFolder = exportTo(thingSource({ count: 3 }), webhookTo(receiver, { deadLetter: folder })).run();
    expect(await faultOf(inFolder)).toMatchObject({ code: 'sink' });
    expect(receiver.counts.requests).toBe(0);
  });

  test('to go on at another endpoint', async () => {
    const state = fileState(join(temporaryFolder(), 'state'));
    const receiver = await openReceiver({ script: ({ n }) => (n > 2 ? { status: 404 } : 'ok') });
    await faultOf(exportTo(thingSource({ count: 10 }), webhookTo(receiver), { state }).run());
    const elsewhere = webhookTo({ url: `${receiver.url}/elsewhere` });
    expect(await faultOf(exportTo(thingSource({ count: 10 }), elsewhere, { state }).run())).toMatchObject({
      code: 'checkpoint',
      details: { changed: ['endpoint'] },
    });
  });
});
