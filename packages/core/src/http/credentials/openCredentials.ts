import type { Clock } from '../../clock.js';
import { ConfigError } from '../../errors.js';
import { type ApiKey, KeyRing, type KeyRules } from './apiKey.js';
import type { BasicPair, OAuth2Options, OwnAuth, Secret } from './auth.js';
import { type ApiCredentials, stampedWith, type Stamped } from './credentials.js';
import { tokenCredentials } from './oauth2.js';
import { checkBaseUrl } from '../origin.js';
import { encodeQuery } from '../query.js';
import type { Secrets } from './secrets.js';
import { formEncoded, requestToken, type TokenServer } from './tokenRequest.js';

export interface AuthTools extends Pick<TokenServer, 'call' | 'limiter'> {
  /** The API, for messages. */
  readonly api: string;
  readonly secrets: Secrets;
  /** Ms in which a response may still quote a secret after it was replaced. */
  readonly echoedFor: number;
  readonly clock: Clock;
  readonly sha256: ((text: string) => Promise<string>) | undefined;
  /** The environment variables. */
  readonly variables: Readonly<Record<string, unknown>>;
  readonly allowInsecure: boolean;
  readonly warn: (message: string) => void;
}

/** What a secret may be, and what must not be shown of it. */
interface SecretForm extends Pick<KeyRules, 'hidden'> {
  /** Default: printable ASCII, which any header may have. */
  readonly form?: RegExp;
}

/** Shorter secrets occur in texts by chance, so that redaction would garble messages. */
const shortestRedacted = 6;

/**
 * Opens the credentials of an API. A variable that is not set is an error of the first request, so that what needs no
 * request, such as help, works without it.
 *
 * @throws ConfigError if a secret cannot be sent or has an empty id, or the token URL is not an `https:` URL.
 */
export function openCredentials(auth: OwnAuth, tools: AuthTools): ApiCredentials {
  const name = `credential of ${tools.api}`;
  const opened = (
    secret: Secret | false,
    stamp: (secret: string) => Stamped,
    more: { readonly param?: string } & SecretForm = {},
  ): ApiCredentials => {
    const ring = ringOf(secret, tools, more);
    if (ring instanceof KeyRing) return stampedWith(ring, stamp, { name, param: more.param });
    const reject = (): Promise<never> => Promise.reject(ring);
    const none = (): undefined => undefined;
    return {
      name,
      isSent: true,
      param: more.param,
      prepare: reject,
      current: none,
      renew: reject,
      fingerprint: reject,
    };
  };
  const openPair = ({ user, password = '' }: BasicPair): ApiCredentials => {
    const named = typeof user === 'string' ? { secret: password, before: `${user}:`, after: '' } : undefined;
    const { secret, before, after } = named ?? { secret: user, before: '', after: `:${textIn(password)}` };
    const pair = (text: string): string => before + text + after;
    return opened(secret, (text) => ({ headers: { Authorization: `Basic ${base64(pair(text))}` } }), {
      hidden: (text) => [text, pair(text)],
      // The pair is sent in base64, so it may have any characters, but only a password may have a colon.
      form: named ? /^\P{Cc}+$/u : /^[^:\p{Cc}]+$/u,
    });
  };
  switch (auth.kind) {
    case 'none':
      return opened(false, () => ({ headers: {} }));
    case 'header':
      return opened(auth.secret, (text) => ({ headers: { [auth.name]: auth.prefix + text } }));
    case 'query': {
      const { param, secret } = auth;
      return opened(secret, (text) => ({ headers: {}, query: encodeQuery({ [param]: text }, 'repeat') }), { param });
    }
    case 'basic':
      return openPair(auth);
    case 'oauth2':
      return openTokens(auth, tools);
    default:
      throw new ConfigError(
        `The auth of ${tools.api} is none that this version knows. Make it with bearer, basic or the like.`,
      );
  }
}

function openTokens(
  { tokenUrl, clientId, clientSecret, clientIn = 'header', scope, params, refreshToken, save }: OAuth2Options,
  tools: AuthTools,
): ApiCredentials {
  const { api, allowInsecure } = tools;
  // Some servers quote what they were sent.
  const hidden = (secret: string): readonly string[] => [secret, formEncoded(secret)];
  const textOf = (secret: Secret | undefined): (() => Promise<string>) | undefined => {
    if (secret === undefined) return undefined;
    const ring = ringOf(secret, tools, { hidden });
    return () => (ring instanceof KeyRing ? ring.get() : Promise.reject(ring));
  };
  const url = checkBaseUrl(tokenUrl, { plugin: api, allowInsecure, what: 'token URL', option: 'tokenUrl' });
  const server = {
    ...tools,
    url,
    clientId,
    clientIn,
    clientSecret: textOf(clientSecret),
    params: { ...params, scope },
  };
  return tokenCredentials({
    ...tools,
    tokenUrl: url,
    clientId,
    scope,
    save,
    refreshToken: textOf(refreshToken),
    request: (grant) => requestToken(server, grant),
  });
}

function ringOf(secret: Secret | false, tools: AuthTools, form: SecretForm): KeyRing | ConfigError {
  const source = sourceOf(secret, tools);
  if (source instanceof ConfigError) return source;
  const { secrets, echoedFor, sha256, clock } = tools;
  const id = typeof secret === 'object' && 'id' in secret ? secret.id : undefined;
  return new KeyRing(source, { secrets, echoedFor, sha256, clock, id, rules: rulesOf(tools, form) });
}

function sourceOf(secret: Secret | false, { variables, api }: AuthTools): ApiKey | false | ConfigError {
  if (typeof secret !== 'object') return secret;
  if ('get' in secret) {
    if (secret.id === '') throw new ConfigError(`The credential of ${api} has an empty id.`, { api });
    return secret.get;
  }
  const { env } = secret;
  const value = variables[env];
  // Like the client's own key in the environment, it may come with a line break.
  if (typeof value === 'string' && value.trim() !== '') return value.trim();
  return new ConfigError(`${api} needs its credential: set the environment variable ${env}.`, { api, env });
}

function rulesOf({ api, warn }: AuthTools, { hidden, form = /^[\x20-\x7e]+$/ }: SecretForm): KeyRules {
  return {
    failed: `The function that fetches the credential of ${api} failed. Call it by itself to see why.`,
    check(secret) {
      if (typeof secret !== 'string' || secret === '')
        throw new ConfigError(`The credential of ${api} is empty.`, { api });
      if (!form.test(secret) || secret !== secret.trim())
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

/** @throws ConfigError if it is a secret. */
function textIn(password: Secret): string {
  if (typeof password === 'string') return password;
  throw new ConfigError('basic takes one secret: the user or the password.', { option: 'password' });
}

function base64(text: string): string {
  return btoa(Array.from(new TextEncoder().encode(text), (byte) => String.fromCharCode(byte)).join(''));
}
