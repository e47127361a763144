import { createHmac, timingSafeEqual } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { type ClientOptions, exportTo, type Link, memoryState } from '../../src/index.js';
import {
  bearer,
  byLink,
  defineApi,
  header,
  listing,
  queryKey,
  sign,
  type SignFunction,
  type UnsignedRequest,
} from '../../src/define/index.js';
import { createAdapter } from '../../src/http/adapter/nodeAdapter.js';
import { FakeClock } from '../fakeClock.js';
import { recordingSink } from '../rows/sink/recordingSink.js';
import { caught, clientsWith } from '../http/openClient.js';
import { type Arrived, recordingServer, type Reply } from '../http/recordingServer.js';

const secret = 'sign-secret-4411-xyz';
const hmac = (text: string): string => createHmac('sha256', secret).update(text).digest('hex');

/** Signs method, URL, key and body with the time, in headers. */
const inHeaders: SignFunction = ({ method, url, headers, body }, key) => {
  const time = String(Date.now());
  const { pathname, search } = new URL(url);
  const text = [time, method, pathname + search, headers['x-key'] ?? '', body].join('\n');
  return { headers: { 'X-Time': time, 'X-Sign': createHmac('sha256', key).update(text).digest('hex') } };
};

/** As Binance: of the whole query, in the query. */
const inQuery: SignFunction = ({ url }, key) => {
  const timestamp = String(Date.now());
  const query = [new URL(url).search.slice(1), `timestamp=${timestamp}`].filter((part) => part !== '').join('&');
  return { query: { timestamp, signature: createHmac('sha256', key).update(query).digest('hex') } };
};

const isSame = (a: string, b: string): boolean =>
  a.length === b.length && timingSafeEqual(Buffer.from(a), Buffer.from(b));

/** Refuses what is not signed, and what was signed longer ago than `recent` ms. */
function verified({ method, url, headers, body }: Arrived, recent: number): Reply | undefined {
  const { searchParams, search } = new URL(url, 'http://127.0.0.1');
  const signature = searchParams.get('signature') ?? String(headers['x-sign']);
  const time = searchParams.get('timestamp') ?? String(headers['x-time']);
  const text = searchParams.has('signature')
    ? search.slice(1).replace(/&?signature=[^&]*$/, '')
    : [time, method, url, headers['x-key'] ?? '', body].join('\n');
  if (!isSame(hmac(text), signature)) return { status: 400, body: { msg: `Signature ${signature} is not valid.` } };
  if (Date.now() - Number(time) > recent) return { status: 400, body: { msg: 'Timestamp is too old.' } };
  return undefined;
}

const rows = listing({
  path: '/rows',
  query: { a: 'ä b', b: 'x/?y' },
  rows: 'items',
  paging: byLink(),
  columns: ['id'],
});
const posted = listing({
  path: '/rows',
  method: 'POST',
  body: { q: 'ä€😀' },
  rows: 'items',
  paging: byLink(),
  columns: ['id'],
});
const own = (...auth: Parameters<typeof sign>[1][]) =>
  defineApi({
    name: 'own',
    auth: [header('X-Key', { env: 'KEY' }), ...auth.map((fn) => sign({ env: 'SIGN' }, fn))],
    sources: { rows, posted },
  });

const open = clientsWith({ KEY: 'key-id-77-abc', SIGN: secret });

describe.each([
  { where: 'headers', fn: inHeaders },
  { where: 'the query', fn: inQuery },
])('R8 a signature in $where', ({ fn }) => {
  test('is of the exact URL, body and headers, and the secret is not sent', async () => {
    const server = await recordingServer((request) => verified(request, 5_000) ?? { body: { items: [{ id: 1 }] } });
    const client = open().use(own(fn)({ baseUrl: server.url }));
    await client.own.rows().toArray();
    await client.own.posted().toArray();
    await client.own.get('/rows');
    await client.own.get("/a%20b/!$&'()*+,;=:@", { query: { list: ['a b', 'c'] } });
    expect(server.arrived).toHaveLength(4);
    for (const { raw } of server.arrived) expect(raw).not.toContain(secret);
  });

  test('is fresh after a wait for the limiter, and again in a retry', async () => {
    const recent = 250;
    const server = await recordingServer(
      (request, nth) => verified(request, recent) ?? { status: nth === 2 ? 503 : 200, body: { items: [] } },
    );
    const client = open({ rateLimit: { requests: 1, per: 400 }, retry: { retries: 1 } }).use(
      own(fn)({ baseUrl: server.url }),
    );
    await Promise.all([client.own.get('/one'), client.own.get('/two'), client.own.get('/three')]);
    const signed = server.arrived.map(({ headers, url }) => headers['x-sign'] ?? url.replace(/.*signature=/, ''));
    expect(new Set(signed).size).toBe(4);
  });

  test('R9 is made again for each hop of a redirect, of its exact URL', async () => {
    const server = await recordingServer((request) => {
      const refused = verified(request, 5_000);
      if (refused) return refused;
      const hop = /^\/rows|^\/one\//.exec(request.url)?.[0];
      if (hop === undefined) return { body: { items: [{ id: 1 }] } };
      const to = hop === '/rows' ? '/one/rows' : '/two%20b/';
      return { status: 307, headers: { location: request.url.replace(hop, to) } };
    });
    const client = open().use(own(fn)({ baseUrl: server.url }));
    expect(await client.own.rows().toArray()).toEqual([{ id: 1 }]);
    expect(server.arrived.map(({ url }) => url.split('?')[0])).toEqual(['/rows', '/one/rows', '/two%20b/rows']);
    const signed = server.arrived.map(({ headers, url }) => headers['x-sign'] ?? url.replace(/.*signature=/, ''));
    expect(signed.map((signature) => String(signature).length)).toEqual([64, 64, 64]);
    for (const { url } of server.arrived) expect(url.match(/signature=/g)?.length ?? 1).toBe(1);
  });

  test('is redacted, and removed from addresses of next pages, so that nothing shows or stores it', async () => {
    const echoed: string[] = [];
    const server = await recordingServer((request) => {
      const refused = verified(request, 5_000);
      if (refused) return refused;
      const url = new URL(request.url, 'http://127.0.0.1');
      const page = Number(url.searchParams.get('page') ?? '1');
      echoed.push(url.searchParams.get('signature') ?? String(request.headers['x-sign']));
      if (page === 4) return { status: 500, body: { sent: request.raw } };
      url.searchParams.set('page', String(page + 1));
      return {
        body: { items: [{ id: page }] },
        headers: { link: `<${url.pathname}${url.search}>; rel="next"` },
      };
    });
    const seen: unknown[] = [];
    const spy: Link = (next) => async (request) => {
      const response = await next(request);
      seen.push(request, response);
      return response;
    };
    const memory = memoryState();
    const state = { ...memory, save: (name: string, record: object) => memory.save(name, (seen.push(record), record)) };
    const client = open({ links: [spy] }).use(own(fn)({ baseUrl: server.url }));
    client.events.subscribe((event) => seen.push(event));
    const error = await caught(exportTo(client.own.rows(), recordingSink(), { state, commitEvery: 1 }).run());
    expect(error).toMatchObject({ code: 'http', status: 500, message: expect.stringContaining('[hidden]') });
    expect(echoed).toHaveLength(4);
    for (const signature of echoed) expect(JSON.stringify(seen) + String(error)).not.toContain(signature);
    const isError = (one: unknown): boolean => typeof one === 'object' && one !== null && 'error' in one;
    expect(JSON.stringify(seen.filter((one) => !isError(one)))).not.toMatch(/timestamp=|signature=/);
  });
});

describe('R8 a signing function', () => {
  const server = () => recordingServer(() => ({ body: { items: [] } }));

  test('sees its own API and nothing of another', async () => {
    const [one, two] = [await server(), await server()];
    const seen: unknown[] = [];
    const client = open()
      .use(own((request, key) => (seen.push(request, key), {}))({ baseUrl: one.url }))
      .use(defineApi({ name: 'other', auth: bearer('token-of-other-api'), sources: { rows } })({ baseUrl: two.url }));
    await client.other.get('/rows');
    expect(seen).toEqual([]);
    await client.own.get('/rows');
    expect(seen).toEqual([
      {
        method: 'GET',
        url: `${one.url}/rows`,
        headers: { accept: 'application/json', 'x-key': 'key-id-77-abc' },
        body: '',
      },
      secret,
    ]);
  });

  test('sees what the other credentials add, wherever it stands in the list', async () => {
    const api = await server();
    const seen: UnsignedRequest[] = [];
    const note: SignFunction = (request) => (seen.push(request), { headers: { signed: 'value-of-it' } });
    const auth = [sign('secret-one-1', note), queryKey('key', 'qk-9900-aa')] as const;
    const client = open().use(defineApi({ name: 'own', auth, sources: { rows } })({ baseUrl: api.url }));
    await client.own.get('/rows');
    expect(seen.map(({ url }) => url)).toEqual([`${api.url}/rows?key=qk-9900-aa`]);
    expect(api.arrived[0]?.headers).toMatchObject({ signed: 'value-of-it' });
  });

  test('is one for an API', () => {
    const both = own(inHeaders, inQuery);
    expect(() => open().use(both({ baseUrl: 'https://api.example.com' }))).toThrow(
      'Two credentials of own would be sent in the signature.',
    );
  });

  test.each<[string, unknown, string]>([
    [
      'changes the request',
      (request: { url: string }) => ((request.url = 'http://evil.example'), {}),
      'failed. It must not change the request',
    ],
    [
      'changes a header',
      (request: { headers: Record<string, string> }) => ((request.headers['x'] = '1'), {}),
      'failed. It must not change the request',
    ],
    ['returns a URL', () => ({ url: 'http://evil.example' }), 'a signature has no option "url"'],
    ['returns a body', () => ({ headers: {}, body: 'x' }), 'a signature has no option "body"'],
    ['returns nothing', () => undefined, 'returned undefined. It must return { headers, query }'],
    ['returns a text', () => 'abc', 'returned text'],
    [
      'sets a header that is there',
      () => ({ headers: { 'X-KEY': 'other' } }),
      'set the header "x-key", which the request has already',
    ],
    ['sets the host', () => ({ headers: { Host: 'evil.example' } }), 'set the header "host"'],
    ['sets an invalid header', () => ({ headers: { 'X-A': 'a\nb' } }), 'cannot be sent ("x-a")'],
    [
      'sets a parameter that is there',
      () => ({ query: { a: '2' } }),
      'set the query parameter "a", which the request has already',
    ],
    ['returns a number', () => ({ query: { time: 17 } }), 'returned 17 as "time" of query, which must be text'],
    ['returns a list', () => ({ headers: ['a'] }), 'as headers, which must be an object'],
    [
      'throws the secret',
      (_: unknown, key: string) => {
        throw new Error(key);
      },
      'failed',
    ],
  ])('that %s is an error, and nothing is sent or counted', async (_, fn, fault) => {
    const api = await server();
    const starts: unknown[] = [];
    const client = open().use(own(fn as SignFunction)({ baseUrl: api.url }));
    client.eventsOf('attempt').subscribe((event) => starts.push(event));
    const error = await caught(client.own.get('/rows', { query: { a: '1' } }));
    expect(error).toMatchObject({ code: 'config', message: expect.stringContaining(`The function of sign() of own `) });
    expect(String(error)).toContain(fault);
    expect(String(error)).not.toContain(secret);
    expect(api.arrived).toEqual([]);
    expect(starts).toEqual([]);
    expect(client.limiters.get('own')).toMatchObject({ running: 0 });
  });

  test('may take its time, and is not waited for when the request is over', async () => {
    const api = await server();
    const client = open({ timeouts: { total: 200, response: 200, connect: 200 } }).use(
      own(() => new Promise(() => undefined))({ baseUrl: api.url }),
    );
    await expect(client.own.get('/rows')).rejects.toMatchObject({ code: 'timeout' });
    expect(client.limiters.get('own')).toMatchObject({ running: 0 });
    const clock = new FakeClock();
    const slow = open({ clock }).use(
      own(async () => {
        // Longer than a connection may take.
        await clock.advance(60_000);
        return { headers: { 'X-Sign': 'late-signature' } };
      })({ baseUrl: api.url }),
    );
    await slow.own.get('/rows');
    expect(api.arrived.map(({ headers }) => headers['x-sign'])).toEqual(['late-signature']);
  });

  test('is called again if the connection took so long to open that its time would be old', async () => {
    const api = await server();
    const clock = new FakeClock();
    let signed = 0;
    let opened = 0;
    const slowFirst: ClientOptions['adapter'] = (options) => {
      const adapter = createAdapter(options);
      return {
        ...adapter,
        async send(request) {
          opened += 1;
          if (opened === 1) await clock.advance(1_001);
          return adapter.send(request);
        },
      };
    };
    const client = open({ clock, adapter: slowFirst }).use(
      own(() => ({ headers: { 'X-Sign': `signature-${String((signed += 1))}` } }))({ baseUrl: api.url }),
    );
    await client.own.get('/rows');
    expect(api.arrived.map(({ headers }) => headers['x-sign'])).toEqual(['signature-2']);
    // A request that must not be repeated always has a new connection, so it would be late each time.
    opened = 0;
    const auth = sign('sign-secret-1', () => ({ headers: { 'X-Sign': `signature-${String((signed += 1))}` } }));
    const probed = client.use({
      name: 'probe',
      setup: (context) => {
        const endpoint = context.endpoint(api.url, { auth });
        return { send: () => endpoint.request({ route: 'probe', method: 'POST', path: '/rows', query: {} }) };
      },
    });
    await probed.probe.send();
    expect(api.arrived.map(({ headers }) => headers['x-sign'])).toEqual(['signature-2', 'signature-3']);
  });

  test('adds times and numbers that cursors may have as well', async () => {
    const api = await recordingServer((_, nth) => ({
      body: { items: [{ id: nth }] },
      headers: nth === 1 ? { link: '</rows?since=1732624512345&day=20241106T120000Z>; rel="next"' } : {},
    }));
    const client = open().use(
      own(() => ({ headers: { 'X-Time': '1732624512345', 'X-Amz-Date': '20241106T120000Z' } }))({ baseUrl: api.url }),
    );
    expect(await client.own.rows().toArray()).toHaveLength(2);
  });

  test('has its signatures redacted while their responses are on the way, and not for ever', async () => {
    const signatures: string[] = [];
    const api = await server();
    const client = open().use(
      own(() => {
        const signature = hmac(String(signatures.length));
        signatures.push(signature);
        return { headers: { Authorization: `HMAC-SHA256 Credential=key-id, Signature=${signature}` } };
      })({ baseUrl: api.url }),
    );
    const endpoint: { isSecret?: (text: string) => boolean } = {};
    client.use({
      name: 'probe',
      setup: (context) => {
        endpoint.isSecret = context.endpoint(api.url).isSecret;
        return {};
      },
    });
    for (let nth = 0; nth < 60; nth += 1) await client.own.get('/rows');
    const known = signatures.filter((signature) => endpoint.isSecret?.(`{"got":"${signature}"}`));
    expect(known).toEqual(signatures.slice(-50));
  });
});
