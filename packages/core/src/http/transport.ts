import type { Query, ArrayFormat } from './query.js';

/** One question to an API. Its retries are the transport's business: a link sees the whole request once. */
export interface TransportRequest {
  /** A name for events, costs and errors, e.g. `aptos.walletNfts`. */
  readonly route: string;
  /** The API's base address, as the user gave it. Only its origin ever gets the key. */
  readonly baseUrl: string;
  /** Below the base address, with a leading slash. An absolute address is refused. */
  readonly path: string;
  readonly query: Query;
  /** Default: `brackets`. */
  readonly arrays?: ArrayFormat;
  readonly headers?: Readonly<Record<string, string>>;
  /** Ends the request at once, wherever it is: the promise rejects with `signal.reason`. */
  readonly signal?: AbortSignal;
}

/** A successful answer. */
export interface TransportResponse {
  readonly status: number;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  /** The decoded JSON document. */
  readonly body: unknown;
  /** How many attempts it took, at least 1. */
  readonly attempts: number;
}

/** Answers a request, or rejects with a `SluiceError`. */
export type Transport = (request: TransportRequest) => Promise<TransportResponse>;

/**
 * Middleware around a transport. Links never see the API key: it is attached below them.
 *
 * @example
 * const tracing: Link = (next) => (request) =>
 *   next({ ...request, headers: { ...request.headers, 'x-request-id': crypto.randomUUID() } });
 */
export type Link = (next: Transport) => Transport;
