import { describe, expect, test } from 'vitest';
import { createClient, type ClientEvent, type Link, type RetryOptions } from '../../src/index.js';
import {
  bearer,
  bodyKey,
  byCursor,
  byLink,
  byPage,
  defineApi,
  listing,
  login,
  oauth2,
  onePage,
  queryKey,
  rowOf,
  type Responses,
} from '../../src/define/index.js';
import { onTestEnd } from '../../../../scripts/testScope.js';
import { FakeClock } from '../fakeClock.js';
import { numbered, openListing, serve, type Said } from './servedApi.js';

interface Options {
  /** Of the listing. */
  readonly responses?: Responses;
  readonly ofApi?: Responses;
  readonly retry?: Partial<RetryOptions>;
}

type Answering = (url: URL, nth: number) => Said;

async function open(answering: Answering, { responses, ofApi, retry = {} }: Options = {}) {
  const server = await serve(answering);
  const shared = { rows: 'items', columns: ['id'], version: '1', paging: byPage({ param: 'page', pages: 'pages?' }) };
  const api = defineApi({
    name: 'shop',
    baseUrl: server.baseUrl,
    ...(ofApi && { responses: ofApi }),
    sources: {
      items: listing({ ...shared, path: '/items', ...(responses && { responses }), key: ({ id }) => String(id) }),
      parts: listing({
        ...shared,
        path: '/items',
        query: { of: '{of}' },
        partitions: { of: ['a', 'b'] },
        ...(responses && { responses }),
      }),
      ofEach: listing({
        ...shared,
        each: rowOf({ source: 'items', params: ({ id }) => ({ id: String(id) }) }),
        path: '/items/{id}',
        ...(responses && { responses }),
      }),
    },
  });
  const client = createClient({ apiKey: false, rateLimit: false, retry: { baseDelay: 1, ...retry } }).use(api());
  onTestEnd(() => client.close());
  const events: ClientEvent[] = [];
  client.events.subscribe((event) => events.push(event));
  const warnings = (): string[] => events.flatMap((each) => (each.type === 'warning' ? [each.message] : []));
  return { server, client, shop: client.shop, events, warnings };
}

const page = (...ids: number[]): Said => ({ body: { items: ids.map((id) => ({ id })), pages: 2 } });
/** The nth request gets the nth, and all others the last one. */
const inTurn =
  (...said: readonly Said[]): Answering =>
  (_url, nth) =>
    said[nth - 1] ?? said.at(-1) ?? {};

async function walked(source: { pages(): AsyncIterable<{ items: readonly object[]; isIncomplete?: true }> }) {
  const ids: unknown[] = [];
  let isIncomplete = false;
  for await (const { items, isIncomplete: lacks = false } of source.pages()) {
    ids.push(...items.map((row) => Reflect.get(row, 'id')));
    isIncomplete ||= lacks;
  }
  return { ids, isIncomplete };
}

const failure = (promise: Promise<unknown>): Promise<unknown> =>
  promise.then(
    () => 'no error',
    (error: unknown) => error,
  );

describe('R1 responses', () => {
  test('R1 are asked about once per attempt, whatever the status, with the page', async () => {
    const seen: unknown[] = [];
    const responses: Responses = ({ status, headers, body, page, isFirst }) => {
      seen.push([status, headers['x-id'], body, page, isFirst]);
      return undefined;
    };
    const headers = { 'X-ID': 'a' };
    const said = [
      { status: 503, text: '<p>down' },
      { status: 503, headers },
      page(1),
      { status: 404, body: { why: 'gone' } },
    ];
    const { shop } = await open(inTurn(...said), { responses });
    expect(await failure(shop.items().toArray())).toMatchObject({ code: 'http', status: 404 });
    expect(seen).toEqual([
      [503, undefined, '<p>down', 1, true],
      [503, 'a', undefined, 1, true],
      [200, undefined, { items: [{ id: 1 }], pages: 2 }, 1, true],
      [404, undefined, { why: 'gone' }, 2, false],
    ]);
  });

  test('R1 of a listing are asked before those of its API, which apply to get, too', async () => {
    const ofApi = { 404: 'skip', 418: 'retry' } as const;
    const { shop, server } = await open(inTurn({ status: 418 }, { status: 404 }), { responses: { 404: 'end' }, ofApi });
    expect(await walked(shop.items())).toEqual({ ids: [], isIncomplete: true });
    const other = await open(inTurn({ status: 418 }, { body: { ok: true } }), { ofApi });
    expect(await other.shop.get('/status')).toEqual({ ok: true });
    expect([server.requests.length, other.server.requests.length]).toEqual([2, 2]);
  });

  test('R1 are found by a field of the document before the status', async () => {
    const responses = {
      400: 'retry',
      'error.code=17': 'skip',
      'errors[0].message~TOO many': 'end',
      'ok=false': 'final',
    } as const;
    const said = async (status: number, body: object) =>
      walked((await open(() => ({ status, body }), { responses, retry: { retries: 0 } })).shop.items());
    const row = { id: 1, error: 17, message: 'too many', ok: false };
    expect(await said(200, { items: [row], pages: 1, ok: true, error: null })).toEqual({
      ids: [1],
      isIncomplete: false,
    });
    const ended = { ids: [], isIncomplete: true };
    expect(await said(400, { error: { code: 17 } })).toEqual(ended);
    expect(await said(200, { errors: [{ message: 'Too Many rows' }], ok: false })).toEqual(ended);
    await expect(said(200, { ok: false, why: 'closed' })).rejects.toThrow('{"ok":false,"why":"closed"}');
    await expect(said(400, { error: { code: 171 } })).rejects.toMatchObject({ code: 'http', status: 400 });
  });

  test.each([
    [400, 'page=2&pages=all'],
    [422, 'page=2&pages=all'],
  ])('R11 a final %i shows the query that it answers, without credentials', async (status, query) => {
    const { baseUrl } = await serve(inTurn(page(1), { status, body: { error: 'no' } }));
    const items = listing({
      path: '/items',
      query: { pages: 'all' },
      rows: 'items',
      columns: ['id'],
      paging: byPage({ param: 'page' }),
    });
    const api = defineApi({ name: 'shop', baseUrl, auth: queryKey('key', 'secret-of-the-query'), sources: { items } });
    const client = createClient({ apiKey: false, retry: { retries: 0 } }).use(api());
    onTestEnd(() => client.close());
    const error = await failure(client.shop.items().toArray());
    expect(String(error)).toContain(
      `It was GET /items?${query.split('&').toReversed().join('&')}. That is page 2, at a cursor`,
    );
    expect(String(error)).not.toContain('secret');
  });

  test.each(['end', 'skip', 'expired-cursor', 'final'] as const)('R1 %s is final for get', async (kind) => {
    const { shop, server } = await open(() => ({ status: 503 }), { ofApi: { '5xx': kind } });
    expect(await failure(shop.get('/status'))).toMatchObject({ code: 'http', status: 503 });
    expect(server.requests).toHaveLength(1);
  });

  test.each(['end', 'skip', 'expired-cursor', 'final'] as const)(
    'R1 %s is final for a request of a plugin',
    async (kind) => {
      const { baseUrl, asked } = await serve(() => ({ status: 404 }));
      const client = createClient({ apiKey: false, rateLimit: false }).use({
        name: 'own',
        setup({ endpoint }) {
          const api = endpoint(baseUrl, { responses: { 404: kind } });
          return { get: () => api.request({ route: 'own.get', path: '/', query: {}, responses: { '5xx': 'final' } }) };
        },
      });
      onTestEnd(() => client.close());
      expect(await failure(client.own.get())).toMatchObject({ code: 'http', status: 404 });
      expect(asked).toHaveLength(1);
    },
  );

  test('R1 a status goes before its class, which has all others', async () => {
    const { shop } = await open(inTurn({ status: 404 }), { responses: { '4xx': 'final', 404: 'skip' } });
    expect(await walked(shop.items())).toEqual({ ids: [], isIncomplete: true });
    const last = { body: { items: [{ id: 1 }], pages: 1 } };
    const again = await open(inTurn({ status: 501 }, { status: 505 }, last), { responses: { '5xx': 'retry' } });
    expect(await walked(again.shop.items())).toEqual({ ids: [1], isIncomplete: false });
    const busy = await open(inTurn({ status: 408 }, { status: 425 }, { status: 429 }, last), {
      responses: { '4xx': 'skip' },
    });
    expect(await walked(busy.shop.items())).toEqual({ ids: [1], isIncomplete: false });
  });

  const deep = (levels: number): string => '['.repeat(levels) + ']'.repeat(levels);

  test.each<[string, string, unknown]>([
    ['of 500 levels is a document', deep(500), JSON.parse(deep(500))],
    ['of 501 levels is text', deep(501), deep(501)],
    ['with a number that is too long keeps its digits', '{"a":12345678901234567890}', { a: '12345678901234567890' }],
    ['that is cut is text', '{"a":', '{"a":'],
  ])('R1 a body of an error %s', async (_what, text, body) => {
    const seen: unknown[] = [];
    const responses: Responses = (response) => {
      seen.push(response.body);
      return 'skip';
    };
    const { shop } = await open(() => ({ status: 404, text }), { responses });
    expect(await walked(shop.items())).toEqual({ ids: [], isIncomplete: true });
    expect(seen).toEqual([body]);
  });

  test.each<[unknown, RegExp]>([
    [{ '3xx': 'skip' }, /"3xx" is not a status of 200 to 299 or 400 to 599, '4xx' or '5xx'/],
    [{ 304: 'ok' }, /"304" is not a status/],
    [{ 'error=': 'ok' }, /"error=" is not a status .* nor a field with its value, e.g. 'error.code=busy'/],
    [{ '=busy': 'ok' }, /"=busy" is not a status/],
    [{ 404: 'skpi' }, /404: the kind must be one of ok, end, skip/],
    [{ 404: { kind: 'skip', mesage: 'gone' } }, /404: skip takes no "mesage"\. .*message/],
    [['skip'], /it is a list/],
  ])('R1 a table %j is refused before any request', (responses, message) => {
    const common = { path: '/', rows: '', columns: ['id'], paging: byLink() } as const;
    expect(() => listing({ ...common, responses: responses as Responses })).toThrow(message);
    expect(() => defineApi({ name: 'shop', responses: responses as Responses, sources: {} })).toThrow(message);
  });

  test.each<[string, unknown, RegExp]>([
    ['an unknown kind', 'skpi', /kind must be one of ok, end, skip/],
    ['a promise', Promise.resolve('skip'), /kind must be one of/],
    ['a field of another kind', { kind: 'final', retryAfter: 5 }, /final takes no "retryAfter"/],
    ['a time that is none', { kind: 'retry', retryAfter: -1 }, /retryAfter must be a number of ms/],
  ])('R1 %s is refused', async (_what, said, message) => {
    const { shop, server } = await open(() => page(1), { responses: (() => said) as () => undefined });
    expect(await failure(shop.items().toArray())).toMatchObject({
      code: 'config',
      message: expect.stringMatching(message),
    });
    expect(server.requests).toHaveLength(1);
  });

  test('R1 are asked about a response that a link makes without a request, too', async () => {
    const { baseUrl, asked } = await serve(() => page(1));
    const responses = { 404: 'skip', 410: 'end', 203: 'partial', 409: 'retry' } as const;
    const items = listing({ path: '/items', rows: 'items', columns: ['id'], paging: onePage(), responses });
    const walkOf = (status: number) => {
      const link: Link = () => () =>
        Promise.resolve({ status, headers: {}, attempts: 0, body: { items: [{ id: status }] } });
      return walked(openListing(items, { baseUrl, links: [link] })());
    };
    expect(await walkOf(200)).toEqual({ ids: [200], isIncomplete: false });
    expect(await walkOf(404)).toEqual({ ids: [], isIncomplete: true });
    expect(await walkOf(410)).toEqual({ ids: [], isIncomplete: true });
    expect(await walkOf(203)).toEqual({ ids: [203], isIncomplete: true });
    expect(await failure(walkOf(409))).toMatchObject({ message: expect.stringMatching(/409 .* means retry/) });
    expect(() => items.read({ status: 404 })).toThrow(/404 .* means skip/);
    expect(asked).toEqual([]);
  });

  test('R1 a function that fails is an error, but an outage is still retried', async () => {
    const responses: Responses = () => {
      throw new Error('secret words');
    };
    const { shop } = await open(inTurn({ status: 503, text: 'x' }, page(1)), { responses });
    const error = await failure(shop.items().toArray());
    expect(error).toMatchObject({ code: 'decode', message: expect.stringContaining('`responses` failed') });
    expect(JSON.stringify(error)).not.toContain('secret words');
  });
});

describe('R1 skip', () => {
  test('R1 ends a listing without parents, with a warning, and leaves the walk incomplete', async () => {
    const { shop, warnings } = await open(() => ({ status: 404, body: { why: 'no shop' } }), {
      responses: { 404: 'skip' },
    });
    expect(await walked(shop.items())).toEqual({ ids: [], isIncomplete: true });
    expect(warnings()).toEqual([expect.stringMatching(/^shop\.items: skipped the listing, so its rows .*no shop/)]);
  });

  test('R1 ends one partition of several', async () => {
    const answering: Answering = ({ searchParams }) =>
      searchParams.get('of') === 'a' ? { status: 403 } : { body: { items: [{ id: 5 }], pages: 1 } };
    const { shop, warnings } = await open(answering, { responses: { 403: 'skip' } });
    expect(await walked(shop.parts())).toEqual({ ids: [5], isIncomplete: true });
    expect(warnings()).toEqual([expect.stringContaining('skipped partition 1 of 2')]);
  });

  test('R1 asks for the first page again where a later one is refused', async () => {
    const responses = { 404: 'skip' } as const;
    const gone = await open(inTurn(page(1), { status: 404 }), { responses });
    expect(await walked(gone.shop.items())).toEqual({ ids: [1], isIncomplete: true });
    expect(gone.server.requests).toHaveLength(3);
    const there = await open(inTurn(page(1), { status: 404 }, page(1)), { responses });
    expect(await failure(there.shop.items().toArray())).toMatchObject({ code: 'http', status: 404 });
    expect(there.server.requests).toHaveLength(3);
    expect(there.warnings()).toEqual([]);
  });

  test.each(['skip', 'end'] as const)('R1 (or %s) removes nothing from a watch', async (kind) => {
    let polls = 0;
    const { shop } = await open(
      ({ searchParams }) => {
        if (searchParams.get('page') === '2') return { body: { items: [{ id: 2 }], pages: 2 } };
        polls += 1;
        return polls === 2 ? { status: 404 } : page(1);
      },
      { responses: { 404: kind } },
    );
    const types: string[] = [];
    await shop.items
      .watch({}, { every: 1, polls: 3, holdAbove: 1, confirmations: 1 })
      .forEach(({ type }) => void types.push(type));
    expect(types).toEqual(['initial', 'initial']);
  });
});

describe('R1 end', () => {
  test('R1 of a later page ends a complete walk, and keeps the rows of a success response', async () => {
    const responses: Responses = ({ status, body }) =>
      status === 404 || JSON.stringify(body).includes('last') ? 'end' : undefined;
    const by404 = await open(inTurn(page(1), { status: 404 }), { responses });
    expect(await walked(by404.shop.items())).toEqual({ ids: [1], isIncomplete: false });
    const withRows = await open(inTurn(page(1), { body: { items: [{ id: 2 }], pages: 9, last: true } }), { responses });
    expect(await walked(withRows.shop.items())).toEqual({ ids: [1, 2], isIncomplete: false });
    const without = await open(inTurn(page(1), { body: { last: true } }), { responses });
    expect(await walked(without.shop.items())).toEqual({ ids: [1], isIncomplete: false });
  });

  test('R1 of a first page leaves the walk incomplete, with a warning', async () => {
    const { shop, warnings } = await open(() => ({ status: 404 }), { responses: { 404: 'end' } });
    expect(await walked(shop.items())).toEqual({ ids: [], isIncomplete: true });
    expect(warnings()).toEqual([expect.stringContaining('there is no first page of the listing')]);
  });
});

describe('R1 the other kinds', () => {
  test('R1 retry and rate-limited wait as they say', async () => {
    const responses: Responses = ({ status }) =>
      status === 409
        ? { kind: 'retry', retryAfter: 3 }
        : status === 420
          ? { kind: 'rate-limited', retryAfter: 4 }
          : undefined;
    const { shop, events } = await open(inTurn({ status: 409 }, { status: 420 }, { body: { items: [], pages: 1 } }), {
      responses,
    });
    expect(await walked(shop.items())).toEqual({ ids: [], isIncomplete: false });
    expect(events.flatMap((each) => (each.type === 'retry' ? [each.delay] : []))).toEqual([3, 4]);
    expect(events.flatMap((each) => (each.type === 'paused' ? [each.for] : []))).toEqual([4]);
  });

  test('R1 ok with a pause lets all requests wait', async () => {
    const responses: Responses = ({ body, isFirst }) =>
      isFirst && body !== undefined ? { kind: 'ok', pause: 7 } : undefined;
    const { shop, events } = await open(inTurn(page(1), page(2)), { responses });
    expect(await walked(shop.items())).toEqual({ ids: [1, 2], isIncomplete: false });
    expect(events.flatMap((each) => (each.type === 'paused' ? [each.for] : []))).toEqual([7]);
  });

  test('R1 an expired cursor can be walked again, and final is not', async () => {
    const expiring = async (status: number, responses: Responses) => {
      const { baseUrl } = await serve(inTurn({ body: { items: [{ id: 1 }], next: 'b' } }, { status }));
      const items = listing({
        path: '/items',
        rows: 'items',
        columns: ['id'],
        paging: byCursor({ param: 'after', at: 'next?' }),
        responses,
      });
      const client = createClient({ apiKey: false, retry: { retries: 0 } }).use(
        defineApi({ name: 'shop', baseUrl, sources: { items } })(),
      );
      onTestEnd(() => client.close());
      return failure(client.shop.items().toArray());
    };
    expect(await expiring(400, { 400: 'expired-cursor' })).toMatchObject({ code: 'cursor-refused' });
    expect(await expiring(410, {})).toMatchObject({ code: 'cursor-refused' });
    expect(await expiring(410, { 410: 'final' })).toMatchObject({ code: 'http', status: 410 });
  });

  test('R1 partial marks the walk as incomplete', async () => {
    const { shop } = await open(() => ({ body: { items: [{ id: 1 }], pages: 1 } }), {
      responses: () => ({ kind: 'partial', message: 'a shard is down' }),
    });
    expect(await walked(shop.items())).toEqual({ ids: [1], isIncomplete: true });
  });
});

describe('R1 without responses', () => {
  test.each([204, 205])('R1 %i is a page without rows', async (status) => {
    const { shop } = await open(() => ({ status, text: '' }));
    expect(await walked(shop.items())).toEqual({ ids: [], isIncomplete: false });
    expect(await shop.get('/status')).toBeNull();
  });

  test('R1 a 205 that has rows in spite of its status is a page of them', async () => {
    const { shop } = await open(() => ({ status: 205, body: { items: [{ id: 1 }], pages: 1 } }));
    expect(await walked(shop.items())).toEqual({ ids: [1], isIncomplete: false });
  });

  test('R1 a 204 has no rows on a later page that nothing announced, either, and may have a header that leads on', async () => {
    const later = await open(inTurn({ body: { items: [{ id: 1 }] } }, { status: 204, text: '' }));
    expect(await walked(later.shop.items())).toEqual({ ids: [1], isIncomplete: false });
    const empty: Said = { status: 204, text: '', headers: { link: '</api/items?page=2>; rel="next"' } };
    const { baseUrl } = await serve(inTurn(empty, { body: { items: [{ id: 2 }] } }));
    const items = listing({ path: '/items', rows: 'items', columns: ['id'], paging: byLink() });
    const client = createClient({ apiKey: false }).use(defineApi({ name: 'shop', baseUrl, sources: { items } })());
    onTestEnd(() => client.close());
    expect(await walked(client.shop.items())).toEqual({ ids: [2], isIncomplete: false });
  });

  test('R1 an empty 200 is not', async () => {
    const { shop } = await open(() => ({ text: '' }), { retry: { retries: 1 } });
    expect(await failure(shop.items().toArray())).toMatchObject({ code: 'decode' });
  });

  test.each([403, 404, 409, 423])('R1 Retry-After of a %i is obeyed three times', async (status) => {
    const wait = { status, headers: { 'retry-after': '0' } };
    const { shop, server } = await open(inTurn(wait, wait, wait, { body: { items: [{ id: 1 }], pages: 1 } }));
    expect(await walked(shop.items())).toEqual({ ids: [1], isIncomplete: false });
    const never = await open(() => wait);
    expect(await failure(never.shop.items().toArray())).toMatchObject({ code: 'http', status });
    expect([server.requests.length, never.server.requests.length]).toEqual([4, 4]);
  });

  test('R1 Retry-After of a 409 is not, if the request may have changed something', async () => {
    const { baseUrl, asked } = await serve(() => ({ status: 409, headers: { 'retry-after': '0' } }));
    const client = createClient({ apiKey: false, rateLimit: false }).use({
      name: 'own',
      setup: ({ endpoint }) => ({
        add: () => endpoint(baseUrl).request({ route: 'own.add', path: '/', query: {}, method: 'POST', body: {} }),
      }),
    });
    onTestEnd(() => client.close());
    expect(await failure(client.own.add())).toMatchObject({ code: 'http', status: 409 });
    expect(asked).toHaveLength(1);
  });

  test.each([401, 407, 501, 505])('R1 Retry-After of a %i is not', async (status) => {
    const { shop, server } = await open(() => ({ status, headers: { 'retry-after': '0' } }));
    expect(await failure(shop.items().toArray())).toMatchObject({ code: 'http', status });
    expect(server.requests).toHaveLength(1);
  });

  test.each([500, 502, 509, 520, 599])('R1 %i is temporary', async (status) => {
    const { shop } = await open(inTurn({ status }, { body: { items: [{ id: 3 }], pages: 1 } }));
    expect(await walked(shop.items())).toEqual({ ids: [3], isIncomplete: false });
  });
});

describe('R1 renew', () => {
  test('R1 a status of the definition renews the token, as 401 does', async () => {
    const { baseUrl } = await serve(inTurn({ status: 419 }, { body: { items: [{ id: 1 }], pages: 1 } }));
    const reasons: string[] = [];
    const token = (reason: string): string => `token-of-${String(reasons.push(reason))}`;
    const items = listing({
      path: '/items',
      rows: 'items',
      columns: ['id'],
      paging: byPage({ param: 'page', pages: 'pages?' }),
    });
    const api = defineApi({
      name: 'shop',
      baseUrl,
      auth: bearer(token),
      responses: { 419: 'renew' },
      sources: { items },
    });
    const client = createClient({ apiKey: false }).use(api());
    onTestEnd(() => client.close());
    expect(await client.shop.items().toArray()).toEqual([{ id: 1 }]);
    expect(reasons).toEqual(['first', 'refused']);
  });

  const paging = byPage({ param: 'page', pages: 'pages' });
  const parents = listing({ path: '/parents', rows: 'items', columns: ['id'], key: ({ id }) => Number(id), paging });
  const children = (responses: Responses) =>
    listing({
      each: rowOf({ source: 'parents', params: ({ id }) => ({ id: String(id) }) }),
      path: '/parents/{id}/rows',
      rows: 'items',
      columns: ['id'],
      version: '1',
      paging,
      responses,
    });

  /** Thirty parents, each of which answers with a status: by its number, and by how often somebody logged in. 503 lasts. */
  async function openParents(
    statusOf: (parent: number, logins: number) => number,
    how: 'login' | 'oauth2' | 'function',
    refused: 'skip' | 'end' = 'skip',
  ) {
    let logins = 0;
    const { baseUrl } = await serve(({ pathname }) => {
      if (pathname === '/api/token')
        return { body: { access_token: `token-of-${(logins += 1)}`, token_type: 'bearer' } };
      if (pathname === '/api/parents') return { body: { items: numbered(30), pages: 1 } };
      const id = Number(/(\d+)\/rows$/.exec(pathname)?.[1]);
      const status = statusOf(id, logins);
      const headers = status === 503 ? { 'retry-after': '61' } : {};
      return { status, headers, body: { items: [{ id }], pages: 1 } };
    });
    const auth = {
      login: bearer(
        login({ request: { path: '/token', auth: bodyKey('password', { env: 'KEY' }) }, token: 'access_token' }),
      ),
      oauth2: oauth2({ tokenUrl: `${baseUrl}/token`, clientId: 'a', clientSecret: { env: 'KEY' } }),
      function: bearer(() => `token-of-${(logins += 1)}`),
    }[how];
    const responses = { 401: refused, 419: 'renew' } as const;
    const api = defineApi({ name: 'shop', baseUrl, auth, sources: { parents, children: children(responses) } });
    const clock = new FakeClock();
    const retry = { for: Infinity };
    const client = createClient({ apiKey: false, rateLimit: false, retry, variables: { KEY: 'secret-1' }, clock }).use(
      api(),
    );
    onTestEnd(() => client.close());
    return { client, source: client.shop.children(), clock, logins: () => logins };
  }

  test.each([
    ['login', 2],
    ['oauth2', 2],
    ['function', 2],
  ] as const)(
    'R1 thirty forbidden parents of a %s make no more than %i logins',
    { tags: ['slow'] },
    async (how, max) => {
      const { source, logins } = await openParents(() => 401, how);
      expect(await walked(source)).toEqual({ ids: [], isIncomplete: true });
      expect(logins()).toBe(max);
    },
  );

  test.each([
    ['login', 'skip'],
    ['oauth2', 'skip'],
    ['function', 'skip'],
    ['login', 'end'],
  ] as const)(
    'R1 a token of a %s that expires between parents is renewed, and none of them is a case for %s',
    async (how, refused) => {
      const say = (id: number, made: number): number => (id >= 15 && made < 2 ? 401 : 200);
      const { source, clock, logins } = await openParents(say, how, refused);
      const ids: unknown[] = [];
      for await (const { items, isIncomplete } of source.pages({ concurrency: 1, prefetch: 0 })) {
        expect(isIncomplete).toBeUndefined();
        ids.push(...items.map((row) => Reflect.get(row, 'id')));
        if (ids.length === 14) await clock.advance(61_000);
      }
      expect(ids).toEqual(numbered(30).map(({ id }) => id));
      expect(logins()).toBe(2);
    },
  );

  test.each(['login', 'oauth2', 'function'] as const)(
    'A1 a token of a %s is renewed whenever it expires while a request is retried',
    async (how) => {
      const statuses: number[] = [];
      const scripted = [503, 401, 503, 401, 503, 401];
      const next = (): number => {
        statuses.push(scripted[statuses.length] ?? 200);
        return statuses.at(-1) ?? 200;
      };
      const { client, clock, logins } = await openParents(next, how);
      const response = client.shop.get('/parents/1/rows');
      for (let outages = 0; outages < 3; outages += 1) {
        await Promise.race([response, clock.asked(61_000)]);
        await clock.advance(61_000);
      }
      await expect(response).resolves.toMatchObject({ items: [{ id: 1 }] });
      expect(statuses).toEqual([...scripted, 200]);
      expect(logins()).toBe(4);
    },
  );

  test.each(['login', 'oauth2'] as const)('R1 a token of a %s that has worked for nothing is not', async (how) => {
    const { client, clock, logins } = await openParents(() => 419, how);
    for (let nth = 0; nth < 3; nth += 1) {
      expect(await failure(client.shop.get('/parents/1/rows'))).toMatchObject({ code: 'http', status: 419 });
      await clock.advance(61_000);
    }
    expect(logins()).toBe(1);
  });

  test.each(['login', 'oauth2'] as const)(
    'R1 a %s that answers 404 skips no parent, and nobody is asked about it',
    async (how) => {
      const seen: number[] = [];
      const { baseUrl } = await serve(({ pathname }) => {
        if (pathname === '/api/token') return { status: 404, body: {} };
        return { body: { items: [{ id: 1 }], pages: 1 } };
      });
      const auth = {
        login: bearer(
          login({ request: { path: '/token', auth: bodyKey('password', { env: 'KEY' }) }, token: 'access_token' }),
        ),
        oauth2: oauth2({ tokenUrl: `${baseUrl}/token`, clientId: 'a', clientSecret: { env: 'KEY' } }),
      }[how];
      const responses: Responses = ({ status }) => {
        seen.push(status);
        return 'skip';
      };
      const api = defineApi({
        name: 'shop',
        baseUrl,
        auth,
        responses,
        sources: { parents, children: children(responses) },
      });
      const client = createClient({ apiKey: false, variables: { KEY: 'secret-1' }, retry: { retries: 0 } }).use(api());
      onTestEnd(() => client.close());
      expect(await failure(client.shop.children().toArray())).toMatchObject({ code: 'http', status: 404 });
      expect(seen).toEqual([]);
    },
  );
});
