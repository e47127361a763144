import { ConfigError } from '../../errors.js';
import { sha256, shortHasher } from '../../identifiers.js';
import type { CredentialTools } from './credentials.js';
import { RecentSecrets } from './recentSecrets.js';

/**
 * The API key, or a function that fetches it. It is called before the first request, and again when the API refuses the
 * key with 401 (`reason: 'refused'`). If it fails, the next request calls it again.
 */
export type ApiKey = string | ((reason: 'first' | 'refused') => string | Promise<string>);

/** What a {@link KeyRing} does with its secrets. */
export interface KeyRules {
  /** The message for a function that failed. */
  readonly failed: string;
  /** @throws ConfigError if it cannot be the secret. */
  readonly check: (secret: string) => void;
  /** What must not be shown. */
  readonly hidden: (secret: string) => readonly string[];
  /** What the fingerprint is made of. Default: the secret. */
  readonly id?: string | undefined;
}

/** Provides the current secret of an API, and fetches another one after a 401. */
export class KeyRing {
  readonly #source: ApiKey | false | ConfigError;
  readonly #rules: KeyRules;
  readonly #hidden: RecentSecrets;
  readonly #hash: (text: string) => Promise<string>;
  #current: Promise<string> | undefined;

  /**
   * @param source `false`: no secret; `get` returns an empty text. An error: `get` rejects with it.
   * @throws ConfigError if it is a text that cannot be the secret.
   */
  constructor(source: ApiKey | false | ConfigError, rules: KeyRules, tools: CredentialTools) {
    this.#source = source;
    this.#rules = rules;
    this.#hidden = new RecentSecrets(tools.secrets, tools.clock, tools.echoedFor);
    this.#hash = shortHasher(tools.sha256 ?? sha256);
    if (source === false) this.#current = Promise.resolve('');
    else if (typeof source !== 'function' && !(source instanceof ConfigError))
      this.#current = Promise.resolve(this.#checked(source));
  }

  get hasKey(): boolean {
    return this.#source !== false;
  }

  get(): Promise<string> {
    return this.#current ?? this.#load('first');
  }

  /** Whether there is another secret than the refused one. Requests refused together call the provider once. */
  async renew(refused: string): Promise<boolean> {
    if (typeof this.#source !== 'function') return false;
    const before = this.#current;
    if ((await this.get()) !== refused) return true;
    if (this.#current === before) void this.#load('refused');
    return (await this.get()) !== refused;
  }

  /** A short salted hash of the id or the current secret, in hex: it tells them apart, and reveals none. */
  async fingerprint(salt: string): Promise<string> {
    return this.#hash(`${salt}:${this.#rules.id ?? (await this.get())}`);
  }

  #load(reason: 'first' | 'refused'): Promise<string> {
    const requested = this.#fetch(reason);
    this.#current = requested;
    requested.catch(() => {
      if (this.#current === requested) this.#current = undefined;
    });
    return requested;
  }

  async #fetch(reason: 'first' | 'refused'): Promise<string> {
    const source = this.#source;
    if (source instanceof ConfigError) throw source;
    if (typeof source !== 'function') return source || '';
    let secret: string;
    try {
      secret = await source(reason);
    } catch {
      // The error is not passed on: it may contain a secret that is not redacted yet.
      throw new ConfigError(this.#rules.failed);
    }
    return this.#checked(secret);
  }

  #checked(secret: string): string {
    this.#rules.check(secret);
    this.#hidden.replace(this.#rules.hidden(secret));
    return secret;
  }
}
