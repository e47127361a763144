import { createServer, type IncomingHttpHeaders } from 'node:http';
import { text } from 'node:stream/consumers';
import type { Answering, SeenRequests, SentRequest } from './sourceFixture.js';

/** A request, as an API of {@link serveListing} receives it. */
export interface ReceivedRequest<Row> {
  readonly method: string;
  readonly url: URL;
  readonly headers: IncomingHttpHeaders;
  /** Empty without a body. */
  readonly body: string;
  /** The rows of the API at this moment, in the order of its listing. */
  readonly rows: readonly Row[];
  /**
   * Returns how many rows a page may have if so many are requested. Without it, the suite cannot make the API allow
   * fewer, and skips the check.
   *
   * @param requested a number, or its text
   */
  readonly limit: (requested: unknown) => number;
}

/** A response of an API of {@link serveListing}. */
export interface ServedResponse {
  /** Default 200. */
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string | string[]>>;
  /** A text is sent as it is, e.g. CSV; anything else as JSON. Default: none. */
  readonly body?: unknown;
}

/** A local API. Spread into a fixture, it leaves only `source` and `dispose` to be written. */
export interface ServedListing<Row> {
  readonly baseUrl: string;
  /** May be changed between requests. */
  readonly rows: Row[];
  /** The requests so far, for the fixture. */
  requests(): Required<SeenRequests>;
  /** How it answers from now on. */
  answer(how: Answering): void;
  /** Closes it and its connections. */
  close(): Promise<void>;
}

type Received<Row> = Omit<ReceivedRequest<Row>, 'rows' | 'limit'>;

const maintenance = '<html><head><title>Back soon</title></head><body>We are down for maintenance.</body></html>';

/** Rows that `small-pages` allows: to so many, servers reduce larger pages. */
const smallPage = 10;

/**
 * Serves rows on 127.0.0.1, as an API does whose responses a function makes, for {@link testSource}. The suite tells it to
 * fail, to allow fewer rows, to repeat a page, and so on.
 *
 * @example
 * const coins = Array.from({ length: 50 }, (_, id) => ({ id }));
 * const api = await serveListing(coins, ({ url: { searchParams }, rows, limit }) => {
 *   const offset = Number(searchParams.get('offset'));
 *   return { body: { items: rows.slice(offset, offset + limit(searchParams.get('limit'))), total: rows.length } };
 * });
 */
export async function serveListing<Row>(
  rows: Row[],
  respond: (request: ReceivedRequest<Row>) => ServedResponse,
): Promise<ServedListing<Row>> {
  const sent: SentRequest[] = [];
  let open = 0;
  let how: Answering = 'well';
  let last: Received<Row> | undefined;
  const responseTo = (received: Received<Row>): ServedResponse => {
    if (how === 'fail') return { status: 403, body: { message: 'This API was told to fail.' } };
    if (how === 'html') {
      how = 'well';
      return { headers: { 'content-type': 'text/html' }, body: maintenance };
    }
    if (how !== 'same-page') last = received;
    const max = how === 'small-pages' ? smallPage : Infinity;
    return respond({
      ...(last ?? received),
      rows: how === 'first-row-gone' ? rows.slice(1) : rows,
      limit: (requested) => Math.min(Number(requested), max),
    });
  };
  const server = createServer((request, response) => {
    open += 1;
    response.once('close', () => (open -= 1));
    const { method = 'GET', url = '/', headers } = request;
    const at = sent.push({ method, url, contentType: headers['content-type'] }) - 1;
    text(request)
      .then((body) => {
        sent[at] = { method, url, body, contentType: headers['content-type'] };
        const said = responseTo({ method, url: new URL(url, baseUrl), headers, body });
        // The function itself may have said so.
        if (how === 'never') return;
        response.writeHead(said.status ?? 200, { 'content-type': 'application/json', ...said.headers });
        response.end(typeof said.body === 'string' ? said.body : JSON.stringify(said.body));
      })
      // A function that throws has no response to this request. One that was cancelled has nobody to tell.
      .catch((error: unknown) => response.headersSent || response.writeHead(500).end(String(error)));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  const baseUrl = `http://127.0.0.1:${typeof address === 'object' ? String(address?.port) : ''}`;
  return {
    baseUrl,
    rows,
    requests: () => ({ made: sent.length, open, sent }),
    answer: (answering) => {
      how = answering;
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
