import type { Clock } from '../../clock.js';
import type { OpenBudget } from './budget.js';
import type { Limit } from './limit.js';
import type { AcquireOptions, Limiter, LimiterState, Permit } from './limiterTypes.js';
import { LocalLimiter } from './localLimiter.js';

/**
 * The limits of an API, within a limiter that others use, too, e.g. other processes. A request waits for its own limits
 * first, so that it holds no permit of the others meanwhile.
 */
export class BothLimiters implements Limiter {
  readonly #own: Limiter;
  readonly #shared: Limiter;

  /** @throws ConfigError if a limit is invalid. */
  constructor(
    own: readonly Limit[],
    shared: Limiter,
    clock: Clock,
    /** `concurrency`: requests in parallel. Default: the fewest of the limits. */
    options: { readonly concurrency?: number | undefined; readonly budget?: OpenBudget | undefined } = {},
  ) {
    // A request counts for as long as it waits for the others: it would lose its place there with a permit that expires.
    this.#own = new LocalLimiter(own, clock, { ...options, longestPending: Infinity });
    this.#shared = shared;
  }

  get state(): LimiterState {
    const own = this.#own.state;
    const shared = this.#shared.state;
    return {
      ...own,
      ...shared,
      queued: own.queued + shared.queued,
      pausedFor: Math.max(own.pausedFor, shared.pausedFor),
    };
  }

  pause(ms: number): void {
    this.#shared.pause(ms);
  }

  async returnedFor(): Promise<number | undefined> {
    return this.#own.returnedFor?.();
  }

  /** The other one is closed by the client. */
  async close(): Promise<void> {
    await this.#own.close?.();
  }

  async acquire(request: AcquireOptions): Promise<Permit> {
    const own = await this.#own.acquire(request);
    try {
      return bothPermits(own, await this.#shared.acquire(request));
    } catch (error) {
      own.release('unwritten');
      throw error;
    }
  }
}

function bothPermits(own: Permit, shared: Permit): Permit {
  return {
    // The own one counts only what the shared one allows to be written.
    started: () => (shared.started?.() ?? true) && (own.started?.() ?? true),
    observe(response) {
      own.observe?.(response);
      return shared.observe?.(response) ?? {};
    },
    release(use) {
      shared.release(use);
      own.release(use);
    },
  };
}
