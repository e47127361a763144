import type { Clock } from '../../clock.js';
import { ConfigError } from '../../errors.js';
import { sha256, shortHasher } from '../../identifiers.js';
import { RecentSecrets } from './recentSecrets.js';
import { shortestSecret, type Secrets } from './secrets.js';

/**
 * The API key, or a function that fetches it. It is called before the first request, and again when the API refuses the
 * key with 401 (`reason: 'refused'`). If it fails, the next request calls it again.
 */
export type ApiKey = string | ((reason: 'first' | 'refused') => string | Promise<string>);

/** What a {@link KeyRing} holds, in messages and rules. */
export interface KeyRules {
  /** The message for a function that failed. */
  readonly failed: string;
  /** @throws ConfigError if it cannot be the secret. */
  readonly check: (secret: string) => void;
  /** What must not be shown. Default: the secret. */
  readonly hidden?: (secret: string) => readonly string[];
}

interface RingOptions {
  readonly secrets: Secrets;
  readonly clock: Clock;
  readonly sha256?: ((text: string) => Promise<string>) | undefined;
  readonly rules: KeyRules;
  /** What the fingerprint is made of. Default: the secret. */
  readonly id?: string | undefined;
  /** Ms in which a response may still quote a secret after it was replaced. */
  readonly echoedFor: number;
}

/** Provides the current secret of an API, and fetches another one after a 401. */
export class KeyRing {
  readonly #source: ApiKey | false;
  readonly #hidden: RecentSecrets;
  readonly #rules: KeyRules;
  readonly #id: string | undefined;
  readonly #hash: (text: string) => Promise<string>;
  #current: Promise<string> | undefined;

  /** @param source `false`: no secret; `get` returns an empty text. */
  constructor(source: ApiKey | false, { secrets, clock, rules, id, echoedFor, sha256: hash = sha256 }: RingOptions) {
    this.#hash = shortHasher(hash);
    this.#source = source;
    this.#hidden = new RecentSecrets(secrets, clock, echoedFor);
    this.#rules = rules;
    this.#id = id;
    if (typeof source !== 'function') this.#current = Promise.resolve(source === false ? '' : this.#checked(source));
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
    return this.#hash(`${salt}:${this.#id ?? (await this.get())}`);
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
    if (typeof this.#source !== 'function') return this.#source || '';
    let secret: string;
    try {
      secret = await this.#source(reason);
    } catch {
      // The error is not passed on: it may contain a secret that is not redacted yet.
      throw new ConfigError(this.#rules.failed);
    }
    return this.#checked(secret);
  }

  #checked(secret: string): string {
    this.#rules.check(secret);
    this.#hidden.replace(this.#rules.hidden?.(secret) ?? [secret]);
    return secret;
  }
}

/** The rules for the client's own key. */
export const apiKeyRules: KeyRules = {
  failed: 'The function given as apiKey failed, so there is no key to send. Call it by itself to see why.',
  check(key) {
    if (typeof key !== 'string' || key === '')
      throw new ConfigError('The API key is empty. Set apiKey to the key of your project.');
    if (!/^[\x21-\x7e]+$/.test(key))
      throw new ConfigError(
        'The API key has a space, a line break or a special character in it. Was it read from a file? Trim it.',
      );
    // A short key occurs in texts by chance: cursors would seem to contain it, and redaction would garble messages.
    if (key.length < shortestSecret)
      throw new ConfigError(
        `The API key has fewer than ${shortestSecret} characters, which is too short to be kept out of messages and files. Is the key complete?`,
      );
  },
};
