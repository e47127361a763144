/// <reference lib="esnext.disposable" preserve="true" />
import { createAdapter } from '#adapter';
import type { Observable } from 'rxjs';
import { systemClock } from './clock.js';
import { longestText } from './redactError.js';
import { ConfigError, PluginError, SluiceError } from './errors.js';
import { closedError } from './http/requestErrors.js';
import { AccessBook } from './http/apiAccess.js';
import type { ApiKey } from './auth/renewedSecret.js';
import { apiTransport } from './http/apiTransport.js';
import { ApiLimiters } from './http/limit/apiLimiters.js';
import { type Budgets, checkBudgets } from './http/limit/budgets.js';
import type { Limit } from './http/limit/limit.js';
import type { Limiter, LimiterState } from './http/limit/limiterTypes.js';
import { requestOptionNames, applyDefaults, type RequestOptions } from './http/requestTimes.js';
import { axiosTransport } from './http/axiosTransport.js';
import { openApiKey, openCredentials } from './auth/openCredentials.js';
import { Secrets } from './http/secrets.js';
import { LimiterReports } from './http/limit/limiterReports.js';
import { LinkChain } from './http/linkChain.js';
import type { Link } from './http/transport.js';
import { unlimited } from './http/limit/localLimiter.js';
import { checkNumbers, checkOptions, hintFor } from './checks.js';
import { checkPlugin } from './plugins/checkPlugin.js';
import { hookNames, unknownName, type ClientEvent, type EventOf, type HookName } from './plugins/clientEvent.js';
import { EventHub } from './plugins/eventHub.js';
import type { WithFreeName, WithNamespace, WithNeedsMet } from './plugins/pluginTypes.js';
import type { Plugin } from './plugins/plugin.js';
import { pluginContext, type ContextParts } from './plugins/pluginContext.js';
import { PluginSet } from './plugins/pluginSet.js';
import type { Registered } from './plugins/registry.js';
import type { Identifiers } from './identifiers.js';
import { isRecord } from './values.js';
import { memoryState } from './rows/sink/memoryState.js';
import type { Sink } from './rows/sink/sink.js';
import type { StateStore } from './rows/sink/stateStore.js';

/** Options of {@link createClient}. Only `apiKey` is required. */
export interface ClientOptions extends RequestOptions, Pick<Identifiers, 'sha256'> {
  /**
   * Sent as `X-API-Key` to the base URLs of those APIs in use that have no `auth` of their own, and nowhere else. So
   * use one client per key, and only plugins that you trust. `false`: no key.
   */
  readonly apiKey: ApiKey | false;
  /**
   * How fast requests of this client may start. Default: 5 a second, 4 in parallel. Several limits apply together. An
   * API with its own limit or credentials counts its requests separately, by these limits and its own. `false`: no
   * limit, so only a 429 slows the client down. A rate above the API's limit causes 429s.
   */
  readonly rateLimit?: false | Limit | readonly Limit[] | undefined;
  /**
   * Your own limiter instead of `rateLimit`, e.g. one that several processes share. It also limits APIs with their own
   * limit or credentials, unless they have a `limiter`.
   */
  readonly limiter?: Limiter | undefined;
  /**
   * Where limits with windows of ten seconds or more are kept, so that they hold for processes that run one after
   * another or at once, and after a crash: `budgets` of `@sluice/core/node`. Default `false`: a limit ends with its
   * process, and three runs may send three times as much. An API with a `quota` counts by itself.
   *
   * @example createClient({ apiKey, rateLimit: { requests: 40_000, per: 86_400_000 }, limits: budgets('limits') });
   */
  readonly limits?: Budgets | false | undefined;
  /**
   * Largest response in bytes, after decompression. Default 32 MiB. In Node.js, a response that would take more than a
   * sixteenth of the heap once parsed is refused as well.
   */
  readonly maxBodyBytes?: number | undefined;
  /** Middleware around each request, the first one outermost. It never sees the key. */
  readonly links?: readonly Link[] | undefined;
  /** Allows `http:` base URLs beyond this machine. Default `false`, because the key would be sent unencrypted. */
  readonly allowInsecure?: boolean | undefined;
  /**
   * Where a plugin stores its state, by the plugin's name. Default: in memory, so it is lost when the process ends.
   *
   * @example createClient({ apiKey, state: (plugin) => fileState(`state/${plugin}`) });
   */
  readonly state?: ((plugin: string) => StateStore) | undefined;
  /** The variables for `{ env: 'NAME' }` in an API's `auth`. Default: those of the process, if there is a process. */
  readonly variables?: Readonly<Record<string, unknown>> | undefined;
}

/** A client without plugins; each `use` adds one namespace to it. */
export interface Client extends AsyncDisposable {
  /**
   * Adds a plugin: its namespace under its name, its hooks, links, sinks and stores.
   *
   * @throws PluginError, without any change, if the value is not a plugin, its name or a name of its sinks or stores is
   * taken or reserved, a plugin that it requires is missing, or another plugin is being set up. If its setup fails, the
   * client is closed, and the setup's error is thrown if it is one of Sluice, otherwise a `PluginError`.
   */
  use<Name extends string, Api extends object, Needs extends object>(
    plugin: Plugin<Name, Api, Needs> &
      WithFreeName<Name, keyof this> &
      WithNeedsMet<Needs, this, keyof Client> &
      WithNamespace<Api>,
  ): this & Readonly<Record<Name, Api>>;
  /** The events that hooks receive, after the hooks. RxJS reports errors of a subscriber; requests are not affected. */
  readonly events: Observable<ClientEvent>;
  /**
   * The events of some types. Each page causes at least five events; the client makes only those with a receiver.
   *
   * @throws ConfigError without a type, or if one is unknown.
   *
   * @example client.eventsOf('retry', 'paused').subscribe((event) => console.error(event.type, event.route));
   */
  eventsOf<Type extends HookName>(...types: readonly Type[]): Observable<EventOf<Type>>;
  /** Queued and running requests of the APIs that share the client's limiter, and how long these are paused. */
  readonly limiter: LimiterState;
  /**
   * The limiter state of each API, by its name. An API with `auth`, `rateLimit`, `limiter` or `quota` has its own
   * limiter, with the client's `limiter` in it if one was given; other APIs show the client's, which they share.
   */
  readonly limiters: ReadonlyMap<string, LimiterState>;
  /**
   * The sinks that plugins provide, by name.
   *
   * @example const sink = await client.sinks.get('sqlite')?.('holdings.db', { folder: process.cwd() });
   */
  readonly sinks: Registered<Sink<object>>;
  /** The state stores that plugins provide, by name. */
  readonly stores: Registered<StateStore>;
  /**
   * Makes the client call the functions given as `apiKey` and in `auth` again, each before its next request, to use a
   * new secret before the API refuses the old one. Tokens of `oauth2` and `login` stay until they expire.
   *
   * @example process.on('SIGHUP', () => client.renewSecrets());
   */
  renewSecrets(): void;
  /**
   * Ends current and later requests, polls and watches with a `NetworkError`, closes connections, disposes of the
   * plugins (last one first), and completes `events`. Further calls return the same promise.
   *
   * @throws PluginError if a plugin could not be disposed of, after everything else is done.
   */
  close(): Promise<void>;
}

const defaultMaxBodyBytes = 32 * 1024 * 1024;

/**
 * Creates a client: one connection pool for all plugins, and one key and one limiter for APIs without their own.
 *
 * @example
 * const client = createClient({ apiKey, rateLimit: { requests: 25, per: 1000 } })
 *   .use(streams({ baseUrl: streamsUrl }))
 *   .use(aptos({ baseUrl: aptosUrl }));
 *
 * @throws ConfigError if there is no key, or an option is invalid.
 */
export function createClient(options: ClientOptions): Client {
  if (isRecord(options)) checkOptions('createClient()', options, clientOptionNames);
  checkApiKeyOption(options);
  checkBudgets(options.limits);
  const {
    clock = systemClock,
    random = Math.random,
    maxBodyBytes = defaultMaxBodyBytes,
    allowInsecure = false,
  } = options;
  const { sha256, variables = variablesHere(), state = () => memoryState() } = options;
  checkNumbers('client', { maxBodyBytes }, (bytes) => bytes >= 1, 'of at least 1');
  const secrets = new Secrets();
  const apis = new AccessBook();
  const closing = new AbortController();
  const { timeouts, retry } = applyDefaults(options);
  const renewals = { times: 0 };
  const credentialTools = { secrets, echoedFor: timeouts.total, sha256, clock, renewals };
  const limiters = new ApiLimiters(options, { clock, random, timeouts, sha256, limits: options.limits });
  const adapter = (options.adapter ?? createAdapter)({ connectTimeout: timeouts.connect, maxBodyBytes });
  const hub = new EventHub((text) => secrets.redact(text, longestText));
  const exchange = { adapter, clock, random, timeouts, retry, maxBodyBytes, closed: closing.signal };
  // Without events: observers must not see requests for tokens.
  const sendForCredentials = axiosTransport({ ...exchange, emit: () => undefined });
  const limiterReports = new LimiterReports({
    clock,
    emit: hub.emit,
    isObserved: () => hub.isObserved('limiter'),
    apisOf: (limiter) => limiters.apisOf(limiter),
  });
  const transport = apiTransport({ ...exchange, secrets, apis, emit: hub.emit, onLimiter: limiterReports.changed });
  const links = new LinkChain(transport, options.links ?? [], {
    clock,
    total: timeouts.total,
    closed: closing.signal,
  });
  const parts: ContextParts = {
    clock,
    random,
    hub,
    secrets,
    apis,
    shared: openApiKey(options.apiKey, credentialTools),
    limiters,
    openCredentials: (auth, api) =>
      openCredentials(auth, {
        ...credentialTools,
        ...api,
        variables,
        allowInsecure,
        limiter: unlimited(clock),
        call: sendForCredentials,
      }),
    transport: links.send,
    closed: closing.signal,
    allowInsecure,
    state,
  };
  const plugins = new PluginSet(hub, clock);
  let closed: Promise<void> | undefined;
  let settingUp: string | undefined;

  const close = async (): Promise<void> => {
    closing.abort(closedError());
    limiterReports.close();
    try {
      await adapter.close();
    } finally {
      hub.emit('close', () => ({ type: 'close' }));
      await limiters.close().finally(() => plugins.dispose().finally(() => hub.complete()));
    }
  };

  const client: Client = {
    events: hub.eventsOf(hookNames),
    eventsOf(...types) {
      const unknown = unknownName(types);
      if (types.length === 0 || unknown !== undefined)
        throw new ConfigError(
          `eventsOf needs types of events${unknown === undefined ? '' : `, and "${unknown}" is none`}. ${hintFor(unknown ?? '', hookNames)}`,
        );
      return hub.eventsOf(types);
    },
    get limiter() {
      return limiters.shared.state;
    },
    get limiters() {
      return limiters.states;
    },
    get sinks() {
      return plugins.sinks.all;
    },
    get stores() {
      return plugins.stores.all;
    },
    use(plugin) {
      const { name } = checkPlugin(plugin);
      if (closed) throw new PluginError(`The client is closed, so "${name}" can't be added. Create a new client.`);
      // Two plugins that set up at the same time could both pass the check for the same name.
      if (settingUp !== undefined)
        throw new PluginError(`"${name}" can't be added while "${settingUp}" sets up. Use one after the other.`);
      plugins.check(plugin, client);
      settingUp = name;
      try {
        links.add(plugin.links ?? [], name);
        addNamespace(client, plugin, plugins.setUp(plugin, pluginContext(name, parts)));
      } catch (cause) {
        // A caller that chains `use` has no reference to the client, so only this call can dispose of its plugins.
        client.close().catch(() => undefined);
        if (SluiceError.is(cause)) throw cause;
        throw new PluginError(`The plugin "${name}" could not set up.`, { cause, advice: [{ kind: 'see-cause' }] });
      } finally {
        settingUp = undefined;
      }
      return client;
    },
    renewSecrets() {
      renewals.times += 1;
    },
    close: () => (closed ??= close()),
    [Symbol.asyncDispose]: () => client.close(),
  };
  return client;
}

const clientOptionNames = {
  ...requestOptionNames,
  apiKey: true,
  rateLimit: true,
  limiter: true,
  limits: true,
  maxBodyBytes: true,
  links: true,
  allowInsecure: true,
  state: true,
  variables: true,
  sha256: true,
} as const;

function checkApiKeyOption(options: unknown): void {
  if (isRecord(options) && options['apiKey'] !== undefined) return;
  throw new ConfigError(
    'createClient needs an apiKey: the key of your project, or false for APIs that take none. If it comes from an environment variable, is that set?',
    { option: 'apiKey' },
  );
}

function addNamespace<Name extends string, Api extends object>(
  client: Client,
  { name }: Plugin<Name, Api>,
  api: object,
): asserts client is Client & Readonly<Record<Name, Api>> {
  Object.defineProperty(client, name, { value: api, enumerable: true });
}

/** The environment variables; none in browsers. */
function variablesHere(): Readonly<Record<string, unknown>> {
  const process: unknown = Reflect.get(globalThis, 'process');
  return isRecord(process) && isRecord(process['env']) ? process['env'] : {};
}
