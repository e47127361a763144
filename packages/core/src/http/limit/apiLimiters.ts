import type { Clock } from '../../clock.js';
import type { Identifiers } from '../../identifiers.js';
import type { Timeouts } from '../requestTimes.js';
import { BothLimiters } from './bothLimiters.js';
import { Budget, type OpenBudget } from './budget.js';
import { type BudgetOwner, type Budgets, openBudget } from './budgets.js';
import { GuardedLimiter } from './guardedLimiter.js';
import { defaultLimit, listLimits, type RateLimit } from './limit.js';
import type { Limiter, LimiterState } from './limiterTypes.js';
import { LocalLimiter, unlimited } from './localLimiter.js';

/** What limits the requests of a client, or of one of its APIs. */
export interface LimitOptions {
  readonly rateLimit?: RateLimit | undefined;
  readonly limiter?: Limiter | undefined;
}

/** What the limiters of a client use. */
export interface LimiterTools extends Pick<Identifiers, 'sha256'> {
  readonly clock: Clock;
  readonly random: () => number;
  readonly timeouts: Timeouts;
  /** Where limits are kept that outlive the process. `false`: nowhere. */
  readonly limits?: Budgets | false | undefined;
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
  /** Whose budget it is. Called before the first request. */
  readonly owner: () => BudgetOwner;
  readonly warn: (message: string) => void;
}

/** The limiters of a client: the one that APIs share, and those of APIs with limits or credentials of their own. */
export class ApiLimiters {
  readonly shared: Limiter;
  readonly #options: LimitOptions;
  readonly #tools: LimiterTools;
  /** The APIs that use the shared limiter. */
  readonly #sharing: Pick<ApiLimits, 'owner' | 'warn'>[] = [];
  readonly #byApi = new Map<string, Limiter>();
  /** A limiter that several APIs were given is wrapped once. */
  readonly #given = new Map<Limiter, Limiter>();

  /** @throws ConfigError if a limit is invalid. */
  constructor(options: LimitOptions, tools: LimiterTools) {
    this.#options = options;
    this.#tools = tools;
    const { limiter, rateLimit = defaultLimit } = options;
    const budget = this.#budgetOf(
      () => this.#sharedOwner,
      (message) => this.#sharing[0]?.warn(message),
    );
    this.shared = limiter ? this.#wrap(limiter, "The client's limiter") : this.#limitBy([rateLimit], budget);
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
    if (limited === this.shared) this.#sharing.push(options);
    const opened = options.steering?.wrap(limited) ?? limited;
    this.#byApi.set(api, opened);
    return opened;
  }

  async close(): Promise<void> {
    await Promise.all(Array.from(new Set([this.shared, ...this.#byApi.values()]), async (each) => each.close?.()));
  }

  /** What limits an API besides its responses. The limits of the client, if it has any, hold for each API. */
  #limit(api: string, { isSeparate, rateLimit, limiter, steering, owner, warn }: ApiLimits): Limiter {
    const client = this.#options;
    const { clock } = this.#tools;
    // An API with a quota counts by itself what is left.
    const budget = steering ? undefined : this.#budgetOf(owner, warn);
    if (limiter) return this.#wrap(limiter, `The limiter of ${api}`);
    const isLimited = client.limiter !== undefined || client.rateLimit !== undefined;
    if (!isSeparate && rateLimit === undefined && (isLimited || !steering)) return this.shared;
    const concurrency = rateLimit === undefined ? steering?.concurrency : undefined;
    if (client.limiter) {
      const own = listLimits(rateLimit ?? []);
      if (own.length === 0 && concurrency === undefined) return this.shared;
      return new BothLimiters(own, this.shared, clock, { concurrency, budget });
    }
    if (client.rateLimit !== undefined || rateLimit !== undefined)
      return this.#limitBy([client.rateLimit ?? [], rateLimit ?? []], budget);
    // Responses that steer are a limit already, so the default one would only slow the API down.
    return steering ? unlimited(clock, concurrency) : this.#limitBy([defaultLimit], budget);
  }

  #wrap(limiter: Limiter, whose: string): Limiter {
    const wrapped =
      this.#given.get(limiter) ?? new GuardedLimiter(limiter, whose, this.#tools.clock, this.#tools.timeouts.total);
    this.#given.set(limiter, wrapped);
    return wrapped;
  }

  #limitBy(limits: readonly RateLimit[], budget: OpenBudget | undefined): Limiter {
    const { clock, timeouts } = this.#tools;
    return new LocalLimiter(listLimits(...limits), clock, { longestPending: timeouts.connect, budget });
  }

  /** A limit of a key is that of all its APIs. Without a key, it is that of these APIs together. */
  get #sharedOwner(): BudgetOwner {
    const owners = this.#sharing.map(({ owner }) => owner());
    const credentials = owners.find((owner) => owner.credentials?.isSent === true)?.credentials;
    if (credentials) return { credentials };
    return {
      baseUrl: Array.from(new Set(owners.map(({ baseUrl = '' }) => baseUrl)), String)
        .sort()
        .join(' '),
    };
  }

  #budgetOf(owner: () => BudgetOwner, warn: (message: string) => void): OpenBudget | undefined {
    const { limits = false, sha256, clock, random } = this.#tools;
    if (limits === false) return undefined;
    return Budget.opener({
      open: (lock) => openBudget(limits, owner(), { lock, hash: sha256 }),
      boot: limits.boot,
      clock,
      random,
      warn,
    });
  }
}
