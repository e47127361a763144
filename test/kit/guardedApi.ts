import { createHmac } from 'node:crypto';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import {
  bearer,
  bodyKey,
  byLink,
  defineApi,
  header,
  listing,
  login,
  pathKey,
  queryKey,
  sign,
} from '../../packages/core/src/define/index.js';
import { onTestEnd } from '../../scripts/testScope.js';

const known = {
  header: 'canary-header-0011',
  query: 'canary-query-9922',
  path: 'canary-path-8833',
  user: 'canary-user-7744',
  password: 'canary-pass-6655',
  sign: 'canary-sign-5566',
};
const token = 'canary-token-4477';
const hmac = (text: string, key: string): string => createHmac('sha256', key).update(text).digest('hex');

/** An API with secrets of all kinds, on a server that repeats each request in its responses. */
export const guarded = defineApi({
  name: 'guarded',
  auth: [
    header('X-Key', known.header),
    queryKey('key', known.query),
    pathKey('/k-{key}', known.path),
    bearer(
      login({
        request: { path: '/session', auth: [bodyKey('user', known.user), bodyKey('password', known.password)] },
        token: 'id',
      }),
    ),
    sign(known.sign, ({ url }, key) => ({
      headers: { 'X-Sign': hmac(url, key) },
      query: { signature: hmac(`query ${url}`, key) },
    })),
  ],
  rateLimit: false,
  sources: {
    rows: listing({ path: '/rows', rows: 'items', paging: byLink({ at: 'next' }), columns: ['id'] }),
    refused: listing({ path: '/refused', rows: 'items', paging: byLink({ at: 'next' }), columns: ['id'] }),
  },
});

/** Starts the server: three pages, of which a redirect leads to each, and the second is refused with 503 at first. */
export async function startGuardedApi() {
  const signatures = new Set<string>();
  let isDown = true;
  const answer = ({ url = '', headers, rawHeaders }: IncomingMessage, body: string) => {
    const echo = [url, ...rawHeaders, body].join('\n');
    const address = new URL(url, 'http://127.0.0.1');
    if (address.pathname === '/session') {
      const isRight = body === JSON.stringify({ user: known.user, password: known.password });
      return isRight ? { status: 200, document: { id: token } } : { status: 401, document: { echo } };
    }
    const { searchParams, pathname } = address;
    const own = [String(headers['x-sign']), searchParams.get('signature') ?? ''];
    for (const signature of own) if (signature.length > 20) signatures.add(signature);
    const isRight =
      pathname.startsWith(`/k-${known.path}/`) &&
      searchParams.get('key') === known.query &&
      headers['x-key'] === known.header &&
      headers.authorization === `Bearer ${token}` &&
      own.every((text) => text.length === 64);
    const page = Number(searchParams.get('page') ?? 1);
    if (!isRight || page > 3 || pathname.endsWith('/refused')) return { status: 400, document: { message: echo } };
    if (pathname.endsWith('/rows'))
      return { status: 307, location: url.replace('/rows', '/moved'), document: { echo } };
    if (page === 2 && isDown) {
      isDown = false;
      return { status: 503, document: { message: echo } };
    }
    searchParams.set('page', String(page + 1));
    const next = page < 3 ? `${pathname.replace('/moved', '/rows')}?${String(searchParams)}` : null;
    return { status: 200, document: { items: [{ id: page }], next, echo } };
  };
  const server = createServer((request, response) => {
    const parts: string[] = [];
    request.setEncoding('utf8').on('data', (part: string) => parts.push(part));
    request.on('end', () => {
      const { status, location, document } = answer(request, parts.join(''));
      response.writeHead(status, { 'content-type': 'application/json', ...(location && { location }) });
      response.end(JSON.stringify(document));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestEnd(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  return {
    baseUrl: `http://127.0.0.1:${String((server.address() as AddressInfo).port)}`,
    /** All that must not be seen, so far. Of other texts than `canary-…`, there are signatures. */
    secrets: (): readonly string[] => ['canary-', ...signatures],
  };
}
