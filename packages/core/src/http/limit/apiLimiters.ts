import type { Clock } from '../../clock.js';
import type { Timeouts } from '../requestTimes.js';
import { BothLimiters } from './bothLimiters.js';
import { GuardedLimiter } from './guardedLimiter.js';
import { defaultLimit, type Limit } from './limit.js';
import type { Limiter, LimiterState } from './limiterTypes.js';
import { LocalLimiter, unlimited } from './localLimiter.js';

/** `false`: no limit. */
type RateLimit = false | Limit | readonly Limit[];

/** What limits the requests of a client, or of one of its APIs. */
export interface LimitOptions {
  readonly rateLimit?: RateLimit | undefined;
  readonly limiter?: Limiter | undefined;
}

/** A limiter that the responses of an API steer. */
export interface Steering {
  /** Requests in parallel if nothing else limits the API. */
  readonly concurrency: number;
  /** Wraps what limits the API besides. */
  readonly wrap: (limiter: Limiter) => Limiter;
}

interface ApiLimits extends LimitOptions {
  /** Whether its requests count apart from those of other APIs, e.g. since it has its own credentials. */
  readonly isSeparate: boolean;
  readonly steering?: Steering | undefined;
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

  /** Opens the limiter of an API. @throws ConfigError if a limit is invalid. */
  open(api: string, options: ApiLimits): Limiter {
    const limited = this.#limit(api, options);
    const opened = options.steering?.wrap(limited) ?? limited;
    this.#byApi.set(api, opened);
    return opened;
  }

  async close(): Promise<void> {
    await Promise.all(Array.from(new Set([this.shared, ...this.#byApi.values()]), async (each) => each.close?.()));
  }

  /** What limits an API besides its responses. The limits of the client, if it has any, hold for each API. */
  #limit(api: string, { isSeparate, rateLimit, limiter, steering }: ApiLimits): Limiter {
    const client = this.#options;
    if (limiter) return this.#wrap(limiter, `The limiter of ${api}`);
    const isLimited = client.limiter !== undefined || client.rateLimit !== undefined;
    if (!isSeparate && rateLimit === undefined && (isLimited || !steering)) return this.shared;
    const concurrency = rateLimit === undefined ? steering?.concurrency : undefined;
    if (client.limiter) {
      const own = listLimits(rateLimit ?? []);
      if (own.length === 0 && concurrency === undefined) return this.shared;
      return new BothLimiters(own, this.shared, this.#clock, concurrency);
    }
    if (client.rateLimit !== undefined || rateLimit !== undefined)
      return this.#limitBy(client.rateLimit ?? [], rateLimit ?? []);
    // Responses that steer are a limit already, so the default one would only slow the API down.
    return steering ? unlimited(this.#clock, concurrency) : this.#limitBy(defaultLimit);
  }

  #wrap(limiter: Limiter, whose: string): Limiter {
    const wrapped = this.#given.get(limiter) ?? new GuardedLimiter(limiter, whose, this.#clock, this.#timeouts.total);
    this.#given.set(limiter, wrapped);
    return wrapped;
  }

  #limitBy(...limits: readonly RateLimit[]): Limiter {
    return new LocalLimiter(listLimits(...limits), this.#clock, { longestPending: this.#timeouts.connect });
  }
}

function listLimits(...limits: readonly RateLimit[]): readonly Limit[] {
  return limits.flat().filter((limit) => limit !== false);
}
