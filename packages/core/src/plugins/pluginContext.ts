import { checkOptions } from '../checks.js';
import type { Clock } from '../clock.js';
import { reportOf, textOf } from '../errorReport.js';
import { redactThrown } from '../redactError.js';
import { ConfigError } from '../errors.js';
import type { AccessBook } from '../http/apiAccess.js';
import { type Credential, ownCredentials } from '../auth/auth.js';
import type { ApiCredentials } from '../http/credentials.js';
import type { AuthTools } from '../auth/openCredentials.js';
import type { ApiLimiters, Steering } from '../http/limit/apiLimiters.js';
import { QuotaLimiter } from '../quota/quotaLimiter.js';
import { checkBaseUrl } from '../http/origin.js';
import type { Secrets } from '../http/secrets.js';
import { ResponseMeanings } from '../http/response/responseMeanings.js';
import { checkResponses } from '../http/response/responses.js';
import type { Transport } from '../http/transport.js';
import type { StateStore } from '../rows/sink/stateStore.js';
import { decodeSourceEvent } from './decodeSourceEvent.js';
import type { EventHub } from './eventHub.js';
import { endpointOptionNames, type ApiResponse, type ApiRequest, type Endpoint } from './plugin.js';
import type { EndpointOptions, PluginContext, PluginLogger } from './plugin.js';

const noEvent = 'It emitted something that is not an event of a source: it was dropped.';

/** What the plugins of a client share. Most of it is hidden from them. */
export interface ContextParts {
  readonly clock: Clock;
  readonly random: () => number;
  readonly hub: EventHub;
  readonly secrets: Secrets;
  readonly apis: AccessBook;
  /** The credentials of APIs that have none of their own: the client's key. */
  readonly shared: ApiCredentials;
  readonly limiters: ApiLimiters;
  /** Opens the credentials of an API that has its own. */
  readonly openCredentials: (
    auth: readonly Credential[],
    api: Pick<AuthTools, 'api' | 'baseUrl' | 'apiLimiter' | 'warn'>,
  ) => ApiCredentials;
  readonly transport: Transport;
  readonly closed: AbortSignal;
  readonly allowInsecure: boolean;
  readonly state: (plugin: string) => StateStore;
}

/** The context of one plugin, from which the key can't be reached. */
export function pluginContext(plugin: string, parts: ContextParts): PluginContext {
  const { clock, random, hub } = parts;
  // A plugin in JavaScript may pass anything.
  const logger: PluginLogger = Object.freeze({
    info: (message: unknown) => hub.emit('info', () => ({ type: 'info', message: textOf(message), plugin })),
    warn: (message: unknown) => hub.emit('warning', () => ({ type: 'warning', message: textOf(message), plugin })),
  });
  let state: StateStore | undefined;
  return Object.freeze({
    clock,
    random,
    logger,
    endpoint: (baseUrl: string, options: EndpointOptions = {}) => endpoint(baseUrl, plugin, options, parts, logger),
    // Made on first use: most plugins store nothing.
    get state() {
      return (state ??= parts.state(plugin));
    },
  });
}

function endpoint(
  baseUrl: string,
  plugin: string,
  options: EndpointOptions,
  parts: ContextParts,
  logger: PluginLogger,
): Endpoint {
  checkOptions(`endpoint() of ${plugin}`, options, endpointOptionNames);
  const { arrays = 'brackets', headers, auth, responses, quota, ...limits } = options;
  checkResponses(`endpoint() of ${plugin}`, responses);
  const { clock, secrets, apis, transport, allowInsecure, hub } = parts;
  const warn = (message: string): void => logger.warn(message);
  const ownAuth = ownCredentials(auth, plugin);
  if (secrets.has(baseUrl))
    throw new ConfigError('The base URL contains the API key. Leave it out: the key travels in its own header.');
  const checked = checkBaseUrl(baseUrl, { plugin, allowInsecure });
  const steering: Steering | undefined = quota && {
    concurrency: quota.concurrency,
    wrap: (limited) => new QuotaLimiter(limited, quota, clock),
  };
  const limiter = parts.limiters.open(plugin, {
    ...limits,
    isSeparate: ownAuth !== undefined,
    steering,
    owner: () => access,
    warn,
  });
  const credentials = ownAuth
    ? parts.openCredentials(ownAuth, { api: plugin, baseUrl: checked, apiLimiter: limiter, warn })
    : parts.shared;
  const access = { baseUrl: checked, credentials, limiter };
  const own = apis.add(access);
  let isMeant = auth !== undefined || !credentials.isSent;
  const send = async (request: ApiRequest): Promise<ApiResponse> => {
    checkOptions(`A request of ${plugin}`, request, requestNames);
    const others = isMeant ? undefined : apis.originWithSameCredentials(access);
    if (others !== undefined) {
      isMeant = true;
      warn(
        `${plugin} has no \`auth\`, so it gets the client's key, which ${others} gets, too. Give it its own \`auth\`, or noAuth; sharedKey if the key is for both.`,
      );
    }
    try {
      const all = { ...headers, ...request.headers };
      const { otherwise, ...requested } = request;
      const { route, page = 1 } = request;
      const meanings = new ResponseMeanings(request.responses, responses, otherwise);
      const sent = {
        arrays,
        ...requested,
        ...(Object.keys(all).length > 0 && { headers: all }),
        responses: meanings.meaningOf,
        baseUrl: checked,
      };
      const { status, headers: received, body, redirectedTo } = await transport(own(sent));
      const partial = meanings.partialOf(route, { status, headers: received, body, page, isFirst: page === 1 });
      return {
        status,
        headers: received,
        body,
        ...(redirectedTo !== undefined && { redirectedTo }),
        ...(partial !== undefined && { partial }),
      };
    } catch (thrown) {
      if (request.signal?.aborted && thrown === request.signal.reason) throw thrown;
      const error = redactThrown(thrown, secrets);
      hub.emit('error', () => ({ type: 'error', of: 'request', name: request.route, error: reportOf(error) }));
      throw error;
    }
  };
  return Object.freeze({
    baseUrl: checked,
    get rate() {
      const { limit, per } = limiter.state.rate ?? { limit: Infinity, per: 1_000 };
      return (1_000 * limit) / per;
    },
    send,
    request: async (request) => (await send(request)).body,
    isSecret: (text) => secrets.has(text),
    redact: (text, length) => secrets.redact(text, length),
    keyFingerprint: (salt) => credentials.fingerprint(salt),
    returnedFor: async () => limiter.returnedFor?.(),
    withoutSecret: (address) => credentials.withoutSecret(address),
    observe(event) {
      const decoded = decodeSourceEvent(event) ?? { type: 'warning', message: noEvent, plugin };
      hub.emit(decoded.type, () => decoded);
    },
    isObserved: (type) => hub.isObserved(type),
    closed: parts.closed,
    warn,
  } satisfies Endpoint);
}

const requestNames = {
  route: true,
  path: true,
  query: true,
  rawQuery: true,
  arrays: true,
  signal: true,
  method: true,
  body: true,
  bodyType: true,
  headers: true,
  isRepeatable: true,
  format: true,
  parse: true,
  responses: true,
  otherwise: true,
  page: true,
} as const satisfies Readonly<Record<keyof ApiRequest, true>>;
