import { ConfigError } from '../errors.js';
import { isRecord, parseJson } from '../values.js';
import type { AttemptRequest } from './adapter/adapter.js';
import type { HttpMethod } from './requestDetails.js';
import { encodeQuery, withoutParam } from './query.js';
import { joinHeaders } from './headers.js';

/** A request, as it is the same for each of its attempts. */
export interface BareRequest {
  readonly route: string;
  readonly method: HttpMethod;
  readonly url: string;
  /** The beginning of the URL, behind which a path with a secret goes. Default: the origin. */
  readonly baseUrl?: string | undefined;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | undefined;
}

/** What is added to one attempt. */
export interface Stamped {
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** Query parameters by name. */
  readonly query?: Readonly<Record<string, string>> | undefined;
  /** What is between the base URL and the request's path: encoded, with a leading slash. */
  readonly path?: string | undefined;
  /** Fields of the JSON body. */
  readonly body?: Readonly<Record<string, string>> | undefined;
  /** Signs the attempt when everything else is added. */
  readonly sign?: ((request: StampedRequest) => Promise<SignedRequest>) | undefined;
}

/** An attempt as it is sent: header names are in lower case. */
export type StampedRequest = Pick<AttemptRequest, 'method' | 'url' | 'headers' | 'body'>;

/** An attempt with its signatures. */
export interface SignedRequest extends StampedRequest {
  /** Redacts them. Returns what to call when the attempt has ended. */
  readonly hide: () => () => void;
}

/**
 * Adds credentials to a request. Those in headers and in the query replace what has their name.
 *
 * @throws ConfigError if a header is invalid, or a field can't be added to the body.
 */
export function stampRequest(request: BareRequest, stamped: Stamped): StampedRequest {
  const { method, headers } = request;
  const { headers: added = {}, body: fields } = stamped;
  const url = withQuery(withPath(request, stamped.path), stamped.query);
  if (!fields) return { method, url, headers: joinHeaders(headers, added), body: request.body };
  if (isForm(headers))
    return { method, url, headers: joinHeaders(headers, added), body: withFormFields(request, fields) };
  const typed = joinHeaders({ 'content-type': 'application/json', ...headers }, added);
  return { method, url, headers: typed, body: withFields(request, fields) };
}

function withPath({ url, baseUrl }: BareRequest, path = ''): string {
  if (path === '') return url;
  const base = baseUrl ?? new URL(url).origin;
  return base + path + url.slice(base.length);
}

function withQuery(url: string, params: Stamped['query']): string {
  if (!params) return url;
  const [path = '', ...rest] = url.split('?');
  const kept = Object.keys(params).reduce(withoutParam, rest.join('?'));
  return `${path}?${kept === '' ? '' : `${kept}&`}${encodeQuery(params, 'repeat')}`;
}

function isForm(headers: BareRequest['headers']): boolean {
  return Object.entries(headers).some(
    ([name, type]) => name.toLowerCase() === 'content-type' && type.startsWith('application/x-www-form-urlencoded'),
  );
}

type Fields = Readonly<Record<string, string>>;

/** Adds fields before the others of a form. */
function withFormFields({ route, body = '' }: BareRequest, fields: Fields): string {
  const given = new URLSearchParams(body);
  refuseTaken(route, fields, (name) => given.has(name));
  return `${encodeQuery(fields, 'repeat')}${body === '' ? '' : `&${body}`}`;
}

/** Adds fields before the others of an object, which stay as they were written. */
function withFields({ route, method, body = '{}' }: BareRequest, fields: Fields): string {
  if (method === 'GET') throw refusal(route, 'a GET request has no body. Give it another method');
  const given = parseJson(body);
  if (!isRecord(given)) throw refusal(route, 'its body is not a JSON object');
  refuseTaken(route, fields, (name) => Object.hasOwn(given, name));
  const added = JSON.stringify(fields).slice(0, -1);
  return `${added}${Object.keys(given).length === 0 ? '' : ','}${body.trimStart().slice(1)}`;
}

function refuseTaken(route: string, fields: Fields, isTaken: (name: string) => boolean): void {
  const taken = Object.keys(fields).find(isTaken);
  if (taken !== undefined) throw refusal(route, `it has ${JSON.stringify(taken)} already. Leave that out`);
}

function refusal(route: string, fault: string): ConfigError {
  return new ConfigError(`${route} can't get the credential of its body: ${fault}.`, { route });
}
