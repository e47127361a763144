import { describe, expect, test } from 'vitest';
import { createAdapter as createFetchAdapter } from '../../src/http/adapter/fetchAdapter.js';
import { createAdapter as createNodeAdapter } from '../../src/http/adapter/nodeAdapter.js';
import { createClient, UnexpectedRedirectError } from '../../src/index.js';
import { byLink, defineApi, listing, noAuth, pathKey, queryKey } from '../../src/define/index.js';
import { serve } from '../define/servedApi.js';
import { canary } from './canary.js';
import { openTransport } from './openTransport.js';
import { answer, ok, startServer } from './scriptedServer.js';

const moved = (location: string, status = 301) => answer(status, '', { location });

describe.each([
  ['node:http', createNodeAdapter],
  ['fetch', createFetchAdapter],
])('over %s', (_name, createAdapter) => {
  test.each([301, 302, 303, 307, 308])(
    'R9 T1 a GET request follows a redirect (%d) below its base URL, with the key',
    async (status) => {
      const server = await startServer(moved('/api/v2/things', status), ok());
      const transport = openTransport(`${server.url}/api`, { createAdapter });
      const { body, attempts, redirectedTo } = await transport.get();
      expect({ body, attempts, redirectedTo }).toEqual({
        body: { fine: true },
        attempts: 1,
        redirectedTo: `${server.url}/api/v2/things`,
      });
      expect(server.requests.map(({ url, method, headers }) => [method, url, headers['x-api-key']])).toEqual([
        ['GET', '/api/things', canary],
        ['GET', '/api/v2/things', canary],
      ]);
    },
  );

  test('R9 each hop takes a permit of the limiter', async () => {
    const server = await startServer(moved('/a'), moved('/b'), ok());
    let permits = 0;
    const transport = openTransport(server.url, {
      createAdapter,
      limiter: () => ({
        acquire: () => {
          permits += 1;
          return Promise.resolve({ release: () => undefined });
        },
        pause: () => undefined,
        state: { queued: 0, running: 0, pausedFor: 0 },
        close: () => Promise.resolve(),
      }),
    });
    await transport.get();
    expect(permits).toBe(3);
  });

  test('R9 five redirects are followed, and not a sixth', async () => {
    const hops = Array.from({ length: 5 }, (_, nth) => moved(`/hop-${nth}`));
    const server = await startServer(...hops, ok());
    expect((await openTransport(server.url, { createAdapter }).get()).body).toEqual({ fine: true });
    const endless = await startServer(moved('/things'));
    const error: unknown = await openTransport(endless.url, { createAdapter })
      .get()
      .catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({
      code: 'unexpected-redirect',
      message: expect.stringContaining('redirected 5 times before'),
    });
    expect(endless.requests).toHaveLength(6);
  });

  test.each([
    ['has no query', '/moved'],
    ['has another value', '/moved?page=1&owner=a&owner=b'],
    ['lacks one of two values', '/moved?page=3&owner=a'],
  ])('R9 a redirect whose query %s is refused: page 3 would become page 1', async (_what, location) => {
    const server = await startServer(moved(location), ok());
    const got = openTransport(server.url, { createAdapter }).get({
      query: { page: 3, owner: ['a', 'b'] },
      arrays: 'repeat',
    });
    await expect(got).rejects.toMatchObject({
      code: 'unexpected-redirect',
      message: expect.stringContaining('its query lacks parameters'),
    });
    expect(server.requests).toHaveLength(1);
  });

  test('R9 a redirect may write the query in another way, and add to it', async () => {
    const server = await startServer(moved('/moved?v=2&q=a%20b&page=3'), ok());
    await openTransport(server.url, { createAdapter }).get({ query: { page: 3, q: 'a b' } });
    expect(server.requests[1]?.url).toBe('/moved?v=2&q=a%20b&page=3');
  });

  test('R9 a retry after a redirect begins with the address of the request', async () => {
    const server = await startServer(moved('/once'), answer(503), moved('/twice'), ok());
    const { attempts } = await openTransport(server.url, { createAdapter }).get();
    expect(attempts).toBe(2);
    expect(server.requests.map(({ url }) => url)).toEqual(['/things', '/once', '/things', '/twice']);
  });

  test.each([
    ['out of the base URL', '/apiary/things'],
    ['above it', '/api/../secret'],
    ['above it, encoded', '/api/%2e%2e%2fsecret'],
    ['above it, encoded twice', '/api/a/%252e%252e/secret'],
    ['to another scheme', 'javascript:alert(1)'],
    ['to an address with a password', 'http://a:b@127.0.0.1/api/x'],
    ['to nowhere', 'http://['],
    ['to an address with the key', `/api/${encodeURIComponent(canary)}`],
  ])('T1 a redirect %s is not followed', async (_where, location) => {
    const server = await startServer(moved(location), ok());
    await expect(openTransport(`${server.url}/api`, { createAdapter }).get()).rejects.toBeInstanceOf(
      UnexpectedRedirectError,
    );
    expect(server.requests).toHaveLength(1);
  });

  test('R9 T1 a redirect of a POST request is not followed', async () => {
    const server = await startServer(moved('/moved', 308), ok());
    const got = openTransport(server.url, { createAdapter }).get({ method: 'POST', body: {} });
    await expect(got).rejects.toMatchObject({
      code: 'unexpected-redirect',
      message: expect.stringContaining('only a GET request'),
    });
    expect(server.requests).toHaveLength(1);
  });
});

test('R9 T1 a key in the query is added to each hop, once, and not taken from the server', async () => {
  const { baseUrl, asked } = await serve((url) =>
    url.pathname === '/api/old'
      ? { status: 301, headers: { location: `/api/new?key=${url.searchParams.get('key') ?? ''}&page=1` } }
      : { body: [] },
  );
  const api = defineApi({
    name: 'test',
    auth: queryKey('key', { env: 'TEST_KEY' }),
    sources: { items: listing({ path: '/old', query: { page: 1 }, paging: byLink(), rows: '', columns: ['id'] }) },
  });
  await using client = createClient({ apiKey: false, rateLimit: false }).use(
    api({ baseUrl, auth: queryKey('key', 'k3y-of-the-test') }),
  );
  for await (const row of client.test.items()) expect(row).toBeUndefined();
  expect(asked).toEqual(['/old?page=1&key=k3y-of-the-test', '/new?page=1&key=k3y-of-the-test']);
});

test('R9 T1 a key in the path is added to each hop, once', async () => {
  const { baseUrl, asked } = await serve((url) =>
    url.pathname.endsWith('/old')
      ? { status: 302, headers: { location: url.pathname.replace('/old', '/new') } }
      : { body: { fine: true } },
  );
  const old = listing({ path: '/old', paging: byLink(), rows: '', columns: ['id'] });
  const api = defineApi({ name: 'test', auth: pathKey('/bot{key}', 'k3y-of-the-test'), sources: { old } });
  await using client = createClient({ apiKey: false, rateLimit: false }).use(api({ baseUrl }));
  expect(await client.test.get('/old')).toEqual({ fine: true });
  expect(asked).toEqual(['/botk3y-of-the-test/old', '/botk3y-of-the-test/new']);
});

test('R9 a listing that moved is walked, links are relative to where it is, and a warning says it once', async () => {
  const { baseUrl, asked } = await serve((url) => {
    if (url.pathname === '/api/repos/old/issues')
      return { status: 301, headers: { location: `/api/repositories/1/issues${url.search}` } };
    const isLast = url.searchParams.get('page') === '2';
    return { body: [{ id: isLast ? 2 : 1 }], headers: isLast ? {} : { link: '<?page=2>; rel="next"' } };
  });
  const warnings: string[] = [];
  const api = defineApi({
    name: 'test',
    auth: noAuth,
    sources: { items: listing({ path: '/repos/old/issues', paging: byLink(), rows: '', columns: ['id'] }) },
  });
  await using client = createClient({ apiKey: false, rateLimit: false }).use(api({ baseUrl }));
  client.events.subscribe((event) => {
    if (event.type === 'warning') warnings.push(event.message);
  });
  const rows: unknown[] = [];
  for await (const row of client.test.items()) rows.push(row);
  expect(rows).toEqual([{ id: 1 }, { id: 2 }]);
  expect(asked).toEqual(['/repos/old/issues', '/repositories/1/issues', '/repositories/1/issues?page=2']);
  expect(warnings).toEqual([expect.stringContaining('redirects requests to /repositories/1/issues')]);
});
