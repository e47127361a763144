import { checkOptions } from '../../checks.js';
import { ConfigError } from '../../errors.js';
import { inWords, shownText } from '../../values.js';
import type { ApiKey } from './keyRing.js';

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
export type Secret = ApiKey | NamedSecret;

type NamedSecret = { readonly env: string } | { readonly id: string; readonly get: Exclude<ApiKey, string> };

/** The user name and the password of {@link basic}, one of which is the secret. */
export type BasicPair =
  | { readonly user: string; readonly password: Secret }
  | {
      /** A key in place of a user name: not as text, which would be a name that may be shown. */
      readonly user: Exclude<Secret, string>;
      /** What the API wants beside the key, which is no secret. Default: empty. */
      readonly password?: string;
    };

/**
 * How an API recognizes its caller: made by `bearer`, `basic`, `header`, `queryKey` or `oauth2`, or `noAuth` or
 * `sharedKey`.
 */
export type Auth =
  | { readonly kind: 'none' }
  | { readonly kind: 'shared' }
  | { readonly kind: 'header'; readonly name: string; readonly prefix: string; readonly secret: Secret }
  | ({ readonly kind: 'basic' } & BasicPair)
  | { readonly kind: 'query'; readonly param: string; readonly secret: Secret }
  | ({ readonly kind: 'oauth2' } & OAuth2Options);

/** Credentials that only their own API receives. */
export type OwnAuth = Exclude<Auth, { readonly kind: 'shared' }>;

/** No credentials: the API never receives the client's key either. */
export const noAuth: Auth = Object.freeze({ kind: 'none' });

/**
 * The client's own key, as `X-API-Key`. An API without `auth` gets it, too, but with a warning if another API at
 * another address gets the same key.
 *
 * @example const api = coins({ baseUrl, auth: sharedKey });
 */
export const sharedKey: Auth = Object.freeze({ kind: 'shared' });

/**
 * Sends a token as `Authorization: Bearer TOKEN` (RFC 6750).
 *
 * @example const api = coins({ baseUrl, auth: bearer({ env: 'COINS_TOKEN' }) });
 */
export function bearer(secret: Secret): Auth {
  return Object.freeze({ kind: 'header', name: 'Authorization', prefix: 'Bearer ', secret });
}

/**
 * Sends a user name and a password as `Authorization: Basic …` (RFC 7617), in UTF-8. Some APIs take a key as the user
 * name, with no password or a fixed one: the user is the secret then.
 *
 * @example
 * basic({ user: 'apikey', password: { env: 'SHOP_PASSWORD' } })
 * basic({ user: { env: 'STRIPE_KEY' } })                    // no password
 * basic({ user: { env: 'FRESHDESK_KEY' }, password: 'X' })
 *
 * @throws ConfigError if the user name has a colon, which RFC 7617 forbids, or a control character. The same later, if
 * it is a secret.
 */
export function basic(pair: BasicPair): Auth {
  checkOptions('basic()', pair, { user: 'anything', password: 'anything?' });
  if (typeof pair.user === 'string' && /[:\p{Cc}]/u.test(pair.user))
    throw new ConfigError('The user name of basic must not have a colon or a control character.', { option: 'user' });
  return Object.freeze({ kind: 'basic', ...pair });
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
export function header(name: string, secret: Secret, options: { readonly prefix?: string } = {}): Auth {
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
export function queryKey(param: string, secret: Secret): Auth {
  if (typeof param !== 'string' || param === '')
    throw new ConfigError('queryKey needs the name of a query parameter.', { option: 'param' });
  return Object.freeze({ kind: 'query', param, secret });
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
  /** Where tokens are requested, e.g. `https://auth.example.com/oauth/token`. */
  readonly tokenUrl: string;
  readonly clientId: string;
  /** Default: none, for a public client. */
  readonly clientSecret?: Secret;
  /** Where the client's id and secret go: into a header (Basic, the default) or into the form of the request. */
  readonly clientIn?: 'header' | 'body';
  /** Separated by blanks. */
  readonly scope?: string;
  /** Further parameters that the server wants, e.g. `{ audience: 'https://api.example.com' }`. */
  readonly params?: Readonly<Record<string, string>>;
  /** The refresh token to begin with. Default: none; tokens are requested with the client's own credentials. */
  readonly refreshToken?: Secret;
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
export function oauth2(options: OAuth2Options): Auth {
  checkOptions('oauth2()', options, {
    tokenUrl: 'text',
    clientId: 'text',
    clientSecret: 'anything?',
    clientIn: 'text?',
    scope: 'text?',
    params: 'an object?',
    refreshToken: 'anything?',
    save: 'a function?',
  });
  if (options.clientId === '') throw new ConfigError('oauth2 needs a clientId.', { option: 'clientId' });
  return Object.freeze({ ...options, kind: 'oauth2' });
}
