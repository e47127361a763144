import type { Clock } from './clock.js';
import type { ArrayFormat, Query } from './http/query.js';

/** What a plugin's source asks an API for. */
export interface ApiRequest {
  /** A name for events, costs and errors, e.g. `aptos.walletNfts`. */
  readonly route: string;
  /** Below the base address, with a leading slash. */
  readonly path: string;
  readonly query: Query;
  readonly signal?: AbortSignal;
}

/** One API behind the client's limiter, retries and key. */
export interface Endpoint {
  /** Resolves to the decoded JSON document, or rejects with a `SluiceError`. */
  request(request: ApiRequest): Promise<unknown>;
  /** Scheme, host and path that requests go to. */
  readonly baseUrl: string;
  /** Whether a secret of the client's stands in `text`. A server could hide the key in a cursor; such a cursor must not be kept. */
  isSecret(text: string): boolean;
  /** A short hash of the key and a salt: it tells two keys apart, hence two projects, and gives neither away. */
  keyFingerprint(salt: string): Promise<string>;
  /** Tells those who watch the client about something worth a look that is no error. */
  warn(message: string): void;
}

/** What a plugin is handed: capabilities, not axios and not the key. */
export interface PluginContext {
  /**
   * Opens an API at a base address that the user gave.
   *
   * @throws ConfigError unless the address is `https:`, or `http:` on loopback (or with the client's `allowInsecure`).
   */
  endpoint(baseUrl: string, options?: { readonly arrays?: ArrayFormat }): Endpoint;
  readonly clock: Clock;
  /** A number in [0, 1). */
  readonly random: () => number;
}

/**
 * Adds a namespace to a client: `client.use(plugin).name`.
 *
 * @example
 * const prices: Plugin<'prices', { list(): Source<Price> }> = {
 *   name: 'prices',
 *   setup: ({ endpoint }) => ({ list: () => … }),
 * };
 */
export interface Plugin<Name extends string = string, Api extends object = object> {
  readonly name: Name;
  setup(context: PluginContext): Api;
  /** Called when the client closes, in the reverse order of set-up. */
  dispose?(): void | Promise<void>;
}
