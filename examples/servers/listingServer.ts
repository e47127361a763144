// A small local API for the examples' tests: mutable rows, in pages of any shape, with any failure.
import {
  serveListing,
  type Answering as How,
  type ReceivedRequest,
  type SentRequest,
  type ServedResponse,
} from '@sluice/testing';

/** A document, with headers of its own. */
export type Answer = ServedResponse;

/** What a request has besides its address. */
export type Received = Pick<ReceivedRequest<unknown>, 'method' | 'headers' | 'body' | 'limit'>;

/** Returns the response to a request for some of these rows. */
export type Answering<Row> = (url: URL, rows: readonly Row[], received: Received) => Answer;

/** A local server. */
export interface ListingServer<Row> {
  readonly baseUrl: string;
  readonly rows: Row[];
  readonly requests: readonly URL[];
  /** The same, as `testSource` wants them. */
  readonly sent: readonly SentRequest[];
  /** Requests so far, and how many of them are still open. */
  readonly counts: { readonly made: number; readonly open: number };
  /** How it responds from the next request on. */
  answer: How;
  /** Replaces a response: something else, or the response to another request. */
  instead: (url: URL) => URL | Answer | undefined;
  close(): Promise<void>;
}

export async function startListing<Row>(answering: Answering<Row>, rows: Row[]): Promise<ListingServer<Row>> {
  const api = await serveListing(rows, (request) => {
    const other = listing.instead(request.url);
    if (other && !(other instanceof URL)) return other;
    return answering(other ?? request.url, request.rows, request);
  });
  let how: How = 'well';
  const listing: ListingServer<Row> = {
    baseUrl: `${api.baseUrl}/api`,
    rows,
    get requests() {
      return api.requests().sent.map(({ url }) => new URL(url, api.baseUrl));
    },
    get sent() {
      return api.requests().sent;
    },
    get counts() {
      return api.requests();
    },
    get answer() {
      return how;
    },
    set answer(answer) {
      how = answer;
      api.answer(answer);
    },
    instead: () => undefined,
    close: () => api.close(),
  };
  return listing;
}

/** `{ "data": { "items": […], "total": 4213 } }`, by `offset` and `limit`. */
export const byOffsetAndTotal: Answering<unknown> = ({ searchParams }, rows, { limit }) => {
  const offset = Number(searchParams.get('offset'));
  const items = rows.slice(offset, offset + limit(searchParams.get('limit')));
  return { body: { data: { items, total: rows.length } } };
};

/** `[…]`, and the next page in a `Link` header among other links. */
export const byLinkHeader: Answering<unknown> = (url, rows, { limit }) => {
  const page = Number(url.searchParams.get('page') ?? 1);
  const size = limit(url.searchParams.get('per_page'));
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
export const byToken: Answering<unknown> = ({ searchParams }, rows, { limit }) => {
  const begin = Number(atob(searchParams.get('pageToken') ?? ''));
  const end = begin + limit(searchParams.get('pageSize'));
  const files = rows.slice(begin, end);
  return {
    body: { ...(files.length > 0 && { files }), ...(end < rows.length && { nextPageToken: btoa(String(end)) }) },
  };
};
