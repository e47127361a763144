import type { Answered } from './service.js';
import { epoch } from './platform.js';
import type { Life } from './schedule.js';

/** Requests that an API takes in each of its windows, and how it says so. */
export interface QuotaModel {
  readonly requests: number;
  /** Ms; the first window begins with the world. */
  readonly window: number;
  /** What it answers beyond it. */
  readonly status: 403 | 429;
  /** Whether `X-RateLimit-Reset` has the seconds until then, or those since 1970; and how they are rounded. */
  readonly reset: 'in' | 'at';
  readonly rounds: 'up' | 'down';
}

/** Names the window whose quota was used up. Clients don't know it. */
const usedUp = 'x-world-used-up';

/** Counts the requests that arrive, whoever sent them. */
export class Quota {
  readonly #model: QuotaModel;
  #window = -1;
  #used = 0;

  constructor(model: QuotaModel) {
    this.#model = model;
  }

  /** Answers a request, unless too many came before it. */
  answer(now: number, answered: () => Answered): Answered {
    const { requests, window, status } = this.#model;
    const current = Math.floor(now / window);
    if (current !== this.#window) this.#used = 0;
    this.#window = current;
    if (this.#used >= requests) {
      const headers = { ...this.#headers(now), [usedUp]: String(current) };
      return { status, headers, body: JSON.stringify({ message: 'API rate limit exceeded' }) };
    }
    this.#used += 1;
    const answer = answered();
    return { ...answer, headers: { ...answer.headers, ...this.#headers(now) } };
  }

  #headers(now: number): Readonly<Record<string, string>> {
    const { requests, window, reset, rounds } = this.#model;
    const end = (this.#window + 1) * window;
    const seconds = (reset === 'in' ? end - now : epoch + end) / 1_000;
    return {
      date: new Date(epoch + now).toUTCString(),
      'x-ratelimit-limit': String(requests),
      'x-ratelimit-remaining': String(requests - this.#used),
      'x-ratelimit-reset': String(rounds === 'up' ? Math.ceil(seconds) : Math.floor(seconds)),
    };
  }
}

/** Ms after the start of a process in which requests of one that was killed may arrive. */
const afterlife = 1_000;

/** No process is refused more than once in a window of the quota: it knows what is left from its first answer on. */
export class QuotaOracle {
  readonly #quota: QuotaModel | undefined;
  readonly #violated: (what: string) => void;
  readonly #refusals = new Map<string, number>();

  constructor(quota: QuotaModel | undefined, violated: (what: string) => void) {
    this.#quota = quota;
    this.#violated = violated;
  }

  /** A process that began then has got an answer. */
  got({ name }: Life, began: number, { headers = {} }: Answered): void {
    const window = headers[usedUp];
    // What another process uses up, it cannot know.
    if (window === undefined || !this.#quota || Number(window) * this.#quota.window < began + afterlife) return;
    const of = `${name} ${window}`;
    const refusals = (this.#refusals.get(of) ?? 0) + 1;
    this.#refusals.set(of, refusals);
    if (refusals > 1) this.#violated(`${name} was refused ${refusals} times in a window of the quota.`);
  }
}
