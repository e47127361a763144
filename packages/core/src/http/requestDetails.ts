import { ConfigError } from '../errors.js';
import { ExactNumber, frozenJson, isPlain, type Json, jsonText } from '../json.js';
import { kindOf } from '../values.js';
import { type ArrayFormat, encodeQuery, type Query } from './query.js';
import type { BodyParser } from './response/parsedBody.js';
import type { Responses } from './response/responses.js';

/** The methods that requests may have. */
export type HttpMethod = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

/** `json`: one document. `jsonLines`: a document on each line, which become one list. */
export type ResponseFormat = 'json' | 'jsonLines';

/** A document, or the fields of a form. */
export type BodyType = 'json' | 'form';

/** What a request sends besides its address, and what its response may be. */
export interface RequestDetails {
  /** Default `GET`. */
  readonly method?: HttpMethod;
  /** Sent as JSON, with any method but `GET`. Default: none. */
  readonly body?: Json;
  /** How the body is encoded. `form`: application/x-www-form-urlencoded, with lists as in the query. Default `json`. */
  readonly bodyType?: BodyType;
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
  /** What responses mean, e.g. `graphqlErrors()`. Where it does not say, the API's is asked. Default: what they say. */
  readonly responses?: Responses | undefined;
  /** The number of the requested page, for `responses`. Default 1. */
  readonly page?: number | undefined;
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
  json: /* @__PURE__ */ Object.freeze({ Accept: 'application/json' }),
  jsonLines: /* @__PURE__ */ Object.freeze({ Accept: 'application/jsonl, application/x-ndjson, */*;q=0.5' }),
  parsed: /* @__PURE__ */ Object.freeze({ Accept: '*/*' }),
} satisfies Record<ResponseFormat | 'parsed', object>;
const none = /* @__PURE__ */ Object.freeze({});

/** The message of a request, the same for each of its attempts. @throws ConfigError if it cannot be sent. */
export function encodeRequest(
  route: string,
  details: RequestDetails & { readonly arrays?: ArrayFormat },
): EncodedRequest {
  const { method = 'GET', body, bodyType = 'json', headers = none, parse, arrays = 'brackets' } = details;
  const { format = parse ? 'parsed' : 'json' } = details;
  const refusal = (what: string): ConfigError => new ConfigError(`${route} can't be sent: ${what}.`, { route });
  // Plugins and links in JavaScript may pass anything.
  if (!methods.includes(method)) throw refusal(`its method must be ${methods.join(', ')}`);
  if (!Object.hasOwn(contentTypes, bodyType)) throw refusal('its bodyType must be json or form');
  if (body !== undefined && method === 'GET') throw refusal('a GET request has no body. Give it another method');
  const own = Object.keys(headers).find((name) => ownHeaders.test(name));
  if (own !== undefined)
    throw refusal(`a link or a plugin gave it the header ${JSON.stringify(own)}, which only the connection sets`);
  const { isRepeatable = method === 'GET' || hasIdempotencyKey(headers) } = details;
  if (body === undefined && headers === none) return { method, headers: accept[format] ?? none, isRepeatable };
  return {
    method,
    isRepeatable,
    headers: {
      ...accept[format],
      ...(body !== undefined && { 'Content-Type': contentTypes[bodyType] }),
      ...headers,
    },
    ...(body !== undefined && { body: encodeBody(body, { route, bodyType, arrays }) }),
  };
}

const contentTypes = {
  json: 'application/json',
  form: 'application/x-www-form-urlencoded',
} as const satisfies Record<BodyType, string>;

/**
 * The fields of a form, each with its text or texts.
 *
 * @param place names the body in errors
 *
 * @throws ConfigError unless it is an object of texts, numbers, booleans and lists of them.
 */
export function formFields(body: Json, place: string): Query {
  const textOf = (value: Json, field: string): string => {
    if (value instanceof ExactNumber) return value.text;
    if (typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean') return String(value);
    throw new ConfigError(
      `${place} has ${kindOf(value)} at ${field}, which a form can't represent. Give text, a number, a boolean or a list of them.`,
      { place },
    );
  };
  if (!isPlain(body))
    throw new ConfigError(`${place} is ${kindOf(body)}, and a form has fields: give an object.`, { place });
  const fields: [string, Json][] = Object.entries(body);
  return Object.fromEntries(
    fields.map(([field, value]): [string, string | readonly string[]] => [
      field,
      Array.isArray(value) ? value.map((item: Json) => textOf(item, field)) : textOf(value, field),
    ]),
  );
}

function encodeBody(
  body: Json,
  { route, bodyType, arrays }: { readonly route: string; readonly bodyType: BodyType; readonly arrays: ArrayFormat },
): string {
  const place = `The body of ${route}`;
  const sent = frozenJson(body, place);
  return bodyType === 'form' ? encodeQuery(formFields(sent, place), arrays) : jsonText(sent);
}

/** The key by which a server recognizes a repeated request (draft-ietf-httpapi-idempotency-key-header). */
function hasIdempotencyKey(headers: Readonly<Record<string, string>>): boolean {
  return Object.entries(headers).some(([name, key]) => name.toLowerCase() === 'idempotency-key' && Boolean(key));
}
