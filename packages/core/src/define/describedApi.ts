import { checkOptions } from '../checks.js';
import { type Auth, type Credential, loginOf, ownCredentials, variablesOf } from '../auth/auth.js';
import type { Limit } from '../http/limit/limit.js';
import type { Endpoint, EndpointOptions } from '../plugins/plugin.js';
import type { Query } from '../http/query.js';

/** Single requests to an API. */
export interface ApiRequests {
  /**
   * Gets one JSON document, with the API's limiter, credentials, retries and deadlines. A number that `JSON.parse`
   * would change, e.g. an id beyond 2^53, is returned as text.
   *
   * @param path below the base URL, with a leading slash
   *
   * @example const limits = await client.coins.get('/limits', { query: { plan: 'free' } });
   */
  get(path: string, options?: { readonly query?: Query; readonly signal?: AbortSignal }): Promise<unknown>;
}

/** One credential by which an API recognizes its caller. It contains no secret, only the secret's origin. */
export interface AuthDescription {
  /** `client-key` is the client's `apiKey`, which is sent as `X-API-Key`. */
  readonly kind: 'client-key' | 'bearer' | 'header' | 'basic' | 'query' | 'path' | 'body' | 'sign' | 'oauth2';
  /** The name of the header, the query parameter or the field, or the path with a name in braces for the secret. */
  readonly name?: string;
  /** Where OAuth tokens are requested. */
  readonly tokenUrl?: string;
  /** The address of the login that gives the secret: a path below the base URL, or a URL. */
  readonly login?: string;
  /** The environment variables with its secrets. Empty if code provides them. */
  readonly variables: readonly string[];
}

/** An API, e.g. for a command line. */
export interface ApiDescription {
  readonly name: string;
  readonly baseUrl: string;
  /** Every request gets all of these credentials. */
  readonly auth: readonly AuthDescription[];
  /** The API's own limits, besides the client's. */
  readonly limits: readonly Limit[];
  /** Present if responses steer the limiter of the API. Times are in ms. */
  readonly quota?: { readonly concurrency: number; readonly maxQuotaWait: number };
}

/** One API on a client. */
export interface Api extends ApiRequests {
  /** Describes the API without a request. */
  describe(): ApiDescription;
  /** Whether a text contains a secret of the client, in any spelling. */
  isSecret(text: string): boolean;
  /** A text without the client's secrets. */
  redact(text: string): string;
}

/** The actions that tools may take on an API that `defineApi` has opened. */
export function describedApi(name: string, endpoint: Endpoint, options: EndpointOptions): Api {
  const { auth, rateLimit, quota } = options;
  const limits = [rateLimit ?? []].flat().filter((limit) => limit !== false);
  return Object.freeze<Api>({
    async get(path, options = {}) {
      checkOptions(`get() of ${name}`, options, { query: true, signal: true });
      const { query = {}, signal } = options;
      return endpoint.request({ route: `${name}.get`, path, query, ...(signal && { signal }) });
    },
    isSecret: (text) => endpoint.isSecret(text),
    redact: (text) => endpoint.redact(text),
    describe: () => ({
      name,
      baseUrl: endpoint.baseUrl,
      auth: describeAuth(auth, name),
      limits,
      ...(quota && { quota: { concurrency: quota.concurrency, maxQuotaWait: quota.maxQuotaWait } }),
    }),
  });
}

function describeAuth(auth: Auth | undefined, name: string): readonly AuthDescription[] {
  const own = ownCredentials(auth, name);
  return own ? own.map(withLogin) : [{ kind: 'client-key', name: 'X-API-Key', variables: [] }];
}

function withLogin(credential: Credential): AuthDescription {
  const login = loginOf(credential);
  return { ...describeCredential(credential), ...(login !== undefined && { login }) };
}

function describeCredential(credential: Credential): AuthDescription {
  const variables = variablesOf([credential]);
  switch (credential.kind) {
    case 'header': {
      const { name, prefix } = credential;
      return { kind: prefix === 'Bearer ' ? 'bearer' : 'header', name, variables };
    }
    case 'query':
      return { kind: 'query', name: credential.param, variables };
    case 'path':
      return { kind: 'path', name: credential.path, variables };
    case 'body':
      return { kind: 'body', name: credential.field, variables };
    case 'oauth2':
      return { kind: 'oauth2', tokenUrl: credential.tokenUrl, variables };
    case 'basic':
    case 'sign':
      return { kind: credential.kind, variables };
  }
}
