import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { onTestEnd } from '../../../../scripts/testScope.js';
import { createClient, defineApi, type ApiOptions, type Listing } from '../../src/index.js';

/** What a server says to one request. */
export interface Said {
  readonly body?: unknown;
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string | string[]>>;
}

/** A server that answers each request as the function says, below `/api`. */
export async function serve(say: (url: URL, nth: number) => Said): Promise<{ baseUrl: string; asked: string[] }> {
  const asked: string[] = [];
  const server = createServer(({ url: target = '/' }, response: ServerResponse) => {
    const url = new URL(target, baseUrl);
    asked.push(target.replace(/^\/api/, ''));
    const { body, status = 200, headers = {} } = say(url, asked.length);
    response.writeHead(status, { 'content-type': 'application/json', ...headers });
    response.end(JSON.stringify(body));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const baseUrl = `http://127.0.0.1:${String((server.address() as AddressInfo).port)}/api`;
  onTestEnd(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  return { baseUrl, asked };
}

/** The one listing of an API, on a client of its own. */
export function openListing<Row extends object, In extends object>(
  items: Listing<Row, In>,
  options: ApiOptions & { readonly apiKey?: string },
): ReturnType<Listing<Row, In>['open']> {
  const { apiKey = 'test-key-1', ...rest } = options;
  const api = defineApi({ name: 'test', sources: { items } });
  const client = createClient({ apiKey, rateLimit: false, retry: { retries: 0 } }).use(api(rest));
  onTestEnd(() => client.close());
  return client.test.items;
}

/** Rows by number, from `from` on. */
export function numbered(count: number, from = 0): { id: number }[] {
  return Array.from({ length: count }, (_, index) => ({ id: from + index }));
}
