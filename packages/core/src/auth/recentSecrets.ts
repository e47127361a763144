import type { Clock } from '../clock.js';
import type { Secrets } from '../http/secrets.js';

/** How long a replaced secret is still redacted, in ms: a late error may quote it. */
const redactedFor = 3_600_000;

/** Replaced secrets that stay for so long. Each makes redactions slower: with 3,600, a short message takes 29 ms. */
const maxReplaced = 100;

/** Keeps a secret that changes out of messages, and its earlier values for an hour; of many, the newest ones. */
export class RecentSecrets {
  readonly #secrets: Secrets;
  readonly #clock: Clock;
  readonly #echoedFor: number;
  #current: readonly string[] = [];
  /** Oldest first. */
  #replaced: { readonly texts: readonly string[]; readonly at: number }[] = [];

  /**
   * @param echoedFor ms in which the response to a request that was sent with an earlier value may still arrive: until
   * then that value stays, however many there are
   */
  constructor(secrets: Secrets, clock: Clock, echoedFor: number) {
    this.#secrets = secrets;
    this.#clock = clock;
    this.#echoedFor = Math.min(echoedFor, redactedFor);
  }

  /** Redacts these from now on, instead of those before. */
  replace(texts: readonly string[]): void {
    const now = this.#clock.monotonic();
    for (const text of texts) this.#secrets.add(text);
    if (this.#current.length > 0) this.#replaced.push({ texts: this.#current, at: now });
    this.#current = texts;
    const surplus = this.#replaced.length - maxReplaced;
    const forgotten = this.#replaced.filter(
      ({ at }, index) => now - at >= (index < surplus ? this.#echoedFor : redactedFor),
    );
    if (forgotten.length === 0) return;
    for (const { texts: old } of forgotten) for (const text of old) this.#secrets.remove(text);
    this.#replaced = this.#replaced.slice(forgotten.length);
  }
}
