import { unknownOption } from '../checks.js';
import { ConfigError } from '../errors.js';
import { kindOf } from '../values.js';
import type { ApiCredentials } from '../http/credentials.js';
import { addressOf, checkBaseUrl } from '../http/origin.js';
import { withoutParam } from '../http/query.js';
import { clientKey } from '../http/response/readResponse.js';
import { shortestSecret } from '../http/secrets.js';
import type { Stamped } from '../http/stamp.js';
import {
  type BasicPair,
  checkUser,
  type Credential,
  type EnvironmentValue,
  type OAuth2Options,
  type Secret,
  variablesOf,
} from './auth.js';
import { joinCredentials } from './joinCredentials.js';
import {
  type ApiKey,
  type CredentialTools,
  RenewedSecret,
  type SecretRules,
  type SecretIssuer,
} from './renewedSecret.js';
import { TokenIssuer } from './tokenIssuer.js';
import { type LoginTools, openLogin } from './openLogin.js';
import { Signatures } from './signing.js';
import { formEncode, requestToken, type TokenServer } from './tokenRequest.js';

export interface AuthTools extends LoginTools, Pick<TokenServer, 'limiter'> {
  /** The environment variables. */
  readonly variables: Readonly<Record<string, unknown>>;
  readonly warn: (message: string) => void;
}

/** What a secret may be, and what must not be shown of it. */
interface SecretForm extends Partial<Pick<SecretRules, 'hidden'>> {
  /** Default: printable ASCII, which any header may have. */
  readonly form?: RegExp;
}

/** Shorter secrets occur in texts by chance, so that redaction would garble messages. */
const shortestRedacted = 6;

/** What was given instead of a secret, by its kind only: a number might be one. */
function noSecret(given: unknown): string {
  return given === '' ? 'empty' : kindOf(given);
}

/** Opens the client's own key. @throws ConfigError if it cannot be sent, or is too short to be redacted. */
export function openApiKey(apiKey: ApiKey | false, tools: CredentialTools): ApiCredentials {
  return keyCredentials(new RenewedSecret(apiKey, apiKeyRules, tools), (key) => ({ headers: { 'X-API-Key': key } }), {
    name: clientKey,
  });
}

const apiKeyRules: SecretRules = {
  failed: 'The function given as apiKey failed, so there is no key to send. Call it by itself to see why.',
  check(key) {
    if (typeof key !== 'string' || key === '')
      throw new ConfigError(`The API key is ${noSecret(key)}. Set apiKey to the key of your project.`);
    if (!/^[\x21-\x7e]+$/.test(key))
      throw new ConfigError(
        'The API key has a space, a line break or a special character in it. Was it read from a file? Trim it.',
      );
    // A short key occurs in texts by chance: cursors would seem to contain it, and redaction would garble messages.
    if (key.length < shortestSecret)
      throw new ConfigError(
        `The API key has fewer than ${shortestSecret} characters, which is too short to be kept out of messages and files. Is the key complete?`,
      );
  },
  hidden: (key) => [key],
};

/**
 * Opens the credentials of an API: none, one or several. A variable that is not set is an error of the first request, so that what needs no
 * request, such as help, works without it.
 *
 * @throws ConfigError if a secret cannot be sent or has an empty id, two would have the same place, or the token URL is
 * not an `https:` URL.
 */
export function openCredentials(auth: readonly Credential[], tools: AuthTools): ApiCredentials {
  const { api } = tools;
  const name = `credential of ${api}`;
  const places = auth.map(placeOf);
  const twice = places.find((place, nth) => places.indexOf(place) < nth);
  if (twice !== undefined)
    throw new ConfigError(`Two credentials of ${api} would be sent in ${twice}. Leave one of them out.`, { api });
  const all = auth.map((each) => openCredential(each, tools, name));
  const unset = variablesOf(auth).filter((env) => valueOf(env, tools) === undefined);
  const [first = keyCredentials(openRenewed(false, tools), () => ({}), { name })] = all;
  const opened = all.length > 1 ? joinCredentials(all, { name, ...tools }) : first;
  // One error names them all.
  return unset.length > 1 ? { ...opened, prepare: () => Promise.reject(missing(api, unset)) } : opened;
}

/** What two credentials can't both have. */
function placeOf(auth: Credential): string {
  switch (auth.kind) {
    case 'header':
      return `the header ${auth.name.toLowerCase()}`;
    case 'basic':
    case 'oauth2':
      return 'the header authorization';
    case 'query':
      return `the query parameter ${JSON.stringify(auth.param)}`;
    case 'path':
      return 'the path';
    case 'body':
      return `the field ${JSON.stringify(auth.field)} of the body`;
    case 'sign':
      return 'the signature';
  }
}

function openCredential(auth: Credential, tools: AuthTools, name: string): ApiCredentials {
  switch (auth.kind) {
    case 'header':
      return keyCredentials(
        openRenewed(auth.secret, tools),
        (secret) => ({ headers: { [auth.name]: auth.prefix + secret } }),
        { name },
      );
    case 'query': {
      const { param } = auth;
      const stamp = (secret: string): Stamped => ({ query: { [param]: secret } });
      const withoutSecret = (address: string): string => withoutParams(address, [param]);
      return keyCredentials(openRenewed(auth.secret, tools), stamp, { name, withoutSecret });
    }
    case 'path': {
      const pathOf = (secret: string): string => auth.path.replace(/\{\w+\}/, () => encodeSegment(secret));
      const renewed = openRenewed(auth.secret, tools, { form: /^(?!\.{1,2}$)[\x21-\x7e]+$/ });
      return keyCredentials(renewed, (secret) => ({ path: pathOf(secret) }), {
        name,
        withoutSecret: (address, secret) => (secret === '' ? address : withoutPath(address, pathOf(secret))),
      });
    }
    case 'body': {
      const stamp = (secret: string): Stamped => ({ body: { [auth.field]: secret } });
      return keyCredentials(openRenewed(auth.secret, tools, { form: /^\P{Cc}+$/u }), stamp, { name });
    }
    case 'sign': {
      const signatures = new Signatures(tools.api, auth.sign, tools.secrets);
      const stamp = (secret: string): Stamped => ({ sign: (request) => signatures.sign(request, secret) });
      return keyCredentials(openRenewed(auth.secret, tools, { form: /^\P{Cc}+$/u }), stamp, {
        name,
        withoutSecret: (address) => withoutParams(address, signatures.params),
      });
    }
    case 'basic':
      return openPair(auth, tools, name);
    case 'oauth2':
      return openTokens(auth, tools);
    default:
      throw new ConfigError(
        `The auth of ${tools.api} is none that this version knows. Make it with bearer, basic or the like.`,
      );
  }
}

function openPair({ user, password = '' }: BasicPair, tools: AuthTools, name: string): ApiCredentials {
  const isKey = typeof user !== 'string' && typeof password === 'string';
  const userName = isKey ? undefined : nameOfUser(user, tools);
  const pair = (text: string): string => (isKey ? `${text}:${password}` : `${userName}:${text}`);
  // Of a name whose variable is not set, that is the error.
  const secret = isKey || userName === undefined ? user : password;
  const renewed = openRenewed(secret, tools, {
    hidden: (text) => [text, pair(text)],
    // The pair is sent in base64, so it may have any characters, but only a password may have a colon.
    form: isKey ? /^[^:\p{Cc}]+$/u : /^\P{Cc}+$/u,
  });
  return keyCredentials(renewed, (text) => ({ headers: { Authorization: `Basic ${base64(pair(text))}` } }), { name });
}

/** The user beside a password; `undefined` if its variable is not set. */
function nameOfUser(user: BasicPair['user'], tools: AuthTools): string | undefined {
  if (typeof user === 'string') return user;
  if (typeof user !== 'object' || !('env' in user))
    throw new ConfigError('basic takes one secret: the user or the password.', { option: 'user' });
  const name = valueOf(user.env, tools);
  checkUser(name);
  return name;
}

function openTokens(options: OAuth2Options, tools: AuthTools): ApiCredentials {
  const { api, allowInsecure, baseUrl } = tools;
  const { tokenUrl: url, clientId: client, clientSecret, clientIn = 'header', scope, params, refreshToken } = options;
  const tokenUrl = url.startsWith('/')
    ? addressOf(baseUrl, url).href
    : checkBaseUrl(url, { plugin: api, allowInsecure, what: 'token URL', option: 'tokenUrl' });
  const clientId = (): string => textOf(client, tools);
  const openSecret = (secret: Secret | undefined): (() => Promise<string>) | undefined => {
    if (secret === undefined) return undefined;
    // The compiler refuses it. Tokens are also requested with a permit, with which nothing may log in.
    if (typeof secret === 'object' && 'login' in secret)
      throw new ConfigError(`The secrets of oauth2 of ${api} can't come from a login.`, { api });
    // Some servers quote what they were sent.
    const renewed = openRenewed(secret, tools, { hidden: (text) => [text, formEncode(text)] });
    return () => renewed.get();
  };
  const server: TokenServer = {
    ...tools,
    url: tokenUrl,
    clientId,
    clientIn,
    clientSecret: openSecret(clientSecret),
    params: { ...params, scope },
  };
  const issuer = new TokenIssuer({
    ...tools,
    ...options,
    tokenUrl,
    clientId,
    initialToken: openSecret(refreshToken),
    request: (grant) => requestToken(server, grant),
  });
  const renewed = new RenewedSecret(issuer, tokenRules, tools);
  return keyCredentials(renewed, (token) => ({ headers: { Authorization: `Bearer ${token}` } }), {
    name: `token of ${api}`,
  });
}

/** Its issuer has checked a token, and hides it before it can be quoted. */
const tokenRules: SecretRules = { failed: '', check: () => undefined, hidden: () => [] };

/** How a credential with a renewed secret is named, and taken out of addresses. */
interface KeyTraits {
  readonly name: string;
  /** Default: addresses have nothing of it. */
  readonly withoutSecret?: (address: string, secret: string) => string;
}

/** Credentials with the current one of a renewed secret. */
function keyCredentials(
  renewed: RenewedSecret,
  stamp: (secret: string) => Stamped,
  { name, withoutSecret = (address) => address }: KeyTraits,
): ApiCredentials {
  let last: { readonly secret: string; readonly stamped: Stamped } | undefined;
  return {
    name,
    isSent: renewed.hasKey,
    withoutSecret: (address) => withoutSecret(address, last?.secret ?? ''),
    async prepare({ hasPermit, untimed }) {
      // A login takes permits, of which the attempt may have the last one. Then the token is sent that there is.
      if (renewed.takesPermits && hasPermit && last) return;
      const secret = renewed.takesPermits ? await untimed(renewed.get()) : await renewed.get();
      if (last?.secret !== secret) last = { secret, stamped: secret === '' ? {} : stamp(secret) };
    },
    current: (evenExpired) => (renewed.hasExpired && !evenExpired ? undefined : last?.stamped),
    notRefused(sent, isOutage) {
      if (last?.stamped === sent) renewed.notRefused(isOutage);
    },
    refusedAgain(sent) {
      if (last?.stamped === sent) renewed.refusedAgain();
    },
    renew: async (refused) => last?.stamped !== refused || renewed.renew(last.secret),
    fingerprint: (salt) => renewed.fingerprint(salt),
  };
}

function openRenewed(secret: Secret | false, tools: AuthTools, form: SecretForm = {}): RenewedSecret {
  const { hidden = (text: string): readonly string[] => [text], form: allowed = /^[\x20-\x7e]+$/ } = form;
  const { api, warn } = tools;
  const rules: SecretRules = {
    id: typeof secret === 'object' && 'id' in secret ? secret.id : undefined,
    failed: `The function that fetches the credential of ${api} failed. Call it by itself to see why.`,
    check(text) {
      if (typeof text !== 'string' || text === '')
        throw new ConfigError(`The credential of ${api} is ${noSecret(text)}.`, { api });
      if (!allowed.test(text) || text !== text.trim())
        throw new ConfigError(
          `The credential of ${api} has a line break, a special character, or a blank at an end. Was it read from a file? Trim it.`,
          { api },
        );
      if (text.length < shortestRedacted)
        warn(`The credential of ${api} is too short to be kept out of messages and files. Is it complete?`);
    },
    hidden: (text) => hidden(text).filter(({ length }) => length >= shortestRedacted),
  };
  return new RenewedSecret(findSource(secret, tools), rules, tools);
}

function findSource(secret: Secret | false, tools: AuthTools): ApiKey | false | ConfigError | SecretIssuer {
  const { api } = tools;
  if (typeof secret !== 'object') return secret;
  if ('login' in secret) return openLogin(secret.login, openCredentials(secret.login.auth, tools), tools);
  const unknown = unknownOption(secret, { env: true, ...(!('env' in secret) && { id: true, get: true }) });
  if (unknown !== undefined) throw new ConfigError(`The credential of ${api} ${unknown}`, { api });
  if ('get' in secret) {
    if (secret.id === '') throw new ConfigError(`The credential of ${api} has an empty id.`, { api });
    return secret.get;
  }
  const { env } = secret;
  const value = valueOf(env, tools);
  if (value !== undefined) return value;
  return missing(api, [env]);
}

/** A text that is no secret, itself or in a variable. @throws ConfigError if that is not set. */
function textOf(given: string | EnvironmentValue, tools: AuthTools): string {
  if (typeof given === 'string') return given;
  const value = valueOf(given.env, tools);
  if (value === undefined) throw missing(tools.api, [given.env]);
  return value;
}

function valueOf(env: string, { variables }: AuthTools): string | undefined {
  const value = variables[env];
  // Like the client's own key in the environment, it may come with a line break.
  return typeof value === 'string' && value.trim() !== '' ? value.trim() : undefined;
}

function missing(api: string, names: readonly string[]): ConfigError {
  const [credential, variable] = names.length > 1 ? ['credentials', 'variables'] : ['credential', 'variable'];
  const env = names.join(' and ');
  return new ConfigError(`${api} needs its ${credential}: set the environment ${variable} ${env}.`, { api, env });
}

const addressParts = /^([^?#]*)(\?[^#]*)?(.*)$/s;

function withoutParams(address: string, params: readonly string[]): string {
  const [, path = '', query = '', fragment = ''] = addressParts.exec(address) ?? [];
  return path + params.reduce(withoutParam, query) + fragment;
}

/** An address without the segments of a path with a secret, however they are encoded. */
function withoutPath(address: string, secretPath: string): string {
  const [, path = '', query = '', fragment = ''] = addressParts.exec(address) ?? [];
  const segments = path.split('/');
  const secret = secretPath.split('/').slice(1).map(decodeSegment);
  const from = segments.findIndex(
    (_, at) => at > 0 && secret.every((text, nth) => decodeSegment(segments[at + nth] ?? '') === text),
  );
  if (from < 0) return address;
  segments.splice(from, secret.length);
  return (segments.length === 1 && path.startsWith('/') ? '/' : segments.join('/')) + query + fragment;
}

/** A segment of a path (RFC 3986, 3.3): what it may have as it is stays, as some servers compare it so. */
function encodeSegment(text: string): string {
  return encodeURIComponent(text).replace(/%(?:3A|40|24|26|2B|2C|3B|3D)/g, decodeURIComponent);
}

function decodeSegment(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function base64(text: string): string {
  return btoa(Array.from(new TextEncoder().encode(text), (byte) => String.fromCharCode(byte)).join(''));
}
