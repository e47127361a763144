import { describe, expect, onTestFinished, test } from 'vitest';
import { createSender, type HttpEvent, type Sender } from '../../src/kit.js';
import { AdapterFault, type AttemptResponse } from '../../src/http/adapter/adapter.js';
import { FakeClock } from '../fakeClock.js';
import { answer, ok, startServer, type Answer, type ScriptedServer } from './scriptedServer.js';
import type { Receipt, SenderOptions } from '../../src/http/sender.js';

const secret = 'whsec_c2VjcmV0IHNlY3JldCBzZWNyZXQh';

interface OpenSender {
  readonly sender: Sender;
  readonly server: ScriptedServer;
  readonly clock: FakeClock;
  readonly events: readonly HttpEvent[];
  send(signal?: AbortSignal): Promise<Receipt>;
}

/** A sender on a clock that goes as fast as back-offs and pauses need it, unless the test turns it. */
async function openSender(
  answers: readonly Answer[],
  { isHandTurned = false, ...options }: Partial<SenderOptions> & { isHandTurned?: boolean } = {},
): Promise<OpenSender> {
  const server = await startServer(...answers);
  const clock = new FakeClock();
  const events: HttpEvent[] = [];
  const sender = createSender({
    url: `${server.url}/hook`,
    clock,
    random: () => 0.5,
    secrets: [secret],
    ...options,
    onEvent(event) {
      events.push(event);
      const wait = event.type === 'retry' ? event.delay : undefined;
      if (wait === undefined || isHandTurned) return;
      void clock.asked(wait).then(() => clock.advance(wait));
    },
  });
  onTestFinished(() => sender.close());
  let sent = 0;
  return {
    sender,
    server,
    clock,
    events,
    send: (signal = new AbortController().signal) => {
      const headers = (): Record<string, string> => ({ 'x-attempt': String((sent += 1)) });
      return sender.send({ body: '{"a":1}', headers, signal });
    },
  };
}

const codeOf = (error: unknown): unknown => error;

describe('W4 what an endpoint answers', () => {
  test.each([200, 201, 202, 204, 299])('%d: it took it, whatever the body is', async (status) => {
    const { send } = await openSender([answer(status, status === 204 ? '' : '<html>not json')]);
    expect(await send()).toEqual({ status, attempts: 1 });
  });

  test.each([408, 425, 429, 500, 502, 503, 504, 507, 520, 529, 599])(
    '%d: it may take it later, so it is tried again with headers of its own',
    async (status) => {
      const { send, server } = await openSender([answer(status), ok()]);
      expect(await send()).toEqual({ status: 200, attempts: 2 });
      expect(server.requests.map(({ method, headers }) => [method, headers['x-attempt']])).toEqual([
        ['POST', '1'],
        ['POST', '2'],
      ]);
    },
  );

  test.each([400, 401, 403, 404, 405, 409, 410, 413, 415, 418, 422, 451, 501, 505])(
    '%d: it will never take it, so it is asked once',
    async (status) => {
      const { send, server } = await openSender([answer(status, 'Because of this')]);
      await expect(send()).rejects.toMatchObject({
        code: 'http',
        message: expect.stringContaining('"Because of this"'),
        details: { status, excerpt: 'Because of this' },
      });
      expect(server.requests).toHaveLength(1);
    },
  );

  test.each([300, 301, 302, 303, 307, 308])('%d: a redirect is a failure, and is not followed', async (status) => {
    const other = await startServer(ok());
    const { send, server } = await openSender([answer(status, '', { location: other.url })]);
    await expect(send()).rejects.toMatchObject({ code: 'unexpected-redirect', details: { status } });
    expect([server.requests.length, other.requests.length]).toEqual([1, 0]);
  });

  test('no connection: the error names the URL, since an endpoint has no base URL', async () => {
    const server = await startServer(ok());
    await server.close();
    const sender = createSender({ url: `${server.url}/hook`, retry: { retries: 0 } });
    onTestFinished(() => sender.close());
    const sent = sender.send({ body: '{}', headers: () => ({}), signal: new AbortController().signal });
    await expect(sent).rejects.toThrow(/Check the network and the URL\.$/);
  });

  test('410: the error says that it is gone for good', async () => {
    const { send } = await openSender([answer(410)]);
    await expect(send()).rejects.toThrow(/responded with 410\. It is permanently gone/);
  });

  test.each([
    [401, 23 * 3600, /The clocks differ by 23 h: it is \d{4}-\d\d-\d\dT\d\d:\d\dZ there, and .*Z here\./],
    [400, -420, /The clocks differ by 7 min: /],
    [401, 59, /check the secret\.$/],
    [400, 59, /Check its logs for the reason\.$/],
    [403, 3600, /check the secret\.$/],
  ])('%d, with a Date %d s from our clock: the error says what to do', async (status, seconds, said) => {
    const clock = new FakeClock();
    const date = new Date(clock.now() + seconds * 1000).toUTCString();
    const { send } = await openSender([answer(status, '', { date })], { clock });
    await expect(send()).rejects.toThrow(said);
  });

  test('401 without a Date, or with one that is none: check the secret', async () => {
    const { send } = await openSender([answer(401, '', { date: 'tomorrow' })]);
    await expect(send()).rejects.toThrow(/check the secret\.$/);
  });

  test('a connection that breaks is tried again, and told when it stays so', async () => {
    const reset: Answer = (response) => response.destroy();
    const { send, server, events } = await openSender([reset], { retry: { retries: 2 } });
    await expect(send()).rejects.toMatchObject({ code: 'network', message: expect.stringContaining('tried 3 times') });
    expect(server.requests).toHaveLength(3);
    expect(events.filter(({ type }) => type === 'retry')).toHaveLength(2);
  });
});

describe('C9 the certificate of an endpoint', () => {
  /** Connections that fail with these codes, one after the other; `undefined`: the endpoint responds. */
  async function openFailing(codes: readonly (string | undefined)[]) {
    let attempts = 0;
    const adapter = () => ({
      send: (): Promise<AttemptResponse> => {
        const code = codes[attempts];
        attempts += 1;
        if (code !== undefined) return Promise.reject(new AdapterFault('network', code));
        return Promise.resolve({ status: 200, headers: {}, text: '' });
      },
      close: () => Promise.resolve(),
    });
    const opened = await openSender([], { url: 'https://hooks.example.com/', adapter, retry: { for: Infinity } });
    return { ...opened, attempts: () => attempts };
  }

  test.each(['CERT_HAS_EXPIRED', 'SELF_SIGNED_CERT_IN_CHAIN', 'ERR_TLS_CERT_ALTNAME_INVALID', 'CERT_NOT_YET_VALID'])(
    'is waited for if it becomes invalid (%s), and the cause is reported',
    async (code) => {
      const { send, attempts, events } = await openFailing([undefined, ...Array<string>(20).fill(code)]);
      expect(await send()).toMatchObject({ attempts: 1 });
      expect(await send()).toMatchObject({ attempts: 21 });
      expect(attempts()).toBe(22);
      const retry = events.find(({ type }) => type === 'retry');
      expect(retry).toMatchObject({ error: { code: 'network', message: expect.stringContaining(`(${code})`) } });
    },
  );

  test.each(['ERR_SSL_WRONG_VERSION_NUMBER', 'ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION'])(
    'is waited for if a proxy before it speaks something else (%s)',
    async (code) => {
      const { send } = await openFailing([undefined, code, code]);
      await send();
      expect(await send()).toMatchObject({ attempts: 3 });
    },
  );

  test.each(['CERT_HAS_EXPIRED', 'SELF_SIGNED_CERT_IN_CHAIN'])('ends it if it never was valid (%s)', async (code) => {
    const { send, attempts } = await openFailing([code]);
    await expect(send()).rejects.toMatchObject({ code: 'network', details: { platformCode: code } });
    expect(attempts()).toBe(1);
  });
});

describe('W4 Retry-After', () => {
  test.each([429, 503])('of a %d holds back everything for that endpoint', async (status) => {
    const { send, server, clock } = await openSender([answer(status, '', { 'retry-after': '2' }), ok()], {
      isHandTurned: true,
    });
    const first = send();
    await server.until(() => server.requests.length === 1);
    await clock.asked(2_000);
    const second = send();
    await clock.advance(1_999);
    expect(server.requests).toHaveLength(1);
    await clock.advance(1);
    expect([await first, await second].map(({ attempts }) => attempts)).toEqual([2, 1]);
  });

  test.each(['0.001', '0', '3ms'])('T9 of %s makes no delivery to a receiver that is down a loop', async (soon) => {
    const { send, server, clock } = await openSender([answer(503, '', { 'retry-after': soon })], {
      retry: { for: 60_000 },
    });
    await expect(send()).rejects.toMatchObject({ code: 'http' });
    expect(clock.monotonic()).toBe(60_000);
    expect(server.requests.length).toBeLessThan(20);
  });

  test('as an epoch holds back everything until then', async () => {
    const until = { 'retry-after': '1893456040', date: 'Tue, 01 Jan 2030 00:00:00 GMT' };
    const { send, clock } = await openSender([answer(503, '', until), ok()]);
    expect(await send()).toEqual({ status: 200, attempts: 2 });
    expect(clock.monotonic()).toBe(40_000);
  });

  test('beyond what is allowed is an error that says until when', async () => {
    const { send, clock } = await openSender([answer(503, '', { 'retry-after': '3600' })]);
    await expect(send()).rejects.toMatchObject({
      code: 'rate-limited',
      retryAt: new Date(clock.now() + 3_600_000),
    });
  });

  test('a signature is made when it is sent, and not before a pause', async () => {
    const { sender, clock, server } = await openSender([answer(429, '', { 'retry-after': '40' }), ok()], {
      isHandTurned: true,
    });
    const { signal } = new AbortController();
    const headers = (): Record<string, string> => ({ 'x-time': String(clock.monotonic()) });
    const both = [sender.send({ body: '', headers, signal })];
    await clock.asked(40_000);
    both.push(sender.send({ body: '', headers, signal }));
    await clock.advance(40_000);
    await Promise.all(both);
    expect(server.requests.map((request) => request.headers['x-time'])).toEqual(['0', '40000', '40000']);
  });
});

describe('a sender with a rate limit', () => {
  const twoPerSecond = { isHandTurned: true, rateLimit: { requests: 2, per: 1_000 } };

  test('L1 starts no more than that in any window, however many wait', async () => {
    const { send, server, clock } = await openSender([ok()], twoPerSecond);
    const all = [send(), send(), send(), send(), send()];
    for (const arrived of [2, 4]) {
      // A response that comes when the clock has moved on counts as late.
      await Promise.all(all.slice(0, arrived));
      await clock.asked(1_000);
      await clock.advance(999);
      expect(server.requests).toHaveLength(arrived);
      await clock.advance(1);
    }
    await Promise.all(all);
    expect(server.requests).toHaveLength(5);
  });

  test('L1 W4 counts what it repeats, and pauses all when a 429 asks for it', async () => {
    const { send, server, clock } = await openSender([answer(429, '', { 'retry-after': '40' }), ok()], twoPerSecond);
    const first = send();
    await clock.asked(40_000);
    const others = [send(), send()];
    await clock.advance(39_999);
    expect(server.requests).toHaveLength(1);
    await clock.advance(1);
    await Promise.all([first, others[0]]);
    await clock.asked(1_000);
    await clock.advance(999);
    expect(server.requests).toHaveLength(3);
    await clock.advance(1);
    expect((await Promise.all([first, ...others])).map(({ attempts }) => attempts)).toEqual([2, 1, 1]);
  });

  test('refuses one that means nothing', () => {
    const rateLimit = { requests: 0, per: 1_000 };
    expect(() => createSender({ url: 'https://h.example', rateLimit })).toThrow(/rateLimit\.requests is 0/);
  });
});

test.each([20_000, 28_800_000])('T3 a delivery that the process stood still in for %i ms is made', async (ms) => {
  let give: () => void = () => undefined;
  const { send, server, clock } = await openSender([(response) => (give = () => ok()(response))], {
    timeouts: { response: 15_000, total: 18_000 },
    retry: { retries: 0 },
  });
  const sent = send();
  await server.until(() => server.requests.length === 1);
  await clock.stall(ms);
  give();
  expect(await sent).toEqual({ status: 200, attempts: 1 });
});

describe('an answer', () => {
  test('is read no further than it is quoted, and taken for what its status says', async () => {
    const endless: Answer = (response) => {
      response.writeHead(200);
      const more = (): void => {
        while (response.write('x'.repeat(65_536)));
      };
      response.on('drain', more);
      more();
    };
    const { send, server } = await openSender([endless]);
    expect(await send()).toEqual({ status: 200, attempts: 1 });
    await server.until(() => server.requests[0]!.isAborted);
  });

  test('that breaks off behind its status is taken for what that says', async () => {
    const cut: Answer = (response) => {
      response.writeHead(200, { 'content-length': '1000' });
      response.write('half');
      setImmediate(() => response.destroy());
    };
    const { send, server } = await openSender([cut]);
    expect(await send()).toEqual({ status: 200, attempts: 1 });
    expect(server.requests).toHaveLength(1);
  });

  test.each([200, 422])('of %d whose body never ends is not waited for', async (status) => {
    const hanging: Answer = (response) => {
      response.writeHead(status, { 'content-length': '1000' });
      response.write('no good');
    };
    const { send, server } = await openSender([hanging]);
    const outcome = await send().catch(codeOf);
    expect(outcome).toMatchObject(
      status === 200 ? { status, attempts: 1 } : { code: 'http', details: { status, excerpt: 'no good' } },
    );
    expect(server.requests).toHaveLength(1);
  });

  test('that is no text is quoted as well as it can be', async () => {
    const { send } = await openSender([answer(400, Buffer.from([0xff, 0xfe, 0x41]))]);
    await expect(send()).rejects.toMatchObject({ code: 'http', details: { status: 400 } });
  });

  test('that quotes our secrets is scrubbed of them', async () => {
    const { send } = await openSender([answer(401, `You sent ${secret}, ${encodeURIComponent(secret)}`)]);
    const error: unknown = await send().catch(codeOf);
    expect(String(error)).toContain('[hidden]');
    expect(JSON.stringify(error)).not.toContain(secret.slice(6));
  });
});

test('T3 an endpoint that does not answer is given up after its deadline', async () => {
  const never: Answer = () => undefined;
  const { send, server, clock } = await openSender([never], {
    isHandTurned: true,
    retry: { retries: 0 },
    timeouts: { response: 700 },
  });
  const outcome = expect(send()).rejects.toMatchObject({ code: 'timeout', details: { deadline: 'response' } });
  await server.until(() => server.requests.length === 1);
  await clock.advance(700);
  await outcome;
});

test('T4 an abort ends it at once, and closing ends all of it', async () => {
  const never: Answer = () => undefined;
  const { send, sender, server } = await openSender([never]);
  const stopped = new AbortController();
  const first = send(stopped.signal);
  const second = send();
  await server.until(() => server.requests.length === 2);
  stopped.abort(new Error('enough'));
  await expect(first).rejects.toThrow('enough');
  await Promise.all([expect(second).rejects.toMatchObject({ code: 'network' }), sender.close()]);
  await server.until(() => server.connections === 0);
});

test('whoever watches can not alter what is sent', async () => {
  const server = await startServer(ok());
  const onEvent = (): never => {
    throw new Error('hook');
  };
  const sender = createSender({ url: server.url, onEvent });
  onTestFinished(() => sender.close());
  const { signal } = new AbortController();
  expect(await sender.send({ body: '', headers: () => ({}), signal })).toEqual({ status: 200, attempts: 1 });
});

test('connections are used again', async () => {
  const { send, server } = await openSender([ok()]);
  for (let nth = 0; nth < 50; nth += 1) await send();
  expect(server.requests).toHaveLength(50);
  expect(server.connections).toBe(1);
});

test('what goes over the wire is the body and its type, and no API key', async () => {
  const { send, server } = await openSender([ok()]);
  await send();
  expect(server.requests[0]).toMatchObject({
    method: 'POST',
    url: '/hook',
    headers: { 'content-type': 'application/json', 'content-length': '7', 'user-agent': 'sluice' },
  });
  expect(Object.keys(server.requests[0]!.headers)).not.toContain('x-api-key');
});

test('a message without a body is a GET', async () => {
  const { sender, server } = await openSender([ok()]);
  const { signal } = new AbortController();
  expect(await sender.send({ headers: () => ({}), signal })).toEqual({ status: 200, attempts: 1 });
  expect(server.requests[0]).toMatchObject({ method: 'GET', url: '/hook', body: '' });
  expect(Object.keys(server.requests[0]!.headers)).not.toContain('content-type');
});

test.each([{ timeouts: { response: 0 } }, { retry: { retries: 1.5 } }, { retry: { baseDelay: -1 } }])(
  'refuses %j',
  (options) => {
    expect(() => createSender({ url: 'https://h.example', ...options })).toThrow(/must be a/);
  },
);
