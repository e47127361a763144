import type { Clock } from '../../clock.js';
import type { OpenBudget } from './budget.js';
import type { Limit } from './limit.js';
import type { AcquireOptions, Limiter, LimiterState, Permit } from './limiterTypes.js';
import { LocalLimiter, type LocalPermit } from './localLimiter.js';

/**
 * The limits of an API, within a limiter that others use, too, e.g. other processes. A request waits for its own limits
 * first, so that it holds no permit of the others meanwhile.
 */
export class BothLimiters implements Limiter {
  readonly #own: LocalLimiter;
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
    return this.#own.returnedFor();
  }

  /** The other one is closed by the client. */
  async close(): Promise<void> {
    await this.#own.close();
  }

  async acquire(request: AcquireOptions): Promise<Permit> {
    for (;;) {
      const own = await this.#own.acquire(request);
      let shared: Permit | undefined;
      try {
        own.suspend();
        shared = await this.#shared.acquire(request);
        if (await own.resume()) return bothPermits(own, shared);
      } catch (error) {
        giveBack(own, shared);
        throw error;
      }
      // Its budget was used up meanwhile, maybe for hours, in which others may use the shared permit.
      giveBack(own, shared);
    }
  }
}

function giveBack(own: Permit, shared: Permit | undefined): void {
  shared?.release('unwritten');
  own.release('unwritten');
}

function bothPermits(own: LocalPermit, shared: Permit): Permit {
  return {
    // Each counts only what the other one allows to be written.
    started: () => own.mayStart() && (shared.started?.() ?? true) && own.started(),
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
