import { ConfigError } from '../errors.js';
import { KeyRing, type ApiKey, type KeyRules } from './apiKey.js';
import { stampedWith, type ApiCredentials, type Stamped } from './credentials.js';
import { encodeQuery } from './query.js';
import type { Secrets } from './secrets.js';

/**
 * A secret of an API: the text, the environment variable that has it, or a function that fetches it. The function is
 * called before the first request, and again when the API refuses the secret with 401 (`reason: 'refused'`).
 */
export type Secret = ApiKey | { readonly env: string };

/** How an API recognizes its caller: made by `bearer`, `basic`, `header` or `queryKey`, or `noAuth`. */
export type Auth =
  | { readonly kind: 'none' }
  | { readonly kind: 'header'; readonly name: string; readonly prefix: string; readonly secret: Secret }
  | { readonly kind: 'basic'; readonly user: string; readonly password: Secret }
  | { readonly kind: 'query'; readonly param: string; readonly secret: Secret };

/** No credentials: the API never receives the client's key either. */
export const noAuth: Auth = Object.freeze({ kind: 'none' });

/**
 * Sends a token as `Authorization: Bearer TOKEN` (RFC 6750).
 *
 * @example defineApi({ name: 'github', auth: bearer({ env: 'GITHUB_TOKEN' }), sources: { … } })
 */
export function bearer(secret: Secret): Auth {
  return Object.freeze({ kind: 'header', name: 'Authorization', prefix: 'Bearer ', secret });
}

/**
 * Sends a user name and a password as `Authorization: Basic …` (RFC 7617), in UTF-8.
 *
 * @example basic({ user: 'apikey', password: { env: 'SHOP_PASSWORD' } })
 *
 * @throws ConfigError if the user name has a colon, which RFC 7617 forbids, or a control character.
 */
export function basic({ user, password }: { readonly user: string; readonly password: Secret }): Auth {
  if (/[:\p{Cc}]/u.test(user))
    throw new ConfigError('The user name of basic must not have a colon or a control character.', { option: 'user' });
  return Object.freeze({ kind: 'basic', user, password });
}

/**
 * Sends a secret in a header of its own.
 *
 * @param prefix what precedes the secret in the header, e.g. `Token `. Default: nothing.
 *
 * @example header('X-Auth-Key', { env: 'SHOP_KEY' })
 *
 * @throws ConfigError if the name cannot be that of a header (RFC 9110, 5.6.2).
 */
export function header(name: string, secret: Secret, { prefix = '' }: { readonly prefix?: string } = {}): Auth {
  if (!/^[!#$%&'*+\-.^_`|~\w]+$/.test(name))
    throw new ConfigError(`${JSON.stringify(name.slice(0, 100))} can't be the name of a header.`, { option: 'name' });
  return Object.freeze({ kind: 'header', name, prefix, secret });
}

/**
 * Sends a secret in the query. Prefer a header where the API takes one: servers and proxies log URLs. Links, events and
 * errors never see it, and it is removed from addresses of next pages.
 *
 * @example queryKey('api_key', { env: 'WEATHER_KEY' })
 */
export function queryKey(param: string, secret: Secret): Auth {
  if (param === '') throw new ConfigError('queryKey needs the name of a query parameter.', { option: 'param' });
  return Object.freeze({ kind: 'query', param, secret });
}

interface AuthTools {
  /** The API, for messages. */
  readonly api: string;
  readonly secrets: Secrets;
  readonly sha256?: ((text: string) => Promise<string>) | undefined;
  readonly variables: Readonly<Record<string, unknown>>;
  readonly warn: (message: string) => void;
}

/** Shorter secrets occur in texts by chance, so that redaction would garble messages. */
const shortestRedacted = 6;

/** Opens the credentials of an API. A variable that is not set is an error of the first request. */
export function credentialsOf(auth: Auth, tools: AuthTools): ApiCredentials {
  const { secrets, sha256, api } = tools;
  const ringOf = (secret: Secret | false, hidden?: KeyRules['hidden']): KeyRing | ConfigError => {
    const source = sourceOf(secret, tools);
    if (source instanceof ConfigError) return source;
    return new KeyRing(source, { secrets, sha256, rules: rulesOf(tools, hidden) });
  };
  const opened = (ring: KeyRing | ConfigError, stamp: (secret: string) => Stamped, param?: string): ApiCredentials =>
    ring instanceof KeyRing ? stampedWith(ring, stamp, param) : missing(ring, param);
  switch (auth.kind) {
    case 'none':
      return opened(ringOf(false), () => ({ headers: {} }));
    case 'header': {
      const { name, prefix, secret } = auth;
      return opened(ringOf(secret), (text) => ({ headers: { [name]: prefix + text } }));
    }
    case 'query': {
      const { param, secret } = auth;
      return opened(
        ringOf(secret),
        (text) => ({ headers: {}, query: encodeQuery({ [param]: text }, 'repeat') }),
        param,
      );
    }
    case 'basic': {
      const { user, password } = auth;
      const pair = (secret: string): string => `${user}:${secret}`;
      return opened(
        ringOf(password, (secret) => [secret, pair(secret)]),
        (secret) => ({
          headers: { Authorization: `Basic ${base64(pair(secret))}` },
        }),
      );
    }
    default:
      throw new ConfigError(
        `The auth of ${api} is none that this version knows. Make it with bearer, basic or the like.`,
      );
  }
}

function sourceOf(secret: Secret | false, { variables, api }: AuthTools): ApiKey | false | ConfigError {
  if (typeof secret !== 'object') return secret;
  const { env } = secret;
  const value = variables[env];
  if (typeof value === 'string' && value !== '') return value;
  return new ConfigError(`${api} needs its credential: set the environment variable ${env}.`, { api, env });
}

function missing(error: ConfigError, param: string | undefined): ApiCredentials {
  const reject = (): Promise<never> => Promise.reject(error);
  return { isSent: true, param, prepare: reject, renew: reject, fingerprint: reject };
}

function rulesOf({ api, warn }: AuthTools, hidden: KeyRules['hidden']): KeyRules {
  return {
    failed: `The function that fetches the credential of ${api} failed. Call it by itself to see why.`,
    check(secret) {
      if (typeof secret !== 'string' || secret === '')
        throw new ConfigError(`The credential of ${api} is empty.`, { api });
      if (!/^[\x20-\x7e]+$/.test(secret) || secret !== secret.trim())
        throw new ConfigError(
          `The credential of ${api} has a line break, a special character, or a blank at an end. Was it read from a file? Trim it.`,
          { api },
        );
      if (secret.length < shortestRedacted)
        warn(`The credential of ${api} is too short to be kept out of messages and files. Is it complete?`);
    },
    hidden: (secret) => (hidden?.(secret) ?? [secret]).filter((text) => text.length >= shortestRedacted),
  };
}

function base64(text: string): string {
  return btoa(Array.from(new TextEncoder().encode(text), (byte) => String.fromCharCode(byte)).join(''));
}
