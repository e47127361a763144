import { createAdapter } from '#adapter';
import { Subject, type Observable } from 'rxjs';
import { systemClock, type Clock } from './clock.js';
import { ConfigError, PluginError, SluiceError } from './errors.js';
import { KeyRing, type ApiKey } from './http/apiKey.js';
import { apiTransport } from './http/apiTransport.js';
import { bottleneckLimiter } from './http/bottleneckLimiter.js';
import type { HttpEvent } from './http/events.js';
import type { Timeouts } from './http/exchange.js';
import { defaultLimit, type Limit, type Limiter, type LimiterState } from './http/limiter.js';
import { checkBaseUrl } from './http/origin.js';
import { patienceOf } from './http/patience.js';
import type { RetryOptions } from './http/retryPolicy.js';
import { Secrets } from './http/secrets.js';
import { linked, type Link } from './http/transport.js';
import { unlimited } from './http/unlimited.js';
import { checkNumbers } from './numbers.js';
import type { Plugin, PluginContext } from './plugin.js';

/** Options of {@link createClient}. Only the key is needed. */
export interface ClientOptions {
  /** Sent as `X-API-Key`, to the base addresses of the plugins in use and nowhere else. */
  readonly apiKey: ApiKey;
  /**
   * How fast requests may start, for everything the client does. Default: 5 a second, 4 at once. Several limits hold
   * together. `false` sets none: then only a 429 slows the client down. A rate above what the API grants costs 429s.
   */
  readonly rateLimit?: false | Limit | readonly Limit[];
  /** A limiter of your own instead of `rateLimit`, e.g. one that several processes share. */
  readonly limiter?: Limiter;
  /** Deadlines in ms. Default: 10,000 to connect, 30,000 for an answer, 180,000 for a request with its retries. */
  readonly timeouts?: Partial<Timeouts>;
  /** Default: 5 retries with full-jitter back-off from 250 ms to 20 s; a `Retry-After` above 60 s is an error. */
  readonly retry?: Partial<RetryOptions>;
  /** Largest answer in bytes, after decompression. Default 32 MiB. */
  readonly maxBodyBytes?: number;
  /** Middleware around each request, the first one outermost. It never sees the key. */
  readonly links?: readonly Link[];
  /** Allows base addresses with `http:` beyond this machine. Default `false`: the key would travel in the open. */
  readonly allowInsecure?: boolean;
  /** Default: the machine's clock. */
  readonly clock?: Clock;
  /** A number in [0, 1). Default: `Math.random`. */
  readonly random?: () => number;
}

/** What a client tells those who watch it. */
export type ClientEvent = HttpEvent | { readonly type: 'warning'; readonly message: string };

/** Names that no plugin may have: the language gives them a meaning on any object. */
const reservedNames = ['then', 'toJSON', 'constructor', '__proto__'] as const;

/** Refuses, at compile time, a plugin whose name is taken or reserved. */
type FreeName<Name extends string, Taken> = Name extends Taken | (typeof reservedNames)[number]
  ? { readonly name: never }
  : unknown;

/** A client without plugins; each `use` adds one namespace to it. */
export interface Client extends AsyncDisposable {
  /**
   * Adds a plugin's namespace.
   *
   * @throws PluginError if the name is taken or reserved: then nothing has changed. If the plugin can't set up, its own error
   * when that is one of Sluice's, a `PluginError` otherwise; then the client is closed.
   */
  use<Name extends string, Api extends object>(
    plugin: Plugin<Name, Api> & FreeName<Name, keyof this>,
  ): this & Readonly<Record<Name, Api>>;
  /** What happens on the wire, as it happens. Watching alters nothing. */
  readonly events: Observable<ClientEvent>;
  /** What waits, what runs, and until when the client is paused. */
  readonly limiter: LimiterState;
  /**
   * Ends requests under way, and those that come later, with a `NetworkError`; disposes of the plugins, the last one first;
   * closes connections and completes `events`. Calling it again answers the same promise.
   *
   * @throws PluginError if a plugin could not be disposed of, once all the rest is done.
   */
  close(): Promise<void>;
}

const defaultMaxBodyBytes = 32 * 1024 * 1024;

/**
 * Creates a client: one key, one limiter, one connection pool for all its plugins.
 *
 * @example
 * const client = createClient({ apiKey, rateLimit: { requests: 25, per: 1000 } })
 *   .use(streams({ baseUrl: streamsUrl }))
 *   .use(aptos({ baseUrl: aptosUrl }));
 *
 * @throws ConfigError if an option makes no sense.
 */
export function createClient(options: ClientOptions): Client {
  const clock = options.clock ?? systemClock;
  const random = options.random ?? Math.random;
  const events = new Subject<ClientEvent>();
  const secrets = new Secrets();
  const origins = new Set<string>();
  const closing = new AbortController();
  const { timeouts, retry } = patienceOf(options);
  const maxBodyBytes = options.maxBodyBytes ?? defaultMaxBodyBytes;
  checkNumbers('client', { maxBodyBytes }, (bytes) => bytes >= 1, 'of at least 1');
  const keys = new KeyRing(options.apiKey, secrets);
  const limiter = options.limiter ?? limiterOf(options.rateLimit ?? defaultLimit, clock);
  const adapter = createAdapter({ connectTimeout: timeouts.connect, maxBodyBytes });
  const emit = (event: ClientEvent): void => {
    events.next(event);
  };
  const transport = linked(
    apiTransport({
      adapter,
      limiter,
      keys,
      secrets,
      origins,
      clock,
      random,
      timeouts,
      retry,
      maxBodyBytes,
      emit,
      closed: closing.signal,
    }),
    options.links ?? [],
  );
  const context: PluginContext = {
    clock,
    random,
    endpoint: (baseUrl, { arrays = 'brackets' } = {}) => {
      if (secrets.has(baseUrl)) {
        throw new ConfigError('The base address holds the API key. Leave it out: the key travels in its own header.');
      }
      const checked = checkBaseUrl(baseUrl, options.allowInsecure ?? false);
      origins.add(new URL(checked).origin);
      return {
        baseUrl: checked,
        request: async (request) => (await transport({ ...request, baseUrl: checked, arrays })).body,
        isSecret: (text) => secrets.has(text),
        keyFingerprint: (salt) => keys.fingerprint(salt),
        warn: (message) => {
          emit({ type: 'warning', message: secrets.redact(message) });
        },
      };
    },
  };
  const plugins: Plugin[] = [];
  let closed: Promise<void> | undefined;

  const close = async (): Promise<void> => {
    closing.abort();
    const failures: PluginError[] = [];
    for (const plugin of plugins.reverse()) {
      try {
        await plugin.dispose?.();
      } catch (cause) {
        failures.push(
          new PluginError(`The plugin "${plugin.name}" could not be disposed of. See its cause.`, { cause }),
        );
      }
    }
    await adapter.close();
    events.complete();
    if (failures[0]) throw failures[0];
  };

  const client: Client = {
    events: events.asObservable(),
    get limiter() {
      return limiter.state;
    },
    use(plugin) {
      const { name } = plugin;
      if (closed) throw new PluginError(`The client is closed, so "${name}" can't be added. Create a new client.`);
      checkName(client, name);
      addNamespace(client, name, setUp(plugin, context, client));
      plugins.push(plugin);
      return client;
    },
    close: () => (closed ??= close()),
    [Symbol.asyncDispose]: () => client.close(),
  };
  return client;
}

function checkName(client: object, name: string): void {
  const reserved: readonly string[] = reservedNames;
  if (!(name in client) && !reserved.includes(name) && name !== '') return;
  throw new PluginError(
    `The name "${name}" is taken or reserved on this client. Use each plugin once, and rename one of two that clash.`,
  );
}

function setUp<Api extends object>(plugin: Plugin<string, Api>, context: PluginContext, client: Client): Api {
  try {
    return plugin.setup(context);
  } catch (cause) {
    // Whoever chains `use` never gets hold of the client: nobody else could dispose of the plugins before this one.
    client.close().catch(() => undefined);
    if (SluiceError.is(cause)) throw cause;
    throw new PluginError(`The plugin "${plugin.name}" could not set up. See its cause.`, { cause });
  }
}

function addNamespace<Name extends string, Api extends object>(
  client: Client,
  name: Name,
  api: Api,
): asserts client is Client & Readonly<Record<Name, Api>> {
  Object.defineProperty(client, name, { value: api, enumerable: true });
}

function limiterOf(rateLimit: false | Limit | readonly Limit[], clock: Clock): Limiter {
  const limits = rateLimit === false ? [] : [rateLimit].flat();
  return limits.length === 0 ? unlimited(clock) : bottleneckLimiter(limits, clock);
}
