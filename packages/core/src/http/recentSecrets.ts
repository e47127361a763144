import type { Clock } from '../clock.js';
import type { Secrets } from './secrets.js';

/** How long a replaced secret is still redacted, in ms: a late error may quote it. */
const redactedFor = 3_600_000;

/** Keeps a secret that changes out of messages, and its earlier values for an hour. */
export class RecentSecrets {
  readonly #secrets: Secrets;
  readonly #clock: Clock;
  #current: readonly string[] = [];
  #replaced: { readonly texts: readonly string[]; readonly until: number }[] = [];

  constructor(secrets: Secrets, clock: Clock) {
    this.#secrets = secrets;
    this.#clock = clock;
  }

  /** Redacts these from now on, instead of those before. */
  replace(texts: readonly string[]): void {
    const now = this.#clock.monotonic();
    for (const text of texts) this.#secrets.add(text);
    if (this.#current.length > 0) this.#replaced.push({ texts: this.#current, until: now + redactedFor });
    this.#current = texts;
    for (const { texts: old, until } of this.#replaced)
      if (until <= now) for (const text of old) this.#secrets.remove(text);
    this.#replaced = this.#replaced.filter(({ until }) => until > now);
  }
}
