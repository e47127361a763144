import { checkOptions } from '../checks.js';
import { ConfigError } from '../errors.js';
import { inWords, isList, isRecord, shownText } from '../values.js';
import type { Json } from '../json.js';
import type { HttpMethod } from '../http/requestDetails.js';
import type { ApiKey } from './renewedSecret.js';
import type { SignFunction } from './signature.js';

/**
 * A secret of an API: the text, the environment variable that has it, or a function that fetches it. The function is
 * called before the first request, and again when the API refuses the secret with 401 (`reason: 'refused'`).
 *
 * A checkpoint recognizes the secret. If a function returns another one each time, pass it as `get`, with an `id` that
 * stays the same as long as the rows do, e.g. of an account: the checkpoint then recognizes the id. Otherwise an export
 * resumes only with `sameProject`. `oauth2` needs no id.
 *
 * @example bearer({ id: 'account-17', get: async () => (await fetch('https://vault.example.com/token')).text() })
 */
export type Secret = StoredSecret | LoginSecret;

/** A secret that somebody else keeps. */
export type StoredSecret = ApiKey | NamedSecret;

/** What an environment variable has. */
export interface EnvironmentValue {
  readonly env: string;
}

type NamedSecret = EnvironmentValue | { readonly id: string; readonly get: Exclude<ApiKey, string> };

/** A token that a login gives: made by `login`. */
export interface LoginSecret {
  readonly login: LoginSpec;
}

/** How a token is requested, and found in the response. */
export interface LoginSpec {
  /** Below the API's base URL. Either this or `url` is given. */
  readonly path: string | undefined;
  readonly url: string | undefined;
  readonly method: HttpMethod;
  readonly headers: Readonly<Record<string, string>> | undefined;
  readonly body: Json | undefined;
  readonly auth: readonly Credential[];
  /**
   * @param route names the login in errors
   * @returns the token, and for how many ms it is valid: `Infinity` if that is unknown
   * @throws DecodeError if there is none; it quotes nothing of the response
   */
  readonly read: (
    response: { readonly status: number; readonly headers: Readonly<Record<string, string>>; readonly body: unknown },
    route: string,
  ) => { readonly secret: string; readonly lifetime: number };
}

/** The user name and the password of {@link basic}, one of which is the secret. */
export type BasicPair =
  | {
      /** The name itself, or the environment variable that has it. */
      readonly user: string | EnvironmentValue;
      readonly password: Secret;
    }
  | {
      /** A key in place of a user name: not as text, which would be a name that may be shown. */
      readonly user: Exclude<Secret, string>;
      /** What the API wants beside the key, which is no secret. Default: empty. */
      readonly password?: string;
    };

/**
 * One credential of an API, which only that API receives: made by `bearer`, `basic`, `header`, `queryKey`, `pathKey`,
 * `bodyKey`, `sign` or `oauth2`.
 */
export type Credential =
  | { readonly kind: 'header'; readonly name: string; readonly prefix: string; readonly secret: Secret }
  | ({ readonly kind: 'basic' } & BasicPair)
  | { readonly kind: 'query'; readonly param: string; readonly secret: Secret }
  | { readonly kind: 'path'; readonly path: string; readonly secret: Secret }
  | { readonly kind: 'body'; readonly field: string; readonly secret: Secret }
  | { readonly kind: 'sign'; readonly secret: Secret; readonly sign: SignFunction }
  | ({ readonly kind: 'oauth2' } & OAuth2Options);

/**
 * How an API recognizes its caller: by a credential, or by a list of several that all requests get; or `noAuth` or
 * `sharedKey`.
 *
 * @example
 * const one: Auth = bearer({ env: 'GITHUB_TOKEN' });
 * const two: Auth = [header('DD-API-KEY', { env: 'DD_API_KEY' }), header('DD-APPLICATION-KEY', { env: 'DD_APP_KEY' })];
 */
export type Auth =
  { readonly kind: 'none' } | { readonly kind: 'shared' } | Credential | readonly [Credential, ...Credential[]];

/**
 * The credentials that only their own API receives; `undefined` if it gets the client's key.
 *
 * @throws ConfigError if a list is empty, or has something else than credentials.
 */
export function ownCredentials(auth: Auth | undefined, api: string): readonly Credential[] | undefined {
  if (auth === undefined) return undefined;
  if (!isList(auth)) return auth.kind === 'shared' ? undefined : auth.kind === 'none' ? [] : [auth];
  const given: readonly unknown[] = auth;
  const refused = given.findIndex((each) => !isRecord(each) || each['kind'] === 'none' || each['kind'] === 'shared');
  if (refused >= 0)
    throw new ConfigError(
      `The auth of ${api} has something at [${refused}] that can't be one of several: only bearer, basic, header, queryKey, pathKey, bodyKey, sign and oauth2 can.`,
      { api },
    );
  if (given.length === 0)
    throw new ConfigError(`The auth of ${api} is an empty list. If the API needs no credentials, give noAuth.`, {
      api,
    });
  return auth;
}

/** The environment variables that have the secrets of credentials. */
export function variablesOf(credentials: readonly Credential[]): readonly string[] {
  return [...new Set(credentials.flatMap(secretsOf).flatMap(variablesOfSecret))];
}

function variablesOfSecret(secret: Secret | undefined): readonly string[] {
  if (typeof secret !== 'object') return [];
  if ('login' in secret) return variablesOf(secret.login.auth);
  return 'env' in secret ? [secret.env] : [];
}

/** Where the first login for a credential's secrets goes: a path below the base URL, or a URL. */
export function loginOf(credential: Credential): string | undefined {
  for (const secret of secretsOf(credential))
    if (typeof secret === 'object' && 'login' in secret) return secret.login.path ?? secret.login.url;
  return undefined;
}

function secretsOf(credential: Credential): readonly (Secret | undefined)[] {
  switch (credential.kind) {
    case 'basic':
      // Not a user that is a text: some have a key in its place.
      return [credential.user, credential.password];
    case 'oauth2': {
      const { clientId } = credential;
      return [typeof clientId === 'string' ? undefined : clientId, credential.clientSecret, credential.refreshToken];
    }
    default:
      return [credential.secret];
  }
}

/** No credentials: the API never receives the client's key either. */
export const noAuth: Auth = /* @__PURE__ */ Object.freeze({ kind: 'none' });

/**
 * The client's own key, as `X-API-Key`. An API without `auth` gets it, too, but with a warning if another API at
 * another address gets the same key.
 *
 * @example const api = coins({ baseUrl, auth: sharedKey });
 */
export const sharedKey: Auth = /* @__PURE__ */ Object.freeze({ kind: 'shared' });

/**
 * Sends a token as `Authorization: Bearer TOKEN` (RFC 6750).
 *
 * @example const api = coins({ baseUrl, auth: bearer({ env: 'COINS_TOKEN' }) });
 */
export function bearer(secret: Secret): Credential {
  return Object.freeze({ kind: 'header', name: 'Authorization', prefix: 'Bearer ', secret });
}

/**
 * Sends a user name and a password as `Authorization: Basic …` (RFC 7617), in UTF-8. Some APIs take a key as the user
 * name, with no password or a fixed one: the user is the secret then.
 *
 * @example
 * basic({ user: 'apikey', password: { env: 'SHOP_PASSWORD' } })
 * basic({ user: { env: 'JIRA_EMAIL' }, password: { env: 'JIRA_API_TOKEN' } })
 * basic({ user: { env: 'STRIPE_KEY' } })                    // no password
 * basic({ user: { env: 'FRESHDESK_KEY' }, password: 'X' })
 *
 * @throws ConfigError if the user name has a colon, which RFC 7617 forbids, or a control character. The same later, if
 * it is a secret.
 */
export function basic(pair: BasicPair): Credential {
  checkOptions('basic()', pair, { user: 'anything', password: 'anything?' });
  checkUser(pair.user);
  return Object.freeze({ kind: 'basic', ...pair });
}

/** @throws ConfigError if it is a name that cannot be sent. */
export function checkUser(user: unknown): void {
  if (typeof user === 'string' && /[:\p{Cc}]/u.test(user))
    throw new ConfigError('The user name of basic must not have a colon or a control character.', { option: 'user' });
}

/**
 * Sends a secret in a header of its own.
 *
 * @param options `prefix`: what precedes the secret in the header, e.g. `Token `. Default: nothing.
 *
 * @example header('X-Auth-Key', { env: 'SHOP_KEY' })
 *
 * @throws ConfigError if the name cannot be that of a header (RFC 9110, 5.6.2).
 */
export function header(name: string, secret: Secret, options: { readonly prefix?: string } = {}): Credential {
  checkOptions('header()', options, { prefix: 'text?' });
  const { prefix = '' } = options;
  if (typeof name !== 'string' || !/^[!#$%&'*+\-.^_`|~\w]+$/.test(name))
    throw new ConfigError(
      `${typeof name === 'string' ? shownText(name) : inWords(name)} can't be the name of a header.`,
      { option: 'name' },
    );
  return Object.freeze({ kind: 'header', name, prefix, secret });
}

/**
 * Sends a secret in the query, in place of a parameter of that name. Prefer a header where the API takes one: servers and
 * proxies log URLs. It is not in requests that links see, nor in events and errors, and is removed from addresses of next
 * pages. In bodies, links see it if the server repeats it there.
 *
 * @example queryKey('api_key', { env: 'WEATHER_KEY' })
 */
export function queryKey(param: string, secret: Secret): Credential {
  if (typeof param !== 'string' || param === '')
    throw new ConfigError('queryKey needs the name of a query parameter.', { option: 'param' });
  return Object.freeze({ kind: 'query', param, secret });
}

/** The name in braces stands for the secret. */
const keyPath = /^(?:\/[\w~-][\w.~-]*)*\/[\w.~-]*\{\w+\}[\w.~-]*(?:\/[\w~-][\w.~-]*)*$/;

/**
 * Sends a secret in the path, between the base URL and the path of each request. Prefer a header where the API takes
 * one: servers and proxies log URLs. As with `queryKey`, it is in nothing that is shown or stored, and is removed from
 * addresses of next pages.
 *
 * @param path with a leading slash, and a name in braces where the secret goes
 *
 * @example pathKey('/bot{token}', { env: 'TELEGRAM_TOKEN' }) // get('/getMe') requests /bot123:ABC/getMe
 *
 * @throws ConfigError if it is not such a path.
 */
export function pathKey(path: string, secret: Secret): Credential {
  if (typeof path !== 'string' || !keyPath.test(path))
    throw new ConfigError(
      `pathKey needs a path with one name in braces for the secret, like /bot{token}, and not ${typeof path === 'string' ? shownText(path) : inWords(path)}.`,
      { option: 'path' },
    );
  return Object.freeze({ kind: 'path', path, secret });
}

/**
 * Sends a secret as a field of the body, which must be a JSON object. A request without a body gets one; a request with
 * `GET` can't have one, so it is an error.
 *
 * @param field a field of the object itself. A request that has it already is an error.
 *
 * @example bodyKey('key', { env: 'MANDRILL_KEY' })
 */
export function bodyKey(field: string, secret: Secret): Credential {
  if (typeof field !== 'string' || field === '')
    throw new ConfigError('bodyKey needs the name of a field.', { option: 'field' });
  return Object.freeze({ kind: 'body', field, secret });
}

/**
 * Signs each attempt, when the limiter has given its permit and all other credentials are added. So a time in the
 * signature is that of sending, and a retry is signed again.
 *
 * The secret itself is not sent. What `fn` adds is redacted as a secret is, but for times and numbers, and its query
 * parameters are removed from addresses of next pages.
 *
 * @param fn returns the headers and query parameters to add. It has `timeouts.total` of the client.
 *
 * @example
 * import { createHmac } from 'node:crypto';
 *
 * sign({ env: 'BINANCE_SECRET' }, ({ url }, secret) => {
 *   const timestamp = String(Date.now());
 *   const query = [...new URL(url).search.slice(1).split('&'), `timestamp=${timestamp}`].filter(Boolean).join('&');
 *   return { query: { timestamp, signature: createHmac('sha256', secret).update(query).digest('hex') } };
 * });
 *
 * @throws ConfigError if `fn` is not a function. At a request: if it fails, or returns anything else.
 */
export function sign(secret: Secret, fn: SignFunction): Credential {
  if (typeof fn !== 'function')
    throw new ConfigError(`sign needs a function that signs a request, and not ${inWords(fn)}.`, { option: 'fn' });
  return Object.freeze({ kind: 'sign', secret, sign: fn });
}

/** A token that `oauth2` passes to `save`. */
export interface SavedToken {
  /** The refresh token that replaces the one before, which the server may refuse from now on. */
  readonly refreshToken: string;
  readonly accessToken: string;
  /** Wall time in ms at which the access token expires, if the server says so. */
  readonly expiresAt: number | undefined;
}

/** Options of {@link oauth2}. */
export interface OAuth2Options {
  /** Where tokens are requested, e.g. `https://auth.example.com/oauth/token`, or `/oauth/token` below the base URL. */
  readonly tokenUrl: string;
  /** The id itself, or the environment variable that has it. */
  readonly clientId: string | EnvironmentValue;
  /** Default: none, for a public client. */
  readonly clientSecret?: StoredSecret;
  /** Where the client's id and secret go: into a header (Basic, the default) or into the form of the request. */
  readonly clientIn?: 'header' | 'body';
  /** Separated by blanks. */
  readonly scope?: string;
  /** Further parameters that the server wants, e.g. `{ audience: 'https://api.example.com' }`. */
  readonly params?: Readonly<Record<string, string>>;
  /** The refresh token to begin with. Default: none; tokens are requested with the client's own credentials. */
  readonly refreshToken?: StoredSecret;
  /**
   * Stores a token with the new refresh token that the server issued, before either is used. Without it, a server that
   * replaces refresh tokens refuses the next start.
   */
  readonly save?: (token: SavedToken) => void | Promise<void>;
}

/**
 * Sends a bearer token that a token server issues (OAuth 2, RFC 6749): by client credentials (section 4.4), or by a
 * refresh token (section 6). Tokens are kept in memory only. A new one is requested when the old one has expired or was
 * refused; requests that need one together share it.
 *
 * @example
 * oauth2({ tokenUrl: 'https://auth.example.com/token', clientId: 'sluice', clientSecret: { env: 'SHOP_SECRET' } })
 *
 * @throws ConfigError if the client's id is empty.
 */
export function oauth2(options: OAuth2Options): Credential {
  checkOptions('oauth2()', options, {
    tokenUrl: 'text',
    clientId: 'text or an object',
    clientSecret: 'anything?',
    clientIn: 'text?',
    scope: 'text?',
    params: 'an object?',
    refreshToken: 'anything?',
    save: 'a function?',
  });
  const { clientId }: { readonly clientId: unknown } = options;
  if (clientId === '' || (isRecord(clientId) && typeof clientId['env'] !== 'string'))
    throw new ConfigError("oauth2 needs a clientId: the id, or { env: 'NAME' } for that of a variable.", {
      option: 'clientId',
    });
  return Object.freeze({ ...options, kind: 'oauth2' });
}
