import { ConfigError, SluiceError } from '../errors.js';
import { type Identifiers, sha256, shortHasher } from '../identifiers.js';
import type { Clock } from '../clock.js';
import { isRecord } from '../values.js';
import type { Secrets } from '../http/secrets.js';
import { RecentSecrets } from './recentSecrets.js';

/**
 * The API key, or a function that fetches it. It is called before the first request, and again when the API refuses the
 * key with 401 (`reason: 'refused'`) or after `client.renewSecrets()`. If it fails, the next request calls it again.
 */
export type ApiKey = string | ((reason: 'first' | 'refused') => string | Promise<string>);

/** What credentials use of their client. */
export interface CredentialTools extends Pick<Identifiers, 'sha256'> {
  readonly secrets: Secrets;
  readonly clock: Clock;
  /** Ms in which a response may still quote a secret after it was replaced. */
  readonly echoedFor: number;
  /** How often `renewSecrets` of the client was called. */
  readonly renewals?: { readonly times: number } | undefined;
}

/** Issues secrets that expire. Unlike those of a function of the user, its errors show no secret. */
export interface SecretIssuer {
  /** Whether its requests take permits of the API's own limiter: then a request that holds one must not ask for a secret. */
  readonly takesPermits: boolean;
  issue(): Promise<IssuedSecret>;
  /** A hash of what the secrets are issued for. */
  identify(salt: string): Promise<string>;
}

/** A secret, and for how many ms it is valid; `Infinity` if that is unknown. */
export interface IssuedSecret {
  readonly secret: string;
  readonly lifetime: number;
}

/** What a {@link RenewedSecret} does with its secrets. */
export interface SecretRules {
  /** The message for a function that failed. */
  readonly failed: string;
  /** @throws ConfigError if it cannot be the secret. */
  readonly check: (secret: string) => void;
  /** What must not be shown. */
  readonly hidden: (secret: string) => readonly string[];
  /** What the fingerprint is made of. Default: the secret. */
  readonly id?: string | undefined;
}

/** `false`: no secret. An error: there is none, and `get` rejects with it. */
type SecretSource = ApiKey | false | ConfigError | SecretIssuer;

/** What the API has said to a secret so far. */
interface SecretUse {
  /** By the monotonic clock, in ms. */
  readonly issued: number;
  /** `outage`: it has responded, but maybe without a look at the secret. */
  found: 'refused' | 'outage' | 'good';
  /** Whether it has refused a request with it that it had refused before. */
  isInVain: boolean;
}

/** In ms. A secret that got refusals and outages only is renewed if it is so old. */
const minute = 60_000;

/** So many renewals in a minute may be in vain: else each request that is not allowed would cost a login. */
const maxInVain = 3;

/** Provides the current secret of an API, and fetches another one after a 401. */
export class RenewedSecret {
  readonly #source: SecretSource;
  readonly #rules: SecretRules;
  readonly #hidden: RecentSecrets;
  readonly #hash: (text: string) => Promise<string>;
  readonly #clock: Clock;
  readonly #renewals: NonNullable<CredentialTools['renewals']>;
  #current: Promise<string> | undefined;
  /** Of the current secret; absent for the first one of a function, which may be from a cache of the caller's. */
  #use: SecretUse | undefined;
  /** When the last renewals turned out to be in vain, by the monotonic clock. */
  #inVain: readonly number[] = [];
  #expires = Infinity;
  /** The renewals before the current secret was loaded. */
  #loadedAfter = 0;
  /** The same of the one that is being fetched. */
  #loading: { readonly after: number } | undefined;

  /**
   * @param source `false`: no secret; `get` returns an empty text. An error: `get` rejects with it.
   * @throws ConfigError if it is a text that cannot be the secret.
   */
  constructor(source: SecretSource, rules: SecretRules, tools: CredentialTools) {
    this.#source = source;
    this.#rules = rules;
    this.#hidden = new RecentSecrets(tools.secrets, tools.clock, tools.echoedFor);
    this.#clock = tools.clock;
    this.#renewals = tools.renewals ?? { times: 0 };
    this.#hash = shortHasher(tools.sha256 ?? sha256);
    if (source === false) this.#current = Promise.resolve('');
    else if (typeof source !== 'function' && !(source instanceof ConfigError) && !isIssuer(source))
      this.#current = Promise.resolve(this.#checked(source));
  }

  get hasKey(): boolean {
    return this.#source !== false;
  }

  get takesPermits(): boolean {
    return isIssuer(this.#source) && this.#source.takesPermits;
  }

  /** Whether the last secret is not to be sent any more, until another one has been fetched. */
  get hasExpired(): boolean {
    return this.#needsRenewal(this.#loadedAfter) || this.#clock.monotonic() >= this.#expires;
  }

  get(): Promise<string> {
    const isLatest = this.#loading ? !this.#needsRenewal(this.#loading.after) : !this.hasExpired;
    return (isLatest ? this.#current : undefined) ?? this.#load('first');
  }

  #needsRenewal(loadedAfter: number): boolean {
    return typeof this.#source === 'function' && loadedAfter < this.#renewals.times;
  }

  /** The API has responded, and not refused the current secret. */
  notRefused(isOutage: boolean): void {
    if (this.#use && this.#use.found !== 'good') this.#use.found = isOutage ? 'outage' : 'good';
  }

  /** The API has refused the current secret, too, to a request that it had refused before: not because it had expired. */
  refusedAgain(): void {
    if (!this.#use || this.#use.isInVain) return;
    this.#use.isInVain = true;
    this.#inVain = [...this.#inVain, this.#clock.monotonic()].slice(-maxInVain);
  }

  /**
   * Whether a refused secret may have expired, at whatever age: its life may not be stated, and another login may have
   * ended it. One that got nothing but refusals was refused for another reason, and so would the next one be.
   */
  #isWorthRenewing(): boolean {
    if (!this.#use) return true;
    const { found, issued } = this.#use;
    const isRecent = (at: number): boolean => this.#clock.monotonic() - at < minute;
    if (found === 'refused' || (found === 'outage' && isRecent(issued))) return false;
    return this.#inVain.filter(isRecent).length < maxInVain;
  }

  /** Whether there is another secret than the refused one. Requests refused together call the provider once. */
  async renew(refused: string): Promise<boolean> {
    if (typeof this.#source !== 'function' && !isIssuer(this.#source)) return false;
    const before = this.#current;
    if ((await this.get()) !== refused) return true;
    if (!this.#isWorthRenewing()) return false;
    if (this.#current === before) void this.#load('refused');
    return (await this.get()) !== refused;
  }

  /** A short salted hash of the id or the current secret, in hex: it tells them apart, and reveals none. */
  async fingerprint(salt: string): Promise<string> {
    const source = this.#source;
    if (isIssuer(source)) return source.identify(salt);
    return this.#hash(`${salt}:${this.#rules.id ?? (await this.get())}`);
  }

  #load(reason: 'first' | 'refused'): Promise<string> {
    const loading = { after: this.#renewals.times };
    this.#loading = loading;
    const isOvertaken = (): boolean => this.#loading !== loading;
    const secret = this.#fetch(reason).then(
      (fetched) => {
        if (isOvertaken()) return this.get();
        this.#loadedAfter = loading.after;
        this.#loading = undefined;
        return fetched;
      },
      (error: unknown) => {
        if (isOvertaken()) return this.get();
        this.#current = undefined;
        this.#loading = undefined;
        throw error;
      },
    );
    return (this.#current = secret);
  }

  async #fetch(reason: 'first' | 'refused'): Promise<string> {
    const source = this.#source;
    if (source instanceof ConfigError) throw source;
    if (isIssuer(source)) return this.#issue(source);
    if (typeof source !== 'function') return source || '';
    let secret: string;
    try {
      secret = await source(reason);
    } catch {
      // The error is not passed on: it may contain a secret that is not redacted yet.
      throw new ConfigError(this.#rules.failed);
    }
    const checked = this.#checked(secret);
    this.#use =
      reason === 'refused' ? { issued: this.#clock.monotonic(), found: 'refused', isInVain: false } : undefined;
    return checked;
  }

  async #issue(issuer: SecretIssuer): Promise<string> {
    // From before the request, since the life of the secret may count from then.
    const issued = this.#clock.monotonic();
    const { secret, lifetime } = await issuer.issue().catch((error: unknown) => {
      // Its status is not that of the request which needs the secret, e.g. a 410 refuses no cursor.
      if (SluiceError.is(error, 'http')) Object.assign(error, { details: { ...error.details, means: 'renew' } });
      throw error;
    });
    const checked = this.#checked(secret);
    this.#use = { issued, found: 'refused', isInVain: false };
    this.#expires = expiryOf(issued, lifetime);
    return checked;
  }

  #checked(secret: string): string {
    this.#rules.check(secret);
    this.#hidden.replace(this.#rules.hidden(secret));
    return secret;
  }
}

/** In JavaScript, a key may be anything, e.g. `null`. */
function isIssuer(source: SecretSource): source is SecretIssuer {
  return isRecord(source) && 'issue' in source;
}

/** A token counts as expired this long (ms) before its end, or a tenth of its life if that is less. */
const margin = 30_000;

/** When a token expires, by the clock that says when it was issued. @param lifetime ms; `Infinity` if unknown. */
function expiryOf(issued: number, lifetime: number): number {
  return issued + lifetime - Math.min(margin, lifetime / 10 || 0);
}
