import type { Sent } from './network.js';
import { unmoved } from './services.js';

/** Ms for which a client tries again before it gives up, as nobody here asks for anything else. */
const retriesFor = 60_000;

/** Clocks are sums of fractions. */
const rounding = 1e-6;

/** What a process has sent, and how long it has had no luck with it: T9 says when it may give up. */
export class Exchanges {
  /** Requests under way. */
  underWay = 0;
  readonly #isWalkedAgain: boolean;
  readonly #violated: (what: string) => void;
  readonly #failing = new Map<string, { readonly host: string; readonly since: number; last: number }>();
  readonly #stale = new Set<string>();

  /** @param isWalkedAgain whether a walk may give up a request and make it anew: that need not have a new connection */
  constructor(violated: (what: string) => void, isWalkedAgain: boolean) {
    this.#violated = violated;
    this.#isWalkedAgain = isWalkedAgain;
  }

  sent({ name: sentName, isFresh }: Sent): void {
    const name = unmoved(sentName);
    this.underWay += 1;
    if (this.#stale.delete(name) && !isFresh && !this.#isWalkedAgain)
      this.#violated(`${name} was not sent again over a new connection when its own turned out to be closed.`);
  }

  /** @param outcome the status of the answer (429 and 403: the quota is used up), or why there is none */
  ended(host: string, sentName: string, outcome: number | string, at: number): void {
    const name = unmoved(sentName);
    this.underWay -= 1;
    // With another token, it is the same request.
    if (outcome === 307 || outcome === 401) return;
    if (outcome === 'stale') {
      this.#stale.add(name);
      return;
    }
    // It was not written: it waits for the limiter again.
    if (outcome === 'outdated') return;
    if (typeof outcome === 'number' && outcome < 500 && outcome !== 429 && outcome !== 403) {
      this.#failing.delete(name);
      return;
    }
    const failing = this.#failing.get(name) ?? { host, since: at, last: at };
    failing.last = at;
    this.#failing.set(name, failing);
  }

  /** Whether a request to a host failed for as long as it had to be tried. */
  mayGiveUp(isMeant: (host: string) => boolean): boolean {
    return [...this.#failing.values()].some(
      ({ host, since, last }) => isMeant(host) && last - since >= retriesFor - rounding,
    );
  }
}
