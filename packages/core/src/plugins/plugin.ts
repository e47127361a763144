import type { Clock } from '../clock.js';
import type { Auth } from '../auth/auth.js';
import type { Limit } from '../http/limit/limit.js';
import type { Limiter } from '../http/limit/limiterTypes.js';
import type { QuotaRules } from '../quota/rateLimitHeaders.js';
import type { ArrayFormat } from '../http/query.js';
import type { Responses } from '../http/response/responses.js';
import type { Link, TransportRequest, TransportResponse } from '../http/transport.js';
import type { Sink } from '../rows/sink/sink.js';
import type { StateStore } from '../rows/sink/stateStore.js';
import type { SourceEndpoint } from '../rows/source/definition.js';
import type { Hooks } from './clientEvent.js';

/** A request of a plugin's source, below the base URL of its endpoint. */
export interface ApiRequest extends Omit<TransportRequest, 'baseUrl'> {
  /** Default: the endpoint's. */
  readonly arrays?: ArrayFormat;
  /** What a response means where neither `responses` nor those of the endpoint say. Default: what its status says. */
  readonly otherwise?: Responses | undefined;
}

/** A response of an API. A 304, which only a request with a validator gets, has the body `null`. */
export interface ApiResponse extends Omit<TransportResponse, 'attempts'> {
  /** What the API says about rows that are missing; absent unless `responses` took it for `partial`. */
  readonly partial?: string | undefined;
}

/** One API behind the client's limiter, retries and key. */
export interface Endpoint extends Required<SourceEndpoint> {
  /** Resolves to the decoded JSON document, or rejects with a `SluiceError`. */
  request(request: ApiRequest): Promise<unknown>;
  /** As `request`, with the response's status and headers. */
  send(request: ApiRequest): Promise<ApiResponse>;
  /** Scheme, host and path that requests go to. */
  readonly baseUrl: string;
  /** Requests per second that its limits allow now, as far as its limiter knows: `Infinity` without a limit. */
  readonly rate: number;
  /** An address that the server gave, e.g. of a next page, without what carries this API's secrets in its path and query. */
  withoutSecret(address: string): string;
}

/** Emits events in the plugin's name, without secrets. */
export interface PluginLogger {
  /** Emits an `info` event. */
  info(message: string): void;
  /** Emits a `warning` event. */
  warn(message: string): void;
}

/** Options of {@link PluginContext.endpoint}. */
export interface EndpointOptions {
  /** How arrays go into the query. Default `brackets`. */
  readonly arrays?: ArrayFormat;
  /** Sent with every request, e.g. a version of the API. Not for secrets: links and hooks see them. */
  readonly headers?: Readonly<Record<string, string>>;
  /** The API's own credentials: it never receives the client's key. Default: the client's key. */
  readonly auth?: Auth;
  /**
   * The API's own limit, besides the client's `rateLimit` or `limiter` if that is given. Default: the limiter that the
   * client's APIs share; with `auth` a limiter of its own, with the client's limits, unless the client has a `limiter`.
   */
  readonly rateLimit?: false | Limit | readonly Limit[];
  /** A limiter instead of `rateLimit`, e.g. one that two APIs share because they share a quota. */
  readonly limiter?: Limiter;
  /**
   * Lets the API's responses steer its limiter. Without a limit, neither here nor on the client, only the quota and its
   * `concurrency` limit the requests. Default: responses other than 429 are not looked at.
   *
   * @example quota: rateLimitHeaders();
   */
  readonly quota?: QuotaRules;
  /** What responses mean where a request's own `responses` do not say. Default: what their status says. */
  readonly responses?: Responses;
}

/** The names of these options. */
export const endpointOptionNames = {
  arrays: true,
  headers: true,
  auth: true,
  rateLimit: true,
  limiter: true,
  quota: true,
  responses: true,
} as const satisfies Readonly<Record<keyof EndpointOptions, true>>;

/** What `setup` receives: neither axios nor the key. */
export interface PluginContext {
  /**
   * Opens an API at a base URL, which should be an option of the plugin, since the client's key is sent there, unless
   * the API has its own `auth`.
   *
   * @throws ConfigError unless the address is `https:`, or `http:` on loopback (or with the client's `allowInsecure`).
   */
  readonly endpoint: (baseUrl: string, options?: EndpointOptions) => Endpoint;
  readonly clock: Clock;
  /** A number in [0, 1). */
  readonly random: () => number;
  readonly logger: PluginLogger;
  /** Small records of the plugin. In memory, unless the client's option `state` names another store. */
  readonly state: StateStore;
}

/** What makes a named sink or store, besides its target. */
export interface NamedTargetContext {
  /** An absolute path, to which relative paths in a target refer. */
  readonly folder: string;
}

/**
 * Makes a sink for a target that a user named, e.g. `holdings.db` in `--to sqlite:holdings.db`. It takes any rows.
 *
 * @throws ConfigError if the target is invalid.
 */
export type NamedSink = (target: string, context: NamedTargetContext) => Sink<object> | Promise<Sink<object>>;

/** Makes a state store for a target that a user named. @throws ConfigError if the target is invalid. */
export type NamedStore = (target: string, context: NamedTargetContext) => StateStore | Promise<StateStore>;

/**
 * Extends a client: with a namespace (`client.use(plugin).name`), hooks, links, sinks or stores.
 *
 * Make one with {@link definePlugin}, which infers the types, or write an object of this type. An object may be used on
 * several clients, which then share what its functions store outside of `setup`.
 */
export interface Plugin<Name extends string = string, Api extends object = object, Needs extends object = object> {
  /** A letter, then letters, digits, `-` and `_`, 64 at most. Unique on a client. */
  readonly name: Name;
  /** Names of plugins that must be used before this one. `setup` receives their namespaces. Default: none. */
  readonly requires?: readonly string[];
  /**
   * Makes the namespace synchronously: slow work belongs into its functions. Default: an empty one. If it throws, the
   * client is closed, and the plugins before this one are disposed of. It can't call the client's `use`.
   */
  setup?(context: PluginContext, needs: Needs): Api;
  /** Called with the client's events after `setup`. */
  readonly hooks?: Hooks;
  /** Added inside the links of the client and of the plugins before this one, the first one outermost. */
  readonly links?: readonly Link[];
  /** Sinks by name, e.g. for `--to NAME:TARGET`. Names are like those of plugins, with at least two characters. */
  readonly sinks?: Readonly<Record<string, NamedSink>>;
  /** State stores by name. */
  readonly stores?: Readonly<Record<string, NamedStore>>;
  /**
   * Called when the client closes, after its last request, in the reverse order of set-up. It may take 10 seconds, then
   * it is a fault. It must not wait for the client's `close`, which waits for it.
   */
  dispose?(): void | Promise<void>;
}
