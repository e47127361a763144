import type { Clock } from '../../clock.js';
import type { Credential } from '../credentials/auth.js';
import type { Timeouts } from '../requestTimes.js';
import { BothLimiters } from './bothLimiters.js';
import { GuardedLimiter } from './guardedLimiter.js';
import { defaultLimit, type Limit } from './limit.js';
import type { Limiter, LimiterState } from './limiterTypes.js';
import { LocalLimiter, unlimited } from './localLimiter.js';
import { QuotaLimiter } from './quotaLimiter.js';
import type { QuotaRules } from './rateLimitHeaders.js';

/** `false`: no limit. */
type RateLimit = false | Limit | readonly Limit[];

/** What limits the requests of a client, or of one of its APIs. */
export interface LimitOptions {
  readonly rateLimit?: RateLimit | undefined;
  readonly limiter?: Limiter | undefined;
}

/** The limiters of a client: the one that APIs share, and those of APIs with limits or credentials of their own. */
export class ApiLimiters {
  readonly shared: Limiter;
  readonly #options: LimitOptions;
  readonly #clock: Clock;
  readonly #timeouts: Timeouts;
  readonly #byApi = new Map<string, Limiter>();
  /** A limiter that several APIs were given is wrapped once. */
  readonly #given = new Map<Limiter, Limiter>();

  /** @throws ConfigError if a limit is invalid. */
  constructor(options: LimitOptions, clock: Clock, timeouts: Timeouts) {
    this.#options = options;
    this.#clock = clock;
    this.#timeouts = timeouts;
    const { limiter, rateLimit = defaultLimit } = options;
    this.shared = limiter ? this.#wrap(limiter, "The client's limiter") : this.#limitBy(rateLimit);
  }

  /** By the name of the API. */
  get states(): ReadonlyMap<string, LimiterState> {
    return new Map(Array.from(this.#byApi, ([api, limiter]) => [api, limiter.state]));
  }

  apisOf(limiter: Limiter): readonly string[] {
    return Object.freeze(Array.from(this.#byApi).flatMap(([api, each]) => (each === limiter ? [api] : [])));
  }

  /** Opens the limiter of an API. @param auth its own credentials. @throws ConfigError if a limit is invalid. */
  open(
    api: string,
    {
      auth,
      rateLimit,
      limiter,
      quota,
    }: LimitOptions & { readonly auth?: readonly Credential[] | undefined; readonly quota?: QuotaRules | undefined },
  ): Limiter {
    const client = this.#options;
    const hasClientLimit = client.limiter !== undefined || client.rateLimit !== undefined;
    let limited: Limiter | undefined;
    if (limiter) limited = this.#wrap(limiter, `The limiter of ${api}`);
    else if (!auth && rateLimit === undefined && (!quota || hasClientLimit)) limited = this.shared;
    else if (client.limiter && rateLimit) limited = new BothLimiters([rateLimit].flat(), this.shared, this.#clock);
    else if (client.limiter && rateLimit === undefined && quota)
      limited = new BothLimiters([], this.shared, this.#clock, quota.concurrency);
    else if (client.limiter) limited = this.shared;
    // The limits of the client, if there are any, also hold for each API with its own.
    else if (client.rateLimit !== undefined || rateLimit !== undefined)
      limited = this.#limitBy(client.rateLimit ?? [], rateLimit ?? []);
    // A quota is a limit already, so the default one would only slow the API down.
    const opened = quota
      ? new QuotaLimiter(limited ?? unlimited(this.#clock, quota.concurrency), quota, this.#clock)
      : (limited ?? this.#limitBy(defaultLimit));
    this.#byApi.set(api, opened);
    return opened;
  }

  async close(): Promise<void> {
    await Promise.all(Array.from(new Set([this.shared, ...this.#byApi.values()]), async (each) => each.close?.()));
  }

  #wrap(limiter: Limiter, whose: string): Limiter {
    const wrapped = this.#given.get(limiter) ?? new GuardedLimiter(limiter, whose, this.#clock, this.#timeouts.total);
    this.#given.set(limiter, wrapped);
    return wrapped;
  }

  #limitBy(...limits: readonly RateLimit[]): Limiter {
    const all = limits.flat().filter((limit) => limit !== false);
    return new LocalLimiter(all, this.#clock, { longestPending: this.#timeouts.connect });
  }
}
