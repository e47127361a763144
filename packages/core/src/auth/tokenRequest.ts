import { ConfigError, DecodeError, HttpError } from '../errors.js';
import { isRetriedStatus } from '../retriedStatuses.js';
import { isRecord, parseJson } from '../values.js';
import type { AttemptResponse } from '../http/adapter/adapter.js';
import type { ReadResult } from '../http/response/readResponse.js';
import { type ResponseContext, statusFault } from '../http/response/statusFault.js';
import type { Limiter } from '../http/limit/limiterTypes.js';
import { encodeQuery } from '../http/query.js';
import type { LoginTools } from './openLogin.js';

/** What a token is requested with (RFC 6749, sections 4.4 and 6). */
export type Grant = { readonly kind: 'client' } | { readonly kind: 'refresh'; readonly refreshToken: string };

/** What a token server issued. */
export interface IssuedToken {
  readonly accessToken: string;
  /** Ms from the request on; `Infinity` if the server does not say. */
  readonly lifetime: number;
  readonly refreshToken: string | undefined;
}

export interface TokenServer extends Pick<LoginTools, 'api' | 'secrets' | 'call'> {
  readonly url: string;
  /** @throws ConfigError if the variable that has it is not set. */
  readonly clientId: () => string;
  /** `undefined` for a public client. */
  readonly clientSecret: (() => Promise<string>) | undefined;
  /** Where the client's id and secret go. */
  readonly clientIn: 'header' | 'body';
  /** Further parameters, e.g. `scope` and `audience`. */
  readonly params: Readonly<Record<string, string | undefined>>;
  readonly limiter: Limiter;
}

/**
 * Requests a token.
 *
 * @throws HttpError if the server refuses the client or the refresh token; what any request raises.
 */
export async function requestToken(server: TokenServer, grant: Grant): Promise<IssuedToken> {
  const { api, url, clientSecret, clientIn, params, secrets, limiter, call } = server;
  const route = `The token server of ${api}`;
  const clientId = server.clientId();
  const secret = await clientSecret?.();
  const isBasic = secret !== undefined && clientIn === 'header';
  const form = {
    ...(grant.kind === 'client'
      ? { grant_type: 'client_credentials' }
      : { grant_type: 'refresh_token', refresh_token: grant.refreshToken }),
    ...params,
    ...(!isBasic && { client_id: clientId, client_secret: secret }),
  };
  const authorization = isBasic
    ? { Authorization: `Basic ${btoa(`${formEncode(clientId)}:${formEncode(secret)}`)}` }
    : {};
  const { body } = await call({
    route,
    method: 'POST',
    url,
    limiter,
    shownUrl: () => secrets.redact(url),
    headers: { Accept: 'application/json', 'Content-Type': 'application/x-www-form-urlencoded' },
    body: encodeQuery(form, 'repeat').replaceAll('%20', '+'),
    credentials: { current: () => ({ headers: authorization }) },
    read: (response, now) => readToken(response, { route, secrets, now }, grant),
  });
  return decodeToken(body, route);
}

/** RFC 6749, section 2.3.1: id and secret are form-encoded before they become a user name and a password. */
export function formEncode(text: string): string {
  return new URLSearchParams([['', text]]).toString().slice(1);
}

function readToken(response: AttemptResponse, context: ResponseContext, grant: Grant): ReadResult {
  const { status } = response;
  const { route } = context;
  const document = parseDocument(response);
  if (status >= 200 && status < 300) {
    if (document !== undefined) return { ok: true, body: document };
    const error = new DecodeError(
      `${route}: the server responded with something that is neither JSON nor a form. Check tokenUrl.`,
      {
        route,
        status,
        path: '',
      },
    );
    return { ok: false, fault: { error, retry: true, status } };
  }
  const code = isRecord(document) && typeof document['error'] === 'string' ? document['error'] : '';
  const hint = hints.get(code) ?? (status === 404 || status < 400 ? 'Check tokenUrl.' : '');
  const isLater = isRetriedStatus(status) || code === 'temporarily_unavailable';
  const fault = statusFault(response, context, { retry: isLater, hint, lower: 'rateLimit' });
  // RFC 6749, section 5.2: a refused grant is a 400. That it has expired is not the request's fault.
  if (code !== 'invalid_grant' || grant.kind !== 'refresh') return { ok: false, fault };
  const error = new HttpError(`${route} does not accept the refresh token any more (invalid_grant). Sign in again.`, {
    status,
    excerpt: '',
    details: { route },
  });
  return { ok: false, fault: { ...fault, error, retry: false } };
}

/** The codes of RFC 6749, section 5.2. */
const hints: ReadonlyMap<string, string> = new Map([
  ['invalid_client', 'Check clientId and clientSecret.'],
  ['unauthorized_client', 'This client may not use this grant: check its settings at the server.'],
  ['invalid_scope', 'Check scope.'],
  ['unsupported_grant_type', 'The server does not know this grant: is it a refresh token that it wants?'],
]);

/** Some servers answer with a form, as GitHub does by default, and not all of these say so. */
function parseDocument({ headers, text }: AttemptResponse): unknown {
  const document = parseJson(text);
  if (document !== undefined) return document;
  const isForm = /^application\/x-www-form-urlencoded\b/i.test(headers['content-type'] ?? '');
  if (!isForm && !/^(?:[\w.-]+=[^&\s<>]*&)*(?:access_token|error)=/.test(text)) return undefined;
  return Object.fromEntries(new URLSearchParams(text));
}

/** Types of tokens that need more than to be sent (RFC 9449 and others). Slack's `bot` and Apigee's `BearerToken` don't. */
const boundTypes: readonly string[] = ['mac', 'pop', 'dpop'];

/** @throws DecodeError if it is no answer as in RFC 6749, section 5.1; ConfigError if the token cannot be sent. */
function decodeToken(document: unknown, route: string): IssuedToken {
  const fields = isRecord(document) ? document : {};
  const { access_token: accessToken, token_type: type, expires_in: seconds, refresh_token: refreshToken } = fields;
  const fault = (path: string, message: string): DecodeError =>
    new DecodeError(`${route}: ${message}`, { route, path, excerpt: '' });
  if (typeof accessToken !== 'string' || accessToken === '')
    throw fault(
      'access_token',
      'the server responded without an access_token. Check tokenUrl; if it has its tokens elsewhere, use login().',
    );
  if (typeof type === 'string' && boundTypes.includes(type.toLowerCase()))
    throw fault('token_type', 'the server issued a token that is not a bearer token, which is not supported.');
  // RFC 6750, section 2.1, allows fewer characters, but tokens of Salesforce have a `!`, for example.
  if (!/^[\x21-\x7e]+$/.test(accessToken))
    throw new ConfigError(`${route} issued a token that cannot be sent in a header.`, { route });
  const stated = typeof seconds === 'string' && /^\d+(?:\.\d+)?$/.test(seconds) ? Number(seconds) : seconds;
  // Tokens that do not expire.
  const life = stated === 0 ? undefined : stated;
  if (life !== undefined && life !== null && !(typeof life === 'number' && life > 0 && life < maxSeconds))
    throw fault('expires_in', 'the server responded with an expires_in that is not a number of seconds.');
  return {
    accessToken,
    lifetime: typeof life === 'number' ? life * 1000 : Infinity,
    refreshToken: typeof refreshToken === 'string' && refreshToken !== '' ? refreshToken : undefined,
  };
}

/** A hundred years. */
const maxSeconds = 3_200_000_000;
