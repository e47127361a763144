import { firstValueFrom } from 'rxjs';
import { describe, expect, test } from 'vitest';
import { exportTo, memoryState } from '../../src/index.js';
import {
  type Auth,
  basic,
  bearer,
  bodyKey,
  byLink,
  type Credential,
  defineApi,
  header,
  listing,
  login,
  type LoginOptions,
  noAuth,
  oauth2,
} from '../../src/define/index.js';
import { FakeClock } from '../fakeClock.js';
import { recordingSink } from '../rows/sink/recordingSink.js';
import { limiterByHand } from '../http/limiterByHand.js';
import { caught, clientsWith } from '../http/openClient.js';
import { type Arrived, recordingServer, type RecordingServer, type Reply } from '../http/recordingServer.js';

const user = 'reader-of-tests';
const password = 'pass-w0rd-4411';
const credentials = [bodyKey('username', { env: 'USER_NAME' }), bodyKey('password', { env: 'PASSWORD' })] as const;
const session: LoginOptions = { request: { path: '/session', auth: credentials }, token: 'id' };
const rows = listing({ path: '/rows', rows: 'items', paging: byLink(), columns: ['id'] });
const own = (auth: Auth) => defineApi({ name: 'own', auth, sources: { rows } });

const open = clientsWith({ USER_NAME: user, PASSWORD: password });

const tokenOf = (nth: number): string => `session-token-${String(nth).padStart(4, '0')}`;

/** A server with sessions: it accepts the newest one, if `isValid` does. */
async function sessions(
  answer: (request: Arrived, token: string, logins: number) => Reply = () => ({ body: { items: [{ id: 1 }] } }),
  give: (token: string) => Reply = (token) => ({ body: { id: token } }),
): Promise<RecordingServer & { readonly logins: () => readonly Arrived[] }> {
  let logins = 0;
  const server = await recordingServer((request) => {
    if (request.url === '/session') {
      const given: unknown = JSON.parse(request.body);
      const isRight = JSON.stringify(given) === JSON.stringify({ username: user, password });
      return isRight ? give(tokenOf((logins += 1))) : { status: 401, body: { refused: given } };
    }
    const token = String(request.headers['x-session']);
    return token === tokenOf(logins) ? answer(request, token, logins) : { status: 401, body: { refused: token } };
  });
  return { ...server, logins: () => server.arrived.filter(({ url }) => url === '/session') };
}

describe('R8 a login', () => {
  test('gives the token of all requests, which share it', async () => {
    const server = await sessions();
    const client = open().use(own(header('X-Session', login(session)))({ baseUrl: server.url }));
    await Promise.all(Array.from({ length: 5 }, () => client.own.get('/rows')));
    await client.own.rows().toArray();
    expect(server.arrived).toHaveLength(7);
    expect(server.logins()).toHaveLength(1);
    expect(server.arrived[0]).toMatchObject({ method: 'POST', headers: { 'content-type': 'application/json' } });
  });

  test.each<[string, (token: string) => Reply, Partial<LoginOptions>]>([
    ['deep in the document', (token) => ({ body: { data: [{ 'a.b': token }] } }), { token: "data[0]['a.b']" }],
    [
      'in a header',
      (token) => ({ status: 204, headers: { 'x-auth': token } }),
      { token: ({ headers }) => headers['x-auth'] },
    ],
    [
      'in a cookie',
      (token) => ({ body: {}, headers: { 'set-cookie': `sid=${token}; HttpOnly` } }),
      { token: ({ headers }) => /sid=([^;]+)/.exec(headers['set-cookie'] ?? '')?.[1] },
    ],
  ])('has its token %s', async (_, give, options) => {
    const server = await sessions(undefined, give);
    const client = open().use(own(header('X-Session', login({ ...session, ...options })))({ baseUrl: server.url }));
    expect(await client.own.rows().toArray()).toHaveLength(1);
  });

  test('may be sent elsewhere, with credentials, headers and a body of its own, and may be one of several', async () => {
    const auth = await recordingServer(() => ({ body: { token: 'token-from-elsewhere' } }));
    const server = await recordingServer(() => ({ body: {} }));
    const token = login({
      request: {
        url: `${auth.url}/v1/token`,
        headers: { 'X-Version': '2' },
        body: { scope: 'all' },
        auth: basic({ user: 'me', password: { env: 'PASSWORD' } }),
      },
      token: 'token',
    });
    const client = open().use(own([header('X-Key', 'static-key-77'), bearer(token)])({ baseUrl: server.url }));
    await client.own.get('/rows');
    const pair = Buffer.from(`me:${password}`).toString('base64');
    expect(auth.arrived).toMatchObject([
      { url: '/v1/token', body: '{"scope":"all"}', headers: { authorization: `Basic ${pair}`, 'x-version': '2' } },
    ]);
    expect(auth.arrived[0]?.headers['x-key']).toBeUndefined();
    expect(server.arrived[0]?.headers).toMatchObject({
      authorization: 'Bearer token-from-elsewhere',
      'x-key': 'static-key-77',
    });
  });

  test('is renewed before the token expires, and not earlier', async () => {
    const server = await sessions();
    const clock = new FakeClock();
    const client = open({ clock }).use(
      own(header('X-Session', login({ ...session, lifetime: 600_000 })))({ baseUrl: server.url }),
    );
    await client.own.get('/rows');
    await clock.advance(569_000);
    await client.own.get('/rows');
    expect(server.logins()).toHaveLength(1);
    await clock.advance(2_000);
    await client.own.get('/rows');
    expect(server.logins()).toHaveLength(2);
    expect(server.arrived.filter(({ headers }) => headers['x-session'] !== undefined)).toHaveLength(3);
  });

  test('is awaited by all requests that start when its token has expired', async () => {
    const clock = new FakeClock();
    let isPausing = false;
    const server = await sessions(() => {
      if (!isPausing) return { body: {} };
      isPausing = false;
      return { status: 429, headers: { 'retry-after': '60' }, body: {} };
    });
    const client = open({ clock, rateLimit: { requests: 100, per: 1_000, concurrency: 1 }, retry: { retries: 1 } }).use(
      own(header('X-Session', login({ ...session, lifetime: 20_000 })))({ baseUrl: server.url }),
    );
    await client.own.get('/rows');
    isPausing = true;
    const paused = firstValueFrom(client.eventsOf('paused'));
    const waits: number[] = [];
    client.eventsOf('attempt').subscribe(({ waited }) => waits.push(waited));
    const refused = client.own.get('/rows');
    await paused;
    const waiting = Array.from({ length: 3 }, () => client.own.get('/rows'));
    await clock.advance(60_000);
    await Promise.all([refused, ...waiting]);
    const tokens = server.arrived.map(({ headers }) => headers['x-session']).filter((token) => token !== undefined);
    expect(tokens).toEqual([1, 1, 2, 2, 2, 2].map(tokenOf));
    // Also with a permit that they gave back. The one that logged in waited for that, and not for a permit.
    expect(waits.filter((waited) => waited >= 59_000)).toHaveLength(3);
  });

  test('is renewed in each wait of a redirected request that takes longer than a token lives', async () => {
    const server = await sessions(({ url }) =>
      url === '/rows' ? { status: 307, headers: { location: '/moved' }, body: '' } : { body: {} },
    );
    const clock = new FakeClock();
    const { limiter, grantAfter } = limiterByHand(clock);
    const client = open({ clock }).use(
      own(header('X-Session', login({ ...session, lifetime: 20_000 })))({ baseUrl: server.url, limiter }),
    );
    const request = client.own.get('/rows');
    // The login's permits, and the request's.
    for (const wait of [0, 20_000, 0, 0, 20_000, 0, 0]) await Promise.race([request, grantAfter(wait)]);
    await request;
    const sent = server.arrived.map(({ url, headers }) => [url, headers['x-session']]);
    expect(sent.filter(([url]) => url !== '/session')).toEqual([
      ['/rows', tokenOf(2)],
      ['/moved', tokenOf(3)],
    ]);
  });

  test('may say in its response for how long the token is valid', async () => {
    const server = await sessions(undefined, (id) => ({ body: { id, expires_in: 60 } }));
    const clock = new FakeClock();
    const lifetime: LoginOptions['lifetime'] = ({ at }) => Number(at('expires_in')) * 1000;
    const client = open({ clock }).use(
      own(header('X-Session', login({ ...session, lifetime })))({ baseUrl: server.url }),
    );
    for (const wait of [0, 50_000, 5_000]) {
      await clock.advance(wait);
      await client.own.get('/rows');
    }
    expect(server.logins()).toHaveLength(2);
  });

  test.each([0, 30_000, 60_000])(
    'R1 is renewed once for all requests that a 401 refuses together, %i ms after a login',
    async (age) => {
      let isRefusing = false;
      const server = await sessions((_, __, logins) =>
        isRefusing && logins === 1 ? { status: 401, body: {} } : { body: { items: [] } },
      );
      const clock = new FakeClock();
      const client = open({ clock }).use(own(header('X-Session', login(session)))({ baseUrl: server.url }));
      await client.own.get('/rows');
      isRefusing = true;
      await clock.advance(age);
      await Promise.all(Array.from({ length: 5 }, () => client.own.get('/rows')));
      expect(server.logins()).toHaveLength(2);
    },
  );

  test.each([1, 3])('R1 is renewed as often as sessions end, if each is good for %i requests', async (good) => {
    const served = new Map<string, number>();
    const server = await sessions((_, token) => {
      const nth = (served.get(token) ?? 0) + 1;
      served.set(token, nth);
      return nth <= good ? { body: { items: [] } } : { status: 401, body: {} };
    });
    const client = open({ clock: new FakeClock() }).use(
      own(header('X-Session', login(session)))({ baseUrl: server.url }),
    );
    for (let nth = 0; nth < 12; nth += 1) await client.own.get('/rows');
    expect(server.logins()).toHaveLength(12 / good);
  });

  test('R1 is renewed three times a minute at most for what stays refused, and soon again for a session that ended', async () => {
    const server = await sessions(({ url }) => (url === '/rows' ? { body: { items: [] } } : { status: 401, body: {} }));
    const clock = new FakeClock();
    const client = open({ clock }).use(own(header('X-Session', login(session)))({ baseUrl: server.url }));
    const refused = async (times: number): Promise<void> => {
      for (let nth = 0; nth < times; nth += 1) {
        await client.own.get('/rows');
        await expect(client.own.get('/secret')).rejects.toMatchObject({ details: { status: 401 } });
      }
    };
    await refused(10);
    expect(server.logins()).toHaveLength(1 + 3);
    await clock.advance(60_000);
    await refused(10);
    expect(server.logins()).toHaveLength(1 + 6);
  });

  test('is limited like other requests, by a permit that it takes before a request asks for its own', async () => {
    const starts: number[] = [];
    const server = await sessions(() => ({ body: {} }));
    const limiter = { requests: 1, per: 200, concurrency: 1 };
    const client = open({ rateLimit: limiter }).use(own(header('X-Session', login(session)))({ baseUrl: server.url }));
    const ends = Array.from({ length: 3 }, async () => {
      await client.own.get('/rows');
      starts.push(performance.now());
    });
    await Promise.all(ends);
    expect(server.arrived.map(({ url }) => url)).toEqual(['/session', '/rows', '/rows', '/rows']);
    const [first = 0, , last = 0] = starts;
    expect(last - first).toBeGreaterThan(300);
    expect(client.limiters.get('own')).toMatchObject({ running: 0, queued: 0 });
  });

  test('never blocks the last permit, though tokens live shorter than a request waits for its own', async () => {
    const server = await sessions(() => ({ body: {} }));
    const client = open({ rateLimit: { requests: 1, per: 150, concurrency: 1 } }).use(
      own(header('X-Session', login({ ...session, lifetime: 20 })))({ baseUrl: server.url }),
    );
    await Promise.all([client.own.get('/rows'), client.own.get('/rows')]);
    expect(server.arrived.filter(({ url }) => url === '/rows')).toHaveLength(2);
  });

  test('waits for the limiter without the deadline of the request', async () => {
    const server = await sessions();
    const client = open({
      rateLimit: { requests: 1, per: 700 },
      timeouts: { total: 400, response: 300, connect: 300 },
    }).use(own(header('X-Session', login({ ...session, lifetime: 1_000 })))({ baseUrl: server.url }));
    for (let nth = 0; nth < 3; nth += 1) await client.own.get('/rows');
    expect(server.logins().length).toBeGreaterThan(1);
  });

  test('sends nothing, and shows no secret, if it is refused', async () => {
    const server = await sessions();
    const client = open({ variables: { USER_NAME: user, PASSWORD: 'pass-of-another' } }).use(
      own(header('X-Session', login(session)))({ baseUrl: server.url }),
    );
    const seen: unknown[] = [];
    client.events.subscribe((event) => seen.push(event));
    const error = await caught(client.own.get('/rows'));
    expect(error).toMatchObject({
      code: 'http',
      message:
        'The login of own: the server responded with 401 ("{"refused":{"username":"[hidden]","password":"[hidden]"}}"). Check the credentials of the login.',
    });
    expect(JSON.stringify(seen)).not.toContain('pass-of-another');
    expect(server.arrived.map(({ url }) => url)).toEqual(['/session']);
  });

  test('is retried like any request, and pauses the API if that asks for it', async () => {
    const pauses: unknown[] = [];
    let nth = 0;
    const server = await sessions(
      () => ({ body: {} }),
      (id) => ((nth += 1) === 1 ? { status: 503, body: {} } : { body: { id } }),
    );
    const client = open({ retry: { retries: 1 } }).use(
      own(header('X-Session', login(session)))({ baseUrl: server.url }),
    );
    client.eventsOf('retry', 'request').subscribe((event) => pauses.push(event));
    await client.own.get('/rows');
    expect(server.logins()).toHaveLength(2);
    // Requests for tokens have no events.
    expect(pauses).toMatchObject([{ type: 'request', route: 'own.get' }]);
  });

  test.each<[string, Reply, Partial<LoginOptions>, string]>([
    [
      'no token',
      { body: { error: 'no' } },
      {},
      'The login of own: the server responded with a document of an unexpected shape at id: there is no such field',
    ],
    ['an empty one', { body: { id: '' } }, {}, 'at id: it is empty, and not a token'],
    ['a list', { body: { id: ['secret-in-a-list'] } }, {}, 'at id: it is a list, and not a token'],
    [
      'a web page',
      { body: undefined, headers: { 'content-type': 'text/html' } },
      {},
      'it is missing, and not an object',
    ],
    ['a line break', { body: { id: 'secret\nwith-break' } }, {}, 'The credential of own has a line break'],
    [
      'a function that throws the response',
      { body: { id: 'secret-1234' } },
      {
        token: ({ body }) => {
          throw new Error(JSON.stringify(body));
        },
      },
      'the token function of login() failed',
    ],
    [
      'no lifetime',
      { body: { id: 'secret-1234' } },
      { lifetime: () => Number.NaN },
      'the lifetime function of login() returned no number',
    ],
  ])('with a response that has %s is an error, which quotes nothing', async (_, reply, options, fault) => {
    const server = await recordingServer(() => reply);
    const client = open().use(own(bearer(login({ ...session, ...options })))({ baseUrl: server.url }));
    const error = await caught(client.own.get('/rows'));
    expect(String(error)).toContain(fault);
    expect(String(error)).not.toContain('secret');
    expect(server.arrived).toHaveLength(1);
  });

  test('has a token that nobody sees, and that nothing stores', async () => {
    const server = await sessions(({ headers, url }, _, logins) => {
      if (url.includes('page=2')) return { status: 500, body: { token: headers['x-session'], logins } };
      return { body: { items: [{ id: 1 }] }, headers: { link: '</rows?page=2>; rel="next"' } };
    });
    const seen: unknown[] = [];
    const memory = memoryState();
    const state = { ...memory, save: (name: string, record: object) => memory.save(name, (seen.push(record), record)) };
    const client = open({
      links: [(next) => async (request) => (seen.push(request), next(request))],
    }).use(own(header('X-Session', login(session)))({ baseUrl: server.url }));
    client.events.subscribe((event) => seen.push(event));
    const error = await caught(exportTo(client.own.rows(), recordingSink(), { state, commitEvery: 1 }).run());
    expect(error).toMatchObject({ message: expect.stringContaining('{"token":"[hidden]"') });
    for (const secret of [tokenOf(1), password, user])
      expect(JSON.stringify(seen) + String(error)).not.toContain(secret);
  });

  test('resumes with another token, and not with another account or address', async () => {
    const failing = await recordingServer(({ url }) => {
      if (url.startsWith('/session') || url.startsWith('/other'))
        return { body: { id: `token-${String(Math.random())}` } };
      return url === '/rows'
        ? { body: { items: [{ id: 1 }] }, headers: { link: '</rows?page=2>; rel="next"' } }
        : { status: 500, body: {} };
    });
    const sink = recordingSink();
    const run = async (
      state: ReturnType<typeof memoryState>,
      options: LoginOptions,
      account = user,
    ): Promise<unknown> =>
      caught(
        exportTo(
          open({ variables: { USER_NAME: account, PASSWORD: password } })
            .use(own(header('X-Session', login(options)))({ baseUrl: failing.url }))
            .own.rows(),
          sink,
          { state, commitEvery: 1 },
        ).run(),
      );
    const begun = async () => {
      const state = memoryState();
      await run(state, session);
      return state;
    };
    expect(await run(await begun(), session)).toMatchObject({ code: 'http' });
    expect(await run(await begun(), session, 'another-reader')).toMatchObject({ code: 'checkpoint' });
    const other = { ...session, request: { ...session.request, path: '/other', url: undefined } };
    expect(await run(await begun(), other)).toMatchObject({ code: 'checkpoint' });
  });

  test('names the variables that are not set', async () => {
    const client = open({ variables: {} }).use(
      own(header('X-Session', login(session)))({ baseUrl: 'http://127.0.0.1:1' }),
    );
    await expect(client.own.get('/rows')).rejects.toThrow(
      'own needs its credentials: set the environment variables USER_NAME and PASSWORD.',
    );
  });

  test.each<[string, unknown, string]>([
    ['no address', { ...session, request: { auth: credentials } }, 'needs an address'],
    [
      'two addresses',
      { ...session, request: { path: '/a', url: 'https://a.example', auth: credentials } },
      'needs an address',
    ],
    ['no credentials', { ...session, request: { path: '/a' } }, 'at auth'],
    ['noAuth', { ...session, request: { path: '/a', auth: noAuth } }, 'not noAuth or sharedKey'],
    ['a path that is none', { ...session, token: 'a..b' }, 'is not a path'],
    ['no lifetime', { ...session, lifetime: 0 }, 'above 0'],
    ['a misspelt option', { ...session, lifeTime: 1 }, 'Did you mean lifetime?'],
    [
      'a misspelt option of the request',
      { ...session, request: { ...session.request, methd: 'GET' } },
      'Did you mean method?',
    ],
  ])('is refused with %s', (_, options, fault) => {
    // The compiler refuses some of them.
    expect(() => login(options as LoginOptions)).toThrow(fault);
  });

  test.each<[string, Credential, string]>([
    [
      'above the base URL',
      bearer(login({ ...session, request: { path: '/../x', auth: credentials } })),
      'stay below the base URL',
    ],
    [
      'at an unencrypted address',
      bearer(login({ ...session, request: { url: 'http://a.example/x', auth: credentials } })),
      'login URL of own is not encrypted',
    ],
    [
      'for oauth2',
      // @ts-expect-error: a token server's own secrets are stored ones.
      oauth2({ tokenUrl: 'https://a.example', clientId: 'a', clientSecret: login(session) }),
      "can't come from a login",
    ],
  ])('is refused %s', (_, auth, fault) => {
    expect(() => open().use(own(auth)({ baseUrl: 'https://api.example.com/v1' }))).toThrow(fault);
  });
});
