import { ConfigError } from '../../errors.js';
import { isRecord } from '../../values.js';
import type { HttpMethod } from '../requestDetails.js';
import { encodeQuery, withoutParam } from '../query.js';
import { joinHeaders } from '../sendAttempt.js';
import type { Stamped, StampedRequest } from './credentialTypes.js';

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

/**
 * Adds credentials to a request. Those in headers and in the query replace what has their name.
 *
 * @throws ConfigError if a header is invalid, or a field can't be added to the body.
 */
export function stampRequest(request: BareRequest, stamped: Stamped): StampedRequest {
  const { method, headers } = request;
  const url = withQuery(withPath(request, stamped.path), stamped.query);
  if (stamped.body && isForm(headers))
    return { method, url, headers: joinHeaders(headers, stamped.headers), body: withFormFields(request, stamped.body) };
  if (!stamped.body) return { method, url, headers: joinHeaders(headers, stamped.headers), body: request.body };
  return {
    method,
    url,
    headers: joinHeaders({ 'content-type': 'application/json', ...headers }, stamped.headers),
    body: withFields(request, stamped.body),
  };
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

/** Adds fields before the others of a form. */
function withFormFields({ route, body = '' }: BareRequest, fields: Readonly<Record<string, string>>): string {
  const given = new URLSearchParams(body);
  const taken = Object.keys(fields).find((name) => given.has(name));
  if (taken !== undefined)
    throw new ConfigError(
      `${route} can't get the credential of its body: it has ${JSON.stringify(taken)} already. Leave that out.`,
      { route },
    );
  return `${encodeQuery(fields, 'repeat')}${body === '' ? '' : `&${body}`}`;
}

/** Adds fields before the others of an object, which stay as they were written. */
function withFields({ route, method, body = '{}' }: BareRequest, fields: Readonly<Record<string, string>>): string {
  const refusal = (fault: string): ConfigError =>
    new ConfigError(`${route} can't get the credential of its body: ${fault}.`, { route });
  if (method === 'GET') throw refusal('a GET request has no body. Give it another method');
  const given = parsed(body);
  if (!isRecord(given)) throw refusal('its body is not a JSON object');
  const taken = Object.keys(fields).find((name) => Object.hasOwn(given, name));
  if (taken !== undefined) throw refusal(`it has ${JSON.stringify(taken)} already. Leave that out`);
  const added = JSON.stringify(fields).slice(0, -1);
  return `${added}${Object.keys(given).length === 0 ? '' : ','}${body.trimStart().slice(1)}`;
}

function parsed(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    return undefined;
  }
}
