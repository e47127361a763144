import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { onTestEnd } from '../../../../scripts/testScope.js';
import { createClient, type ClientOptions } from '../../src/index.js';
import { defineApi, type ApiOptions, type Listing } from '../../src/define/index.js';

/** What a server says to one request. */
export interface Said {
  readonly body?: unknown;
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string | string[]>>;
  /** The body as it is sent, instead of JSON. */
  readonly text?: string;
}

/** A request that a server got. */
export interface Asked {
  readonly method: string | undefined;
  readonly headers: IncomingHttpHeaders;
  /** Its JSON; `undefined` without a body, and of a form. */
  readonly body: Readonly<Record<string, unknown>> | undefined;
  /** Its body as it was sent. */
  readonly text: string;
}

/** A server that answers each request as the function says, below `/api`. */
export async function serve(
  say: (url: URL, nth: number, request: Asked) => Said | 'cut',
): Promise<{ baseUrl: string; asked: string[]; requests: Asked[] }> {
  const asked: string[] = [];
  const requests: Asked[] = [];
  const server = createServer((request, response: ServerResponse) => {
    const { url: target = '/', method, headers: sent } = request;
    const url = new URL(target, baseUrl);
    let received = '';
    request.setEncoding('utf8').on('data', (part: string) => (received += part));
    request.on('end', () => {
      asked.push(target.replace(/^\/api/, ''));
      requests.push({
        method,
        headers: sent,
        text: received,
        body:
          sent['content-type'] !== 'application/json' ? undefined : (JSON.parse(received) as Record<string, unknown>),
      });
      const said = say(url, asked.length, requests.at(-1)!);
      if (said === 'cut') return void response.destroy();
      const { body, status = 200, headers = {}, text = JSON.stringify(body) } = said;
      response.writeHead(status, { 'content-type': 'application/json', ...headers });
      response.end(text);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const baseUrl = `http://127.0.0.1:${String((server.address() as AddressInfo).port)}/api`;
  onTestEnd(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  return { baseUrl, asked, requests };
}

/** The one listing of an API, on a client of its own; what else the object has, e.g. a served API, is not used. */
export function openListing<Row extends object, In extends object>(
  items: Listing<Row, In>,
  options: Pick<ApiOptions, 'baseUrl' | 'arrays' | 'auth'> &
    Pick<ClientOptions, 'retry' | 'links'> & { readonly apiKey?: string; readonly onWarning?: (text: string) => void },
): ReturnType<Listing<Row, In>['open']> {
  const { apiKey = 'test-key-1', retry = { retries: 0 }, links, baseUrl, arrays, auth } = options;
  const api = defineApi({ name: 'test', sources: { items } });
  const client = createClient({ apiKey, rateLimit: false, retry, ...(links && { links }) }).use(
    api({ baseUrl, ...(arrays && { arrays }), ...(auth && { auth }) }),
  );
  onTestEnd(() => client.close());
  const { onWarning } = options;
  if (onWarning) client.eventsOf('warning').subscribe(({ message }) => onWarning(message));
  return client.test.items;
}

/** Rows by number, from `from` on. */
export function numbered(count: number, from = 0): { id: number }[] {
  return Array.from({ length: count }, (_, index) => ({ id: from + index }));
}
