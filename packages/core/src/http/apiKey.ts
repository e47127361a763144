import { ConfigError } from '../errors.js';
import { sha256 } from '../identifiers.js';
import { shortestSecret, type Secrets } from './secrets.js';

/**
 * The API key, or a function that fetches it. The function is called once before the first request, and once more whenever the
 * API refuses its key with 401 (`reason: 'refused'`). If it fails, the next request calls it again.
 */
export type ApiKey = string | ((reason: 'first' | 'refused') => string | Promise<string>);

/** Hands out the current key, and asks its provider for another one when it was refused. */
export class KeyRing {
  readonly #source: ApiKey | false;
  readonly #secrets: Secrets;
  readonly #sha256: (text: string) => Promise<string>;
  #current: Promise<string> | undefined;

  /** @param source `false`: there is none, and '' is handed out. */
  constructor(source: ApiKey | false, secrets: Secrets, hash = sha256) {
    this.#sha256 = hash;
    this.#source = source;
    this.#secrets = secrets;
    if (typeof source !== 'function') this.#current = Promise.resolve(source === false ? '' : this.#checked(source));
  }

  get hasKey(): boolean {
    return this.#source !== false;
  }

  get(): Promise<string> {
    return this.#current ?? this.#request('first');
  }

  /** Whether there is now another key than the one that was refused. Requests refused together ask the provider once. */
  async renew(refused: string): Promise<boolean> {
    if (typeof this.#source !== 'function') return false;
    const before = this.#current;
    if ((await this.get()) !== refused) return true;
    if (this.#current === before) void this.#request('refused');
    return (await this.get()) !== refused;
  }

  /** A short hash of the current key and a salt, in hex: enough to notice another key, far too little to find this one. */
  async fingerprint(salt: string): Promise<string> {
    return (await this.#sha256(`${salt}:${await this.get()}`)).slice(0, 8);
  }

  #request(reason: 'first' | 'refused'): Promise<string> {
    const requested = this.#fetch(reason);
    this.#current = requested;
    requested.catch(() => {
      if (this.#current === requested) this.#current = undefined;
    });
    return requested;
  }

  async #fetch(reason: 'first' | 'refused'): Promise<string> {
    if (typeof this.#source !== 'function') return this.#source || '';
    let key: string;
    try {
      key = await this.#source(reason);
    } catch {
      // What the provider threw may hold a key that we don't know yet, so none of it is passed on.
      throw new ConfigError(
        'The function given as apiKey failed, so there is no key to send. Call it by itself to see why.',
      );
    }
    return this.#checked(key);
  }

  #checked(key: string): string {
    if (typeof key !== 'string' || key === '')
      throw new ConfigError('The API key is empty. Set apiKey to the key of your project.');
    if (!/^[\x21-\x7e]+$/.test(key))
      throw new ConfigError(
        'The API key has a space, a line break or a special character in it. Was it read from a file? Trim it.',
      );
    // Such a key stands in texts by chance: cursors would seem to hold it, and its characters would be hidden in every message.
    if (key.length < shortestSecret)
      throw new ConfigError(
        `The API key has fewer than ${shortestSecret} characters, which is too short to be kept out of messages and files. Is the key complete?`,
      );
    this.#secrets.add(key);
    return key;
  }
}

/** What each attempt carries besides its request; only the adapter gets to see it. */
export interface Credentials {
  prepare(): Promise<Stamp>;
  /** Whether there are better ones than those, which were refused with 401. */
  renew(refused: Stamp): Promise<boolean>;
}

/** Makes the headers, in the moment in which they are sent. */
export type Stamp = () => Readonly<Record<string, string>>;

const header = 'X-API-Key';

export function keyHeader(keys: KeyRing): Credentials {
  return {
    async prepare() {
      const key = await keys.get();
      const headers: Readonly<Record<string, string>> = key === '' ? {} : { [header]: key };
      return () => headers;
    },
    renew: (refused) => keys.renew(refused()[header] ?? ''),
  };
}
