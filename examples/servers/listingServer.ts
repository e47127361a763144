// A small local API for the examples' tests: mutable rows, in pages of any shape, with any failure.
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http';

/** A document, with headers of its own. */
export interface Answer {
  /** Default 200. */
  readonly status?: number;
  readonly body: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

/** What a request has besides its address. */
export interface Received {
  readonly method: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

/** Returns the response to a request for some of these rows. */
export type Answering<Row> = (url: URL, rows: readonly Row[], received: Received) => Answer;

/** A local server. */
export interface ListingServer<Row> {
  readonly baseUrl: string;
  readonly rows: Row[];
  readonly requests: URL[];
  /** The same, as `testSource` wants them. */
  readonly sent: { method: string; url: string; body: string; contentType: string | undefined }[];
  /** Requests so far, and how many of them are still open. */
  readonly counts: { made: number; open: number };
  /** How it responds: correctly, by closing the connection, or not at all. */
  answer: 'well' | 'fail' | 'never';
  /** Replaces a response: something else, or the response to another request. */
  instead: (url: URL) => URL | Answer | undefined;
  close(): Promise<void>;
}

export async function startListing<Row>(answering: Answering<Row>, rows: Row[]): Promise<ListingServer<Row>> {
  const server = createServer((request, response) => {
    let text = '';
    request.setEncoding('utf8');
    request.on('data', (chunk: string) => (text += chunk));
    request.on('end', () => answer(request, text, response));
  });
  const answer = (request: IncomingMessage, text: string, response: ServerResponse): void => {
    const url = new URL(request.url ?? '/', listing.baseUrl);
    const { method = 'GET', headers: received } = request;
    listing.requests.push(url);
    listing.sent.push({ method, url: url.pathname + url.search, body: text, contentType: received['content-type'] });
    listing.counts.made += 1;
    listing.counts.open += 1;
    response.once('close', () => (listing.counts.open -= 1));
    const other = listing.instead(url);
    if (listing.answer === 'fail') return void response.destroy();
    if (listing.answer === 'never') return;
    const said =
      other && 'body' in other
        ? other
        : answering(other ?? url, listing.rows, { method, headers: received, body: text });
    response.writeHead(said.status ?? 200, { 'content-type': 'application/json', ...said.headers });
    response.end(JSON.stringify(said.body));
  };
  const port = await new Promise<number>((resolve) => {
    server.listen(0, '127.0.0.1', () => {
      const address = server.address();
      resolve(typeof address === 'object' ? (address?.port ?? 0) : 0);
    });
  });
  const listing: ListingServer<Row> = {
    baseUrl: `http://127.0.0.1:${port}/api`,
    rows,
    requests: [],
    sent: [],
    counts: { made: 0, open: 0 },
    answer: 'well',
    instead: () => undefined,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
  return listing;
}

/** `{ "data": { "items": […], "total": 4213 } }`, by `offset` and `limit`. */
export const byOffsetAndTotal: Answering<unknown> = ({ searchParams }, rows) => {
  const offset = Number(searchParams.get('offset'));
  const items = rows.slice(offset, offset + Number(searchParams.get('limit')));
  return { body: { data: { items, total: rows.length } } };
};

/** `[…]`, and the next page in a `Link` header among other links. */
export const byLinkHeader: Answering<unknown> = (url, rows) => {
  const page = Number(url.searchParams.get('page') ?? 1);
  const size = Number(url.searchParams.get('per_page'));
  const to = (number: number, rel: string): string => {
    const target = new URL(url);
    target.searchParams.set('page', String(number));
    return `<${target.href}>; rel="${rel}"`;
  };
  const links = [to(1, 'first'), ...(page * size < rows.length ? [to(page + 1, 'next')] : [])];
  const headers = { link: links.join(', '), 'x-total-count': String(rows.length) };
  return { body: rows.slice((page - 1) * size, page * size), headers };
};

/** `{ "files": […], "nextPageToken": "…" }`, each omitted if it is empty. */
export const byToken: Answering<unknown> = ({ searchParams }, rows) => {
  const begin = Number(atob(searchParams.get('pageToken') ?? ''));
  const end = begin + Number(searchParams.get('pageSize'));
  const files = rows.slice(begin, end);
  return {
    body: { ...(files.length > 0 && { files }), ...(end < rows.length && { nextPageToken: btoa(String(end)) }) },
  };
};
