import type { Clock } from '../clock.js';
import type { ArrayFormat, Query } from '../http/query.js';
import type { Link } from '../http/transport.js';
import type { Sink } from '../sink/sink.js';
import type { StateStore } from '../sink/stateStore.js';
import type { SourceEvent } from '../source/sourceEvent.js';
import type { Hooks } from './clientEvent.js';

/** What a plugin's source asks an API for. */
export interface ApiRequest {
  /** A name for events, costs and errors, e.g. `aptos.walletNfts`. */
  readonly route: string;
  /** Below the base address, with a leading slash. */
  readonly path: string;
  readonly query: Query;
  /** Default: as the endpoint was opened. */
  readonly arrays?: ArrayFormat;
  readonly signal?: AbortSignal;
}

/** What an API answered. */
export interface ApiResponse {
  readonly status: number;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  /** The decoded JSON document. */
  readonly body: unknown;
}

/** One API behind the client's limiter, retries and key. */
export interface Endpoint {
  /** Resolves to the decoded JSON document, or rejects with a `SluiceError`. */
  request(request: ApiRequest): Promise<unknown>;
  /** The same with the answer's status and headers. */
  send(request: ApiRequest): Promise<ApiResponse>;
  /** Scheme, host and path that requests go to. */
  readonly baseUrl: string;
  /** Whether a secret of the client's stands in `text`. A server could hide the key in a cursor; such a cursor must not be kept. */
  isSecret(text: string): boolean;
  /** A short hash of the key and a salt: it tells two keys apart, hence two projects, and gives neither away. */
  keyFingerprint(salt: string): Promise<string>;
  /**
   * Tells those who watch the client what a source does. `createSource` calls it, where the definition names this endpoint. What is no
   * event of a source is dropped, with a warning.
   */
  observe(event: SourceEvent): void;
  /** Emits a warning event of the client. */
  warn(message: string): void;
}

/** Tells those who watch the client: scrubbed of secrets, and in the plugin's name. */
export interface PluginLogger {
  /** Emits an `info` event. */
  info(message: string): void;
  /** Emits a `warning` event. */
  warn(message: string): void;
}

/** What a plugin is handed: capabilities, not axios and not the key. */
export interface PluginContext {
  /**
   * Opens an API at a base address that the user gave. The client's key goes to every base address that its plugins open: an API
   * with another key wants a client of its own, and users use only plugins that they trust. So take the address as an option.
   *
   * @throws ConfigError unless the address is `https:`, or `http:` on loopback (or with the client's `allowInsecure`).
   */
  readonly endpoint: (baseUrl: string, options?: { readonly arrays?: ArrayFormat }) => Endpoint;
  readonly clock: Clock;
  /** A number in [0, 1). */
  readonly random: () => number;
  readonly logger: PluginLogger;
  /** Small records of the plugin's own. In memory, unless the client's option `state` says where else. */
  readonly state: StateStore;
}

/** What a named sink or store is made with besides its target. */
export interface NamedTargetContext {
  /** An absolute path: relative ones that a target names are meant from there. */
  readonly folder: string;
}

/**
 * Makes a sink of a target that a user named, e.g. of `holdings.db` in `--to sqlite:holdings.db`. It takes rows of any kind.
 *
 * @throws ConfigError if the target makes no sense.
 */
export type NamedSink = (target: string, context: NamedTargetContext) => Sink<object> | Promise<Sink<object>>;

/** Makes a state store of a target that a user named. @throws ConfigError if the target makes no sense. */
export type NamedStore = (target: string, context: NamedTargetContext) => StateStore | Promise<StateStore>;

/**
 * What adds something to a client: a namespace (`client.use(plugin).name`), hooks, links, sinks or stores.
 *
 * Make one with {@link definePlugin}, which works the types out; or write an object of this type. One object may be used on several
 * clients, which know nothing of each other; what its functions keep outside of `setup` is then shared by them.
 */
export interface Plugin<Name extends string = string, Api extends object = object, Needs extends object = object> {
  /** A letter, then letters, digits, `-` and `_`, 64 at most. On each client it is taken once. */
  readonly name: Name;
  /** Names of plugins that have to be in use before this one; `setup` is handed their namespaces. Default: none. */
  readonly requires?: readonly string[];
  /**
   * Makes the namespace, at once: what takes time belongs into its functions. Without it the namespace is empty. If it throws, the
   * client is closed, and with it the plugins before this one are disposed of. It adds no other plugin: `use` refuses meanwhile.
   */
  setup?(context: PluginContext, needs: Needs): Api;
  /** Called with the client's events from now on. */
  readonly hooks?: Hooks;
  /** Put inside the client's own links and those of the plugins before this one, the first one outermost. */
  readonly links?: readonly Link[];
  /** Sinks by name, as the command line reaches them with `--to NAME:TARGET`. Names are like plugins', of at least two characters. */
  readonly sinks?: Readonly<Record<string, NamedSink>>;
  /** State stores by name. */
  readonly stores?: Readonly<Record<string, NamedStore>>;
  /**
   * Called when the client closes, in the reverse order of set-up, after the last request. After 10 seconds it is waited for no more. It
   * must not wait for the client's `close`, which waits for it: that takes these 10 seconds, and is a fault then.
   */
  dispose?(): void | Promise<void>;
}
