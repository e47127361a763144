import type { HttpMethod } from '../requestDetails.js';

export interface AdapterOptions {
  /** Ms to connect, TLS included. */
  readonly connectTimeout: number;
  /** Largest body in bytes, after decompression. */
  readonly maxBodyBytes: number;
  /**
   * `whole` (default): a response needs its complete body. `beginning`: only the status counts; of an error's body,
   * what has arrived, up to `maxBodyBytes`; of a success, nothing.
   */
  readonly bodies?: 'whole' | 'beginning';
  /** Checks each address before connecting. Default: all are allowed. Only where the platform shows addresses. */
  readonly guard?: AddressGuard | undefined;
  /** Whether to use the environment's proxies. Default `true`; never with a guard: a proxy resolves names itself. */
  readonly proxies?: boolean | undefined;
}

/** Decides which addresses may be connected to. */
export interface AddressGuard {
  /** Resolves a name to all its addresses, unchecked. */
  resolve(hostname: string): Promise<readonly ResolvedAddress[]>;
  /** @throws ForbiddenAddressError unless a connection to this address may be made on behalf of the URL's host. */
  check(address: string, host: GuardedHost): void;
}

/** The host of a URL, for an {@link AddressGuard}. */
export interface GuardedHost {
  /** As the URL has it; the brackets of an IPv6 address may be missing. */
  readonly hostname: string;
  /** Whether the URL has `https:`. */
  readonly isEncrypted: boolean;
}

export interface ResolvedAddress {
  readonly address: string;
  readonly family: 4 | 6;
}

export interface AttemptRequest {
  readonly url: string;
  readonly method: HttpMethod;
  /** All headers, including the key: only the adapter sees this. Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | undefined;
  /** Whether to use a new connection, if the adapter keeps connections. */
  readonly isFresh?: boolean;
  /** An abort rejects at once. */
  readonly signal?: AbortSignal;
  /**
   * Called in the turn of the event loop in which the request is written, before that. `false`: it must not be written,
   * and the attempt fails with `outdated`. An adapter that can't tell calls it when the response's head arrives.
   */
  readonly onWrite?: () => boolean;
}

/** A response of any status, with the text of its body, without a byte order mark. */
export interface AttemptResponse {
  readonly status: number;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly text: string;
}

/** Sends attempts: any status is a response, redirects are not followed. Rejects with an `AdapterFault`. */
export interface Adapter {
  readonly send: (request: AttemptRequest) => Promise<AttemptResponse>;
  /** Nothing is written before `onWrite` is called. Otherwise any attempt may have been written. */
  readonly announcesWrites?: true;
  close(): Promise<void>;
}

/** Why there is no complete response. It has nothing of the request, so it cannot contain the key. */
export class AdapterFault extends Error {
  /**
   * `stale`: the server closed a reused connection before it sent a byte of the response. `outdated`: `onWrite` did not
   * allow the write. `not-http`: it sent what this platform can't read as HTTP/1.1. `encoding` and `charset`: the body
   * is not what its headers say, or nothing that this platform decodes. `late`: it did not come before the deadline.
   */
  readonly kind:
    | 'network'
    | 'stale'
    | 'outdated'
    | 'late'
    | 'connect-timeout'
    | 'not-http'
    | 'cut-body'
    | 'encoding'
    | 'charset'
    | 'not-text'
    | 'too-large'
    | 'too-heavy';
  /** The platform's own code, e.g. `ECONNREFUSED`; or the encoding or charset, as the server names it. */
  readonly platformCode: string | undefined;

  constructor(kind: AdapterFault['kind'], platformCode?: string) {
    super(kind);
    this.kind = kind;
    this.platformCode = platformCode;
  }
}

/** Codes of Node.js for bytes that are not a response of HTTP/1.1, or have more headers than it takes. */
export const unreadableResponse = /^HPE_|^UND_ERR_HEADERS_OVERFLOW$/;
