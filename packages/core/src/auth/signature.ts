import type { HttpMethod } from '../http/requestDetails.js';

/** A request that is to be signed, exactly as it will be sent. It can't be changed. */
export interface UnsignedRequest {
  readonly method: HttpMethod;
  /** The whole URL, with the API's other credentials. What a signature adds to its query comes last. */
  readonly url: string;
  /** Names in lower case. The connection adds its own, such as `host` and `content-length`. */
  readonly headers: Readonly<Record<string, string>>;
  /** Sent in UTF-8. Empty text if there is no body. */
  readonly body: string;
}

/** What a signature adds to a request, which must not have a header or a parameter of these names. */
export interface Signature {
  readonly headers?: Readonly<Record<string, string>>;
  /** Parameters by name, in this order, which are encoded as in forms. */
  readonly query?: Readonly<Record<string, string>>;
}

/** Signs one attempt with a secret. It gets nothing of other APIs. */
export type SignFunction = (request: UnsignedRequest, secret: string) => Signature | Promise<Signature>;
