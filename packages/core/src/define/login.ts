import { checkOptions } from '../checks.js';
import { ConfigError, type DecodeError } from '../errors.js';
import { type Auth, type Credential, type LoginSecret, type LoginSpec, ownCredentials } from '../auth/auth.js';
import type { HttpMethod } from '../http/requestDetails.js';
import { frozenJson, type Json } from '../json.js';
import { documentReader, doesItFit } from './responses/documentReader.js';
import { kindOf } from '../values.js';
import type { ReadableResponse, Selector } from './responses/pageResponse.js';
import { documentPath, finder } from './responses/documentPath.js';

/** The request of a {@link login}, below the API's base URL (`path`) or elsewhere (`url`). */
export type LoginRequest = LoginAddress & {
  /** Default `POST`. */
  readonly method?: HttpMethod;
  /** Sent as JSON. Not for secrets, which are not redacted here: give them as `auth`. */
  readonly body?: Json;
  /** Not for secrets either: give them as `auth`. */
  readonly headers?: Readonly<Record<string, string>>;
  /** The credentials of the login itself, e.g. a user name and a password. */
  readonly auth: Exclude<Auth, { readonly kind: 'none' | 'shared' }>;
};

type LoginAddress =
  | {
      /** With a leading slash. */
      readonly path: string;
      readonly url?: undefined;
    }
  | { readonly url: string; readonly path?: undefined };

/** Options of {@link login}. */
export interface LoginOptions {
  readonly request: LoginRequest;
  /** Where the response has the token: a path in its document, or a function, e.g. of its headers. */
  readonly token: Selector<unknown>;
  /** Ms for which a token is valid, or a function that returns them. Default: until the API refuses the token. */
  readonly lifetime?: number | ((response: ReadableResponse) => number);
}

/**
 * A token that a login gives, for use like any other secret. The client requests it before the first request, and again
 * when it has expired or the API refuses it with 401 (a token younger than 30 seconds is not replaced). Concurrent
 * requests that need a token share a login.
 *
 * A login counts in the API's rate limit. Tokens are kept in memory only, and are redacted like all secrets. A
 * checkpoint recognizes the login's own credentials, not the token.
 *
 * @example
 * header('X-Metabase-Session', login({
 *   request: { path: '/session', auth: [bodyKey('username', { env: 'USER' }), bodyKey('password', { env: 'PASSWORD' })] },
 *   token: 'id',
 * }))
 * bearer(login({
 *   request: { url: 'https://auth.example.com/v1/token', auth: basic({ user: 'me', password: { env: 'PASSWORD' } }) },
 *   token: 'data.token',
 *   lifetime: ({ at }) => Number(at('data.expires_in')) * 1000,
 * }))
 *
 * @throws ConfigError if an option is invalid. At a request: the error of any request; DecodeError if the response has
 * no token.
 */
export function login(options: LoginOptions): LoginSecret {
  checkOptions('login()', options, {
    request: 'an object',
    token: 'text or a function',
    lifetime: 'a number or a function?',
  });
  const { request, token, lifetime = Infinity } = options;
  checkOptions('request of login()', request, {
    path: 'text?',
    url: 'text?',
    method: 'text?',
    body: 'anything?',
    headers: 'an object?',
    auth: 'an object or a list',
  });
  const { path, url, method = 'POST', headers, body } = request;
  if ((path === undefined) === (url === undefined))
    throw new ConfigError('A login needs an address: a path below the base URL, or a url. Give one of them.');
  if (typeof lifetime === 'number' && !(lifetime > 0))
    throw new ConfigError(`The lifetime of login() is ${lifetime}: it must be a number of ms above 0.`);
  const selector = finder(token);
  const spec: LoginSpec = {
    path,
    url,
    method,
    headers,
    body: body === undefined ? undefined : frozenJson(body, 'The body of login()'),
    auth: credentialsOf(request.auth),
    read(response, route) {
      const read = documentReader(route);
      const readable: ReadableResponse = {
        ...response,
        read,
        at: (text) => documentPath(text).find(response.body, read),
      };
      const failed = (what: string): DecodeError => read.fault('', `the ${what} function of login() failed`, doesItFit);
      const found =
        typeof token === 'string' ? selector.find(readable) : called(() => selector.find(readable), failed('token'));
      const text = typeof found === 'number' ? String(found) : found;
      if (typeof text !== 'string' || text === '')
        throw read.fault(selector.text, `it is ${text === '' ? 'empty' : kindOf(text)}, and not a token`, doesItFit);
      const life = typeof lifetime === 'number' ? lifetime : called(() => lifetime(readable), failed('lifetime'));
      if (typeof life !== 'number' || !(life > 0))
        throw read.fault('', `the lifetime function of login() returned no number of ms above 0`, doesItFit);
      return { secret: text, lifetime: life };
    },
  };
  return Object.freeze({ login: Object.freeze(spec) });
}

function credentialsOf(auth: LoginRequest['auth']): readonly Credential[] {
  const own = ownCredentials(auth, 'a login');
  if (own && own.length > 0) return own;
  throw new ConfigError('The auth of a login must be its own credentials, and not noAuth or sharedKey.');
}

/** Replaces the error of a function, which may quote the response. */
function called(run: () => unknown, failed: DecodeError): unknown {
  try {
    return run();
  } catch {
    throw failed;
  }
}
