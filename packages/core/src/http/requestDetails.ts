import { ConfigError } from '../errors.js';
import { frozenJson, type Json, jsonText } from '../json.js';
import type { ErrorFinder } from './response/errorFinder.js';
import type { BodyParser } from './response/parsedBody.js';

/** The methods that requests may have. */
export type HttpMethod = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

/** `json`: one document. `jsonLines`: a document on each line, which become one list. */
export type ResponseFormat = 'json' | 'jsonLines';

/** What a request sends besides its address, and what its response may be. */
export interface RequestDetails {
  /** Default `GET`. */
  readonly method?: HttpMethod;
  /** Sent as JSON, with any method but `GET`. Default: none. */
  readonly body?: Json;
  /** Not for secrets: links and hooks see them. */
  readonly headers?: Readonly<Record<string, string>>;
  /**
   * Whether the request may be sent more than once. Otherwise it is retried only if it was not sent, e.g. because the
   * connection was refused. Default: with `GET`, and with an `Idempotency-Key` header.
   */
  readonly isRepeatable?: boolean;
  /** The format of the response. Default `json`. */
  readonly format?: ResponseFormat | undefined;
  /** Makes a document of the text of a response, instead of `format`. */
  readonly parse?: BodyParser | undefined;
  /** Finds an error in a response with a success status, e.g. `graphqlErrors()`. Default: there is none. */
  readonly errors?: ErrorFinder | undefined;
}

interface EncodedRequest {
  readonly method: HttpMethod;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly isRepeatable: boolean;
}

/** Headers that the transport or the connection sets: with another `Host`, a proxy would pass the credential on to it. */
export const ownHeaders = /^(host|connection|content-length|transfer-encoding|te|upgrade|keep-alive|expect)$/i;

const methods: readonly string[] = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] satisfies HttpMethod[];

/** The headers of a request without its own: one object for all, so that what is made of them is made once. */
const accept: Readonly<Record<string, { readonly Accept: string }>> = {
  json: Object.freeze({ Accept: 'application/json' }),
  jsonLines: Object.freeze({ Accept: 'application/jsonl, application/x-ndjson, */*;q=0.5' }),
  parsed: Object.freeze({ Accept: '*/*' }),
} satisfies Record<ResponseFormat | 'parsed', object>;
const none = Object.freeze({});

/** The message of a request, the same for each of its attempts. @throws ConfigError if it cannot be sent. */
export function encodeRequest(route: string, details: RequestDetails): EncodedRequest {
  const { method = 'GET', body, headers = none, parse, format = parse ? 'parsed' : 'json' } = details;
  const refusal = (what: string): ConfigError => new ConfigError(`${route} can't be sent: ${what}.`, { route });
  // Plugins and links in JavaScript may pass anything.
  if (!methods.includes(method)) throw refusal(`its method must be ${methods.join(', ')}`);
  if (body !== undefined && method === 'GET') throw refusal('a GET request has no body. Give it another method');
  const own = Object.keys(headers).find((name) => ownHeaders.test(name));
  if (own !== undefined)
    throw refusal(`a link or a plugin gave it the header ${JSON.stringify(own)}, which only the connection sets`);
  const { isRepeatable = method === 'GET' || hasIdempotencyKey(headers) } = details;
  const isJson = body !== undefined;
  if (!isJson && headers === none) return { method, headers: accept[format] ?? none, isRepeatable };
  return {
    method,
    isRepeatable,
    headers: { ...accept[format], ...(isJson && { 'Content-Type': 'application/json' }), ...headers },
    ...(isJson && { body: jsonText(frozenJson(body, `The body of ${route}`)) }),
  };
}

/** The key by which a server recognizes a repeated request (draft-ietf-httpapi-idempotency-key-header). */
function hasIdempotencyKey(headers: Readonly<Record<string, string>>): boolean {
  return Object.entries(headers).some(([name, key]) => name.toLowerCase() === 'idempotency-key' && Boolean(key));
}
