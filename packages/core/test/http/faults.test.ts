import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { createAdapter as createFetchAdapter } from '../../src/http/adapter/fetchAdapter.js';
import { createAdapter as createNodeAdapter } from '../../src/http/adapter/nodeAdapter.js';
import {
  DecodeError,
  HttpError,
  NetworkError,
  RateLimitError,
  RequestTimeoutError,
  ResponseTooLargeError,
  SluiceError,
  UnexpectedRedirectError,
} from '../../src/index.js';
import { canary, expectNoKey } from './canary.js';
import { openTransport, route, type OpenOptions } from './openTransport.js';
import { answer, begun, hangUp, never, ok, reset, startServer, type Answer } from './scriptedServer.js';

interface Row {
  readonly fault: string;
  readonly answers: readonly Answer[];
  readonly options?: OpenOptions;
  /** How many attempts reach the server. */
  readonly attempts: number;
  /** The waits before the 2nd, 3rd … attempt, in ms. Half of 250, 500, 1000 … where the API asks for none. */
  readonly delays?: readonly number[];
  /** The error at the end; without one the request succeeds. */
  readonly error?: abstract new (...args: never[]) => SluiceError;
  readonly details?: Readonly<Record<string, unknown>>;
  readonly says?: RegExp;
}

const jitter = [125, 250, 500, 1000, 2000];
const twice: OpenOptions = { retry: { retries: 1 } };
const small: OpenOptions = { maxBodyBytes: 1_000 };
const date = 'Wed, 02 Jan 2030 10:00:00 GMT';
const later = 'Wed, 02 Jan 2030 10:00:30 GMT';
/** The time of the tests' clock. */
const newYear = 'Tue, 01 Jan 2030 00:00:00 GMT';
const zeros = JSON.stringify('0'.repeat(2_000_000));
const html = '<!doctype html>\n<title>Sign in</title>\n<p>Please';
const encoded = [canary, encodeURIComponent(canary), Buffer.from(`key ${canary}`).toString('base64')];

const neverRetried: readonly Row[] = [400, 403, 404, 405, 409, 410, 422, 501, 505, 600].map((status) => ({
  fault: `T6 status ${String(status)}`,
  answers: [answer(status, '{"message":"no such wallet"}')],
  attempts: 1,
  error: HttpError,
  details: { status, excerpt: '{"message":"no such wallet"}' },
}));

const retried: readonly Row[] = [408, 425, 500, 502, 503, 504, 506, 507, 508, 509, 520, 524, 529, 530, 599].map(
  (status) => ({
    fault: `T6 status ${String(status)} until the retries are used up`,
    answers: [answer(status, 'in trouble')],
    options: { retry: { retries: 5 } },
    attempts: 6,
    delays: jitter,
    error: HttpError,
    details: { status, excerpt: 'in trouble' },
  }),
);

const rows: readonly Row[] = [
  ...neverRetried,
  ...retried,
  {
    fault: 'T6 status 503 for a while',
    answers: [answer(503), answer(503), ok()],
    attempts: 3,
    delays: jitter.slice(0, 2),
  },
  {
    fault: 'T6 status 401 for a key that was given as text',
    answers: [answer(401, '{"message":"who are you"}')],
    attempts: 1,
    error: HttpError,
    details: { status: 401 },
  },
  {
    fault: 'T6 status 503 with Retry-After',
    answers: [answer(503, '', { 'retry-after': '7' }), ok()],
    attempts: 2,
    delays: [7_000],
  },
  {
    fault: 'T6 status 503 with a Retry-After above maxRetryAfter',
    answers: [answer(503, '', { 'retry-after': '61' })],
    attempts: 1,
    error: RateLimitError,
    details: { status: 503, retryAt: '2030-01-01T00:01:01.000Z' },
  },
  {
    fault: 'T6 status 503 with Retry-After, which does not count towards the total deadline',
    answers: [...Array.from({ length: 4 }, () => answer(503, '', { 'retry-after': '50' })), ok()],
    options: { timeouts: { total: 120_000 } },
    attempts: 5,
    delays: [50_000, 50_000, 50_000, 50_000],
  },
  {
    fault: 'T6 status 429 with a Retry-After above 60 s, if retries may take longer',
    answers: [answer(429, '', { 'retry-after': '90' }), ok()],
    options: { retry: { for: 600_000 } },
    attempts: 2,
    delays: [90_000],
  },
  {
    fault: 'T6 status 429 with a Retry-After of more than a day, although retries may take for ever',
    answers: [answer(429, '', { 'retry-after': '86401' })],
    options: { retry: { for: Infinity } },
    attempts: 1,
    error: RateLimitError,
    details: { status: 429, retryAfter: 86_401_000 },
    says: /asked to wait 86401 s \(until .*\), but the limit is 86400 s/,
  },
  {
    fault: 'T6 status 429 until the retries are used up',
    answers: [answer(429, 'slow down')],
    options: { retry: { retries: 5 } },
    attempts: 6,
    delays: jitter,
    error: RateLimitError,
    details: { status: 429, retryAt: undefined, excerpt: 'slow down' },
  },
  {
    fault: 'T6 status 429 with Retry-After in seconds',
    answers: [answer(429, '', { 'retry-after': '7' }), ok()],
    attempts: 2,
    delays: [7_000],
  },
  {
    fault:
      "T6 status 429 with Retry-After as a date, by a clock that is a day off ours, measured against the answer's Date",
    answers: [answer(429, '', { 'retry-after': later, date }), ok()],
    attempts: 2,
    delays: [30_000],
  },
  {
    fault: 'T6 status 429 with a negative Retry-After',
    answers: [answer(429, '', { 'retry-after': '-5' }), ok()],
    attempts: 2,
    delays: [125],
  },
  {
    fault: 'T6 status 429 with a Retry-After that can not be read',
    answers: [answer(429, '', { 'retry-after': 'soon' }), ok()],
    attempts: 2,
    delays: [125],
  },
  {
    fault: 'T6 status 429 with a Retry-After in the past',
    answers: [answer(429, '', { 'retry-after': date, date: later }), ok()],
    attempts: 2,
    delays: [125],
  },
  {
    fault: 'T6 status 429 with Retry-After: 0, which must not become a loop without a pause',
    answers: [answer(429, '', { 'retry-after': '0' }), ok()],
    attempts: 2,
    delays: [125],
  },
  ...['0.001', '0.2', '5ms', '1e-3', '0, 0', '1893456000'].map((soon) => ({
    fault: `T6 status 503 with Retry-After: ${soon}, which makes no wait shorter than a back-off`,
    answers: [...Array.from({ length: 4 }, () => answer(503, '', { 'retry-after': soon, date: newYear })), ok()],
    attempts: 5,
    delays: [soon === '0.2' ? 200 : 125, 250, 500, 1_000],
  })),
  ...[
    ['an epoch in seconds', '1893456007'],
    ['an epoch in ms', '1893456007000'],
    ['a duration', '7000ms'],
    ['two values', '3, 7'],
    ['an ISO date', '2030-01-01T00:00:07Z'],
  ].map(([form = '', header = '']) => ({
    fault: `T6 status 429 with Retry-After as ${form}`,
    answers: [answer(429, '', { 'retry-after': header, date: newYear }), ok()],
    attempts: 2,
    delays: [7_000],
  })),
  {
    fault: 'T6 status 429 with a Retry-After of 10^9 s',
    answers: [answer(429, '', { 'retry-after': '1000000000' })],
    attempts: 1,
    error: RateLimitError,
    details: { status: 429, retryAt: new Date(Date.UTC(2030, 0, 1) + 1e12).toISOString() },
    says: /asked to wait 1000000000 s.*, but the limit is 60 s\. Try again later, or raise retry\.maxRetryAfter\.$/,
  },
  {
    fault: 'T6 status 429 with a Retry-After that no calendar has a date for',
    answers: [answer(429, '', { 'retry-after': '9'.repeat(400) })],
    attempts: 1,
    error: RateLimitError,
    details: { status: 429, retryAt: undefined },
  },
  {
    fault: 'T1 several choices, of which none is taken',
    answers: [answer(300, '', { location: '/elsewhere' })],
    attempts: 1,
    error: UnexpectedRedirectError,
    details: { status: 300, to: 'another path' },
  },
  {
    fault: 'T1 a redirect that takes the key along in its address',
    answers: [answer(302, '', { location: `https://elsewhere.example/?key=${encodeURIComponent(canary)}` })],
    attempts: 1,
    error: UnexpectedRedirectError,
    details: { status: 302, to: 'an address that is not shown' },
  },
  {
    fault: 'T5 a web page with status 200',
    answers: [answer(200, html, { 'content-type': 'text/html' })],
    options: twice,
    attempts: 2,
    error: DecodeError,
    details: { route, status: 200, excerpt: '<!doctype html> <title>Sign in</title> <p>Please' },
    says: /a web page/,
  },
  {
    fault: 'T5 a web page once',
    answers: [answer(200, html, { 'content-type': 'text/html' }), ok()],
    attempts: 2,
    delays: [125],
  },
  {
    fault: 'T5 JSON that is not whole',
    answers: [answer(200, '{"result":[1,2')],
    options: twice,
    attempts: 2,
    error: DecodeError,
    details: { status: 200, excerpt: '{"result":[1,2' },
  },
  {
    fault: 'T5 an empty body',
    answers: [answer(200, '')],
    options: twice,
    attempts: 2,
    error: DecodeError,
    details: { status: 200, excerpt: '' },
    says: /an empty body/,
  },
  {
    fault: 'T5 half of the promised body',
    answers: [begun('{"result":[', { 'content-length': 100 }, hangUp)],
    options: twice,
    attempts: 2,
    error: DecodeError,
    says: /broke off before its end/,
  },
  {
    fault: 'T5 half of the promised body, which is complete JSON by itself',
    answers: [begun('{"result":[]}', { 'content-length': 100 }, hangUp)],
    options: twice,
    attempts: 2,
    error: DecodeError,
    says: /broke off before its end/,
  },
  {
    fault: 'T5 a body in chunks that breaks off between two of them',
    answers: [begun('{"result":[]}', {}, hangUp)],
    options: twice,
    attempts: 2,
    error: DecodeError,
    says: /broke off before its end/,
  },
  {
    fault: 'T5 a reset in the middle of the body',
    answers: [begun('{"result":[', {}, reset)],
    options: twice,
    attempts: 2,
    error: DecodeError,
    says: /broke off before its end/,
  },
  {
    fault: 'T5 a packed body that is cut, though its length agrees',
    answers: [answer(200, gzipSync('{"result":[]}').subarray(0, 20), { 'content-encoding': 'gzip' })],
    options: twice,
    attempts: 2,
    error: DecodeError,
  },
  {
    fault: 'R11 T5 bytes that are not UTF-8, which come again',
    answers: [answer(200, Buffer.from([0x7b, 0x22, 0xff, 0xfe, 0x22]))],
    attempts: 1,
    error: DecodeError,
    says: /not UTF-8/,
  },
  {
    fault: 'T5 a character cut in half at the end',
    answers: [answer(200, Buffer.from([0x22, 0xe2, 0x82]))],
    options: twice,
    attempts: 2,
    error: DecodeError,
    says: /broke off before its end/,
  },
  {
    fault: 'T6 a reset before the answer',
    answers: [reset],
    options: twice,
    attempts: 2,
    error: NetworkError,
    details: { route },
  },
  {
    fault: 'T6 a connection that ends before the answer',
    answers: [hangUp, ok()],
    attempts: 2,
    delays: [125],
  },
  {
    fault: 'R11 something that is not HTTP, which comes again',
    answers: [(response) => response.socket?.end('220 mail.example ESMTP\r\n')],
    attempts: 1,
    error: DecodeError,
    says: /something that is not HTTP\/1\.1 \(HPE_INVALID_CONSTANT\)\. Check the base URL and its port/,
  },
  {
    fault: 'R11 more headers than Node.js takes',
    answers: [answer(200, '{}', { 'content-security-policy': 'x'.repeat(20_000) })],
    attempts: 1,
    error: DecodeError,
    says: /more headers than Node\.js takes.*max-http-header-size/,
  },
  {
    fault: 'R11 a server that begins with HTTP/2',
    answers: [
      (response) => response.socket?.end(Buffer.from('000012040000000000000300000064000400100000000600004000', 'hex')),
    ],
    attempts: 1,
    error: DecodeError,
    says: /HTTP\/[12]/,
  },
  ...(
    [
      ['plain', zeros, {}],
      ['packed with gzip', gzipSync(zeros), { 'content-encoding': 'gzip' }],
      ['packed with deflate', deflateSync(zeros), { 'content-encoding': 'deflate' }],
      ['packed with br', brotliCompressSync(zeros), { 'content-encoding': 'br' }],
    ] as const
  ).map(([kind, body, headers]) => ({
    fault: `T3 a body beyond the cap, ${kind}`,
    answers: [answer(200, body, headers)],
    options: small,
    attempts: 1,
    error: ResponseTooLargeError,
    details: { maxBodyBytes: 1_000 },
  })),
  {
    fault: 'T3 an error beyond the cap',
    answers: [answer(500, zeros)],
    options: small,
    attempts: 1,
    error: ResponseTooLargeError,
  },
  ...encoded.map((spelling) => ({
    fault: `T2 an error that repeats the key as ${spelling.slice(0, 5)}…`,
    answers: [answer(403, `{"message":"${spelling}"}`)],
    attempts: 1,
    error: HttpError,
    details: { status: 403, excerpt: expect.stringMatching(/\[hidden\]/) },
  })),
  {
    fault: 'T2 an error that repeats the key as a JSON string',
    answers: [answer(403, JSON.stringify({ message: 'no', key: canary }))],
    attempts: 1,
    error: HttpError,
    details: { status: 403, excerpt: '{"message":"no","key":"[hidden]"}' },
  },
  {
    fault: 'T2 an error that repeats the key where its excerpt is cut',
    answers: [answer(403, `${'x'.repeat(190)}${canary}`)],
    attempts: 1,
    error: HttpError,
    details: { excerpt: `${'x'.repeat(190)}[hidden]` },
  },
  {
    fault: 'T2 an error that repeats the key where reading stops, behind nothing but blanks',
    answers: [answer(403, `x${' '.repeat(4085)}${canary}`)],
    attempts: 1,
    error: HttpError,
    details: { excerpt: 'x [hidden]…' },
  },
  {
    fault: 'T2 a web page that repeats the key',
    answers: [answer(200, `<p>${canary}</p>`)],
    options: twice,
    attempts: 2,
    error: DecodeError,
    details: { excerpt: '<p>[hidden]</p>' },
  },
  ...['\u0000', '\u00ad', '\u200b', '\u2060', '\ufe0f'].map((invisible) => ({
    fault: `T2 an error that spells the key with U+${invisible.charCodeAt(0).toString(16).padStart(4, '0')} in between`,
    answers: [answer(400, `<p>${[...canary].join(invisible)}</p>`)],
    attempts: 1,
    error: HttpError,
    details: { excerpt: '<p>[hidden]</p>' },
  })),
  {
    fault: 'T2 an error full of control characters',
    answers: [answer(400, 'a\u001b[2Jb\r\n\u0007c\u202ed')],
    attempts: 1,
    error: HttpError,
    details: { excerpt: 'a[2Jb cd' },
  },
];

describe.each([
  { name: 'node:http', createAdapter: createNodeAdapter },
  { name: 'fetch', createAdapter: createFetchAdapter },
])('over $name, a request meets', ({ createAdapter }) => {
  test.each(rows.map((row) => [row.fault, row] as const))('%s', async (_fault, row) => {
    const { answers, options, attempts, delays, error, details, says } = row;
    const server = await startServer(...answers);
    const transport = openTransport(server.url, { createAdapter, ...options });
    const request = transport.get();
    const outcome = await request.catch((reason: unknown) => reason);

    expect(server.requests).toHaveLength(attempts);
    if (delays) expect(transport.delays).toEqual(delays);
    if (error) {
      expect(outcome).toBeInstanceOf(error);
      expect(outcome).toMatchObject({ message: expect.stringContaining(route) });
      if (details) expect(outcome).toMatchObject({ details });
      if (says) expect(outcome).toMatchObject({ message: expect.stringMatching(says) });
    } else {
      expect(outcome).toMatchObject({ status: 200, body: { fine: true }, attempts });
    }
    expectNoKey(outcome, transport.events, transport.limiter.state);
    expect(transport.clock.pending).toEqual([]);
    expect(transport.limiter.state).toMatchObject({ queued: 0, running: 0 });
  });

  test('T1 a redirect to another origin, which gets no request', async () => {
    const other = await startServer(ok());
    const server = await startServer(answer(307, '', { location: `${other.url}/things` }));
    const error = await openTransport(server.url, { createAdapter }).get().catch(String);
    expect(error).toMatch(
      /^UnexpectedRedirectError: test\.route: the server responded with a redirect \(307\) to http:/,
    );
    expect(server.requests).toHaveLength(1);
    expect(other.requests).toHaveLength(0);
    expect(other.connections).toBe(0);
  });

  test('T3 an endless body, of which no more is read than the cap', async () => {
    const server = await startServer(begun('0'.repeat(2_000), { 'content-length': 1e9 }, never));
    const transport = openTransport(server.url, { createAdapter, ...small });
    await expect(transport.get()).rejects.toBeInstanceOf(ResponseTooLargeError);
    await server.until(() => server.requests[0]?.isAborted === true);
  });

  test('T3 a body just as long as the cap, which is fine', async () => {
    const body = JSON.stringify('0'.repeat(998));
    const server = await startServer(answer(200, gzipSync(body), { 'content-encoding': 'gzip' }));
    expect((await openTransport(server.url, { createAdapter, ...small }).get()).body).toHaveLength(998);
  });

  test.each([
    ['gzip', gzipSync],
    ['deflate', deflateSync],
    ['br', brotliCompressSync],
  ])('a body packed with %s, which is fine', async (encoding, pack) => {
    const server = await startServer(answer(200, pack('["ä","€","😀"]'), { 'content-encoding': encoding }));
    expect((await openTransport(server.url, { createAdapter }).get()).body).toEqual(['ä', '€', '😀']);
  });

  test('T5 a document with __proto__ in it, which stays a field like others', async () => {
    const server = await startServer(answer(200, '\uFEFF{"__proto__":{"polluted":true},"constructor":1}'));
    const { body } = await openTransport(server.url, { createAdapter }).get();
    expect(Object.entries(body ?? {})).toEqual([
      ['__proto__', { polluted: true }],
      ['constructor', 1],
    ]);
    expect(Object.getPrototypeOf(body)).toBe(Object.prototype);
    expect({}).not.toHaveProperty('polluted');
  });

  test('T6 nobody who listens at its port', async () => {
    const server = await startServer(ok());
    await server.close();
    const transport = openTransport(server.url, { createAdapter, ...twice });
    const error: unknown = await transport.get().catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(NetworkError);
    expect(error).toMatchObject({ details: { route, platformCode: 'ECONNREFUSED' } });
    expect(transport.delays).toEqual([125]);
    expectNoKey(error, transport.events);
  });

  test.each(['http://sluice-test.invalid', 'http://sluice..test', `http://${'x'.repeat(64)}.test`])(
    'T9 %s, which no name server can know, and ends at once',
    async (url) => {
      const transport = openTransport(url, { createAdapter });
      const error: unknown = await transport.get().catch((reason: unknown) => reason);
      expect(error).toBeInstanceOf(NetworkError);
      expect(error).toMatchObject({ details: { platformCode: expect.stringMatching(/^(ENOTFOUND|EAI_AGAIN)$/) } });
      expect(transport.delays).toEqual([]);
      expectNoKey(error, transport.events);
    },
  );

  test('T3 a server that never answers, until the response deadline of each attempt', async () => {
    const server = await startServer(never);
    const transport = openTransport(server.url, { createAdapter, ...twice });
    const outcome = transport.get().catch((reason: unknown) => reason);
    await server.until(() => server.requests.length === 1);
    await transport.clock.advance(29_999);
    expect(server.requests[0]).toMatchObject({ isAborted: false });
    await transport.clock.advance(1);
    await server.until(() => server.requests.length === 2);
    expect(server.requests[0]).toMatchObject({ isAborted: true });
    await transport.clock.advance(30_000);
    const error = await outcome;
    expect(error).toBeInstanceOf(RequestTimeoutError);
    expect(error).toMatchObject({ details: { route, deadline: 'response', ms: 30_000 } });
    expect(transport.clock.pending).toEqual([]);
    expectNoKey(error, transport.events);
  });

  test('T3 a body that drips on beyond the response deadline', async () => {
    const drops: (() => void)[] = [];
    const drip = begun('{', {}, (response) => drops.push(() => response.write(' ')));
    const server = await startServer(drip);
    const transport = openTransport(server.url, { createAdapter, retry: { retries: 0 } });
    const outcome = transport.get().catch((reason: unknown) => reason);
    await server.until(() => server.requests.length === 1);
    for (let second = 0; second < 30; second += 1) {
      drops[0]?.();
      await transport.clock.advance(1_000);
    }
    expect(await outcome).toMatchObject({ code: 'timeout', details: { deadline: 'response' } });
    await server.until(() => server.requests[0]?.isAborted === true);
  });
});
