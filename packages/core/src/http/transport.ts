import type { Query, ArrayFormat } from './query.js';
import type { RequestDetails } from './requestDetails.js';

/** One request to an API. The transport retries it, so a link sees it once. */
export interface TransportRequest extends RequestDetails {
  /** A name for events, costs and errors, e.g. `aptos.nfts`. */
  readonly route: string;
  /** The API's base URL, as the user gave it. Only its origin gets the key. */
  readonly baseUrl: string;
  /** The path below the base URL, with a leading slash. An absolute URL is refused. */
  readonly path: string;
  readonly query: Query;
  /** A query without question mark, sent byte for byte before `query`, e.g. that of a next page's address. Default: none. */
  readonly rawQuery?: string;
  /** Default: `brackets`. */
  readonly arrays?: ArrayFormat;
  /** Cancels the request at any stage: the promise rejects with `signal.reason`. */
  readonly signal?: AbortSignal;
}

/** A successful response; or 304, whose body is `null`, to a request with `If-None-Match` or `If-Modified-Since`. */
export interface TransportResponse {
  readonly status: number;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  /**
   * The decoded JSON document, or the list of documents of JSON Lines; `null` with 204 and 205. A number that `JSON.parse`
   * would change is its text: an integer beyond 2^53, or a number with more digits than a double holds.
   */
  readonly body: unknown;
  /** Attempts made, at least 1. */
  readonly attempts: number;
  /** The URL that redirects led to, below the base URL; absent without one. */
  readonly redirectedTo?: string;
}

/** Returns the response to a request, or rejects with a `SluiceError`. */
export type Transport = (request: TransportRequest) => Promise<TransportResponse>;

/**
 * Middleware around a transport. Links never see the API key, which is added below them.
 *
 * @example
 * const tracing: Link = (next) => (request) =>
 *   next({ ...request, headers: { ...request.headers, 'x-request-id': crypto.randomUUID() } });
 */
export type Link = (next: Transport) => Transport;
