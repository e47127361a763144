import { sha256, shortHasher } from '../identifiers.js';
import { jsonText } from '../json.js';
import { isRetriedStatus } from '../retriedStatuses.js';
import type { AttemptResponse } from '../http/adapter/adapter.js';
import { addressOf, checkBaseUrl } from '../http/origin.js';
import { encodeRequest } from '../http/requestDetails.js';
import { parseExactly } from '../http/response/exactNumbers.js';
import type { ReadResult } from '../http/response/readResponse.js';
import { type ResponseContext, statusFault } from '../http/response/statusFault.js';
import type { LoginSpec } from './auth.js';
import type { ApiCredentials } from '../http/credentials.js';
import type { Call } from '../http/exchange.js';
import type { Limiter } from '../http/limit/limiterTypes.js';
import type { TransportResponse } from '../http/transport.js';
import type { CredentialTools, SecretIssuer } from './renewedSecret.js';

export interface LoginTools extends CredentialTools {
  /** The API, for messages. */
  readonly api: string;
  readonly baseUrl: string;
  readonly allowInsecure: boolean;
  /** Gives the API's requests their permits. */
  readonly apiLimiter: Limiter;
  /** Sends a request past links, hooks and events, with retries and deadlines. */
  readonly call: (call: Call) => Promise<TransportResponse>;
}

/**
 * Opens a login, whose requests take permits of the API's own limiter. It must not be asked for a token by a request that
 * holds such a permit, as it could be the last one.
 *
 * @param auth the credentials of the login itself
 *
 * @throws ConfigError if its address is not below the base URL, and not an `https:` URL.
 */
export function openLogin(spec: LoginSpec, auth: ApiCredentials, tools: LoginTools): SecretIssuer {
  const { api, allowInsecure, baseUrl, apiLimiter: limiter, secrets, call } = tools;
  const route = `The login of ${api}`;
  const shortHash = shortHasher(tools.sha256 ?? sha256);
  const { url: given, path = '', method, headers, body } = spec;
  const { origin, pathname } =
    given === undefined
      ? addressOf(baseUrl, path)
      : new URL(checkBaseUrl(given, { plugin: api, allowInsecure, what: 'login URL', option: 'url' }));
  const url = origin + pathname;
  const message = encodeRequest(route, {
    method,
    isRepeatable: true,
    ...(headers && { headers }),
    ...(body !== undefined && { body }),
  });
  return {
    takesPermits: true,
    async issue() {
      const { status, headers, body } = await call({
        route,
        url,
        baseUrl: given === undefined ? origin + pathname.slice(0, -path.length) : undefined,
        limiter,
        shownUrl: () => secrets.redact(url),
        credentials: auth,
        read: (response, now) => readLogin(response, { route, secrets, now }),
        ...message,
      });
      return spec.read({ status, headers, body }, route);
    },
    // Not the token: the next one must be able to resume.
    async identify(salt) {
      const request = jsonText([url, method, { ...headers }, body ?? null]);
      return shortHash(`${salt}:${request}:${await auth.fingerprint(salt)}`);
    },
  };
}

function readLogin(response: AttemptResponse, context: ResponseContext): ReadResult {
  const { status, text } = response;
  if (status >= 200 && status < 300) return { ok: true, body: parsed(text) };
  const isRedirect = status >= 300 && status < 400;
  const hint = isRedirect || status === 404 ? "Check the login's address." : 'Check the credentials of the login.';
  const retry = isRetriedStatus(status);
  return { ok: false, fault: statusFault(response, context, { retry, hint: retry ? '' : hint, lower: 'rateLimit' }) };
}

/** A token may be in a header, so there may be no document. */
function parsed(text: string): unknown {
  try {
    return parseExactly(text);
  } catch {
    return undefined;
  }
}
