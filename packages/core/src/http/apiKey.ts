import { ConfigError } from '../errors.js';
import type { Secrets } from './secrets.js';

/**
 * The API key, or a function that fetches it. The function is called once before the first request, and once more whenever the
 * API refuses its key with 401 (`reason: 'refused'`).
 */
export type ApiKey = string | ((reason: 'first' | 'refused') => string | Promise<string>);

/** Hands out the current key, and asks its provider for another one when it was refused. */
export class KeyRing {
  readonly #source: ApiKey;
  readonly #secrets: Secrets;
  #current: Promise<string> | undefined;

  constructor(source: ApiKey, secrets: Secrets) {
    this.#source = source;
    this.#secrets = secrets;
    if (typeof source === 'string') this.#current = Promise.resolve(this.#checked(source));
  }

  get(): Promise<string> {
    return (this.#current ??= this.#ask('first'));
  }

  /** Whether there is now another key than the one that was refused. Requests refused together ask the provider once. */
  async renew(refused: string): Promise<boolean> {
    if (typeof this.#source === 'string') return false;
    const before = this.#current;
    if ((await this.get()) !== refused) return true;
    if (this.#current === before) this.#current = this.#ask('refused');
    return (await this.get()) !== refused;
  }

  async #ask(reason: 'first' | 'refused'): Promise<string> {
    if (typeof this.#source === 'string') return this.#source;
    try {
      return this.#checked(await this.#source(reason));
    } catch (error) {
      this.#current = undefined;
      if (error instanceof ConfigError) throw error;
      // What the provider threw may hold a key that we don't know yet, so none of it is passed on.
      throw new ConfigError(
        'The function given as apiKey failed, so there is no key to send. Call it by itself to see why.',
      );
    }
  }

  #checked(key: string): string {
    if (typeof key !== 'string' || key === '')
      throw new ConfigError('The API key is empty. Set apiKey to the key of your project.');
    this.#secrets.add(key);
    if (!/^[\x21-\x7e]+$/.test(key)) {
      throw new ConfigError(
        'The API key has a space, a line break or a special character in it. Was it read from a file? Trim it.',
      );
    }
    return key;
  }
}
