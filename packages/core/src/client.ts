import { createAdapter } from '#adapter';
import { Subject, type Observable } from 'rxjs';
import { systemClock, type Clock } from './clock.js';
import { ConfigError, PluginError } from './errors.js';
import { KeyRing, type ApiKey } from './http/apiKey.js';
import { axiosTransport } from './http/axiosTransport.js';
import { bottleneckLimiter } from './http/bottleneckLimiter.js';
import type { HttpEvent } from './http/events.js';
import { defaultTimeouts, type Timeouts } from './http/exchange.js';
import { defaultLimit, type Limit, type Limiter, type LimiterState } from './http/limiter.js';
import { checkBaseUrl } from './http/origin.js';
import { defaultRetry, type RetryOptions } from './http/retryPolicy.js';
import { Secrets } from './http/secrets.js';
import { linked, type Link } from './http/transport.js';
import { unlimited } from './http/unlimited.js';
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

/** A client without plugins; each `use` adds one namespace to it. */
export interface Client extends AsyncDisposable {
  /**
   * Adds a plugin's namespace.
   *
   * @throws PluginError if the name is taken or reserved, or the plugin can't set up.
   */
  use<Name extends string, Api extends object>(plugin: Plugin<Name, Api>): this & Readonly<Record<Name, Api>>;
  /** What happens on the wire, as it happens. Watching alters nothing. */
  readonly events: Observable<ClientEvent>;
  /** What waits, what runs, and until when the client is paused. */
  readonly limiter: LimiterState;
  /** Closes connections and disposes of the plugins. Requests under way end with a `NetworkError`. */
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
  const timeouts = { ...defaultTimeouts, ...options.timeouts };
  const maxBodyBytes = options.maxBodyBytes ?? defaultMaxBodyBytes;
  const retry = { ...defaultRetry, ...options.retry };
  checkNumbers('timeouts', timeouts);
  checkNumbers('retry', retry);
  checkNumbers('client', { maxBodyBytes });
  const keys = new KeyRing(options.apiKey, secrets);
  const limiter = options.limiter ?? limiterOf(options.rateLimit ?? defaultLimit, clock);
  const adapter = createAdapter({ connectTimeout: timeouts.connect, maxBodyBytes });
  const emit = (event: ClientEvent): void => {
    events.next(event);
  };
  const transport = linked(
    axiosTransport({ adapter, limiter, keys, secrets, clock, random, timeouts, retry, maxBodyBytes, emit }),
    options.links ?? [],
  );
  const context: PluginContext = {
    clock,
    random,
    endpoint: (baseUrl, { arrays = 'brackets' } = {}) => {
      const checked = checkBaseUrl(baseUrl, options.allowInsecure ?? false);
      return {
        baseUrl: checked,
        request: async (request) => (await transport({ ...request, baseUrl: checked, arrays })).body,
        isSecret: (text) => secrets.has(text),
        warn: (message) => {
          emit({ type: 'warning', message: secrets.redact(message) });
        },
      };
    },
  };
  const plugins: Plugin[] = [];

  const client: Client = {
    events: events.asObservable(),
    get limiter() {
      return limiter.state;
    },
    use(plugin) {
      if (plugin.name in this) {
        throw new PluginError(
          `The name "${plugin.name}" is already taken on this client. Use each plugin once, and rename one of two that clash.`,
        );
      }
      const extended: Client = this;
      addNamespace(extended, plugin.name, plugin.setup(context));
      plugins.push(plugin);
      return extended;
    },
    async close() {
      for (const plugin of plugins.splice(0).reverse()) await plugin.dispose?.();
      await adapter.close();
      events.complete();
    },
    [Symbol.asyncDispose]: () => client.close(),
  };
  return client;
}

function addNamespace<Name extends string, Api extends object>(
  client: Client,
  name: Name,
  api: Api,
): asserts client is Client & Readonly<Record<Name, Api>> {
  Object.defineProperty(client, name, { value: api, enumerable: true });
}

function limiterOf(rateLimit: false | Limit | readonly Limit[], clock: Clock): Limiter {
  if (rateLimit === false) return unlimited(clock);
  const limits = 'per' in rateLimit ? [rateLimit] : rateLimit;
  return limits.length === 0 ? unlimited(clock) : bottleneckLimiter(limits, clock);
}

function checkNumbers(owner: string, numbers: object): void {
  for (const [name, value] of Object.entries(numbers)) {
    if (typeof value !== 'number' || Number.isNaN(value) || value < 0) {
      throw new ConfigError(`${owner}.${name} is ${String(value)}: it must be a number of at least 0.`);
    }
  }
}
