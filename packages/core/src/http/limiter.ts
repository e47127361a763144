/** Permission to start one request. It counts as running until it is released. */
export interface Permit {
  /** Ends the request; calling it again does nothing. */
  release(): void;
}

/** The request that wants a permit. */
export interface AcquireOptions {
  readonly route: string;
  /** Gives up the place in the queue at once: the promise rejects with `signal.reason`. */
  readonly signal?: AbortSignal;
}

/** What a limiter is doing. */
export interface LimiterState {
  /** Requests that wait for a permit. */
  readonly queued: number;
  /** Permits that are not released yet. */
  readonly running: number;
  /** Ms until a pause ends; 0 when there is none. */
  readonly pausedFor: number;
}

/**
 * Decides when a request may start. One limiter serves a whole client, since all its requests share one key's quota.
 *
 * Every attempt takes its own turn, so that retries can't exceed the limit either, and holds none while it backs off.
 */
export interface Limiter {
  /** Resolves when the request may start, in the order of the calls. */
  acquire(request: AcquireOptions): Promise<Permit>;
  /** Lets nothing start for `ms`; a longer pause that is already under way stays. */
  pause(ms: number): void;
  readonly state: LimiterState;
}

/**
 * A rate: at most `requests` starts in any `per` ms.
 *
 * @example { requests: 25, per: 1000, concurrency: 4, costs: { 'aptos.walletNfts': 5 } }
 */
export interface Limit {
  /**
   * Starts (or cost units, where routes have costs) in any window of `per` ms. Above some 400 a second it is the limiter's own
   * work that bounds the rate: set no limit then.
   */
  readonly requests: number;
  /** Length of the window in ms. */
  readonly per: number;
  /** How many may start back to back; the rest is spread evenly. Default: `requests`. 1 gives an even pace. */
  readonly burst?: number;
  /** Requests under way at once. Default: as many as are asked for. */
  readonly concurrency?: number;
  /** What one request of a route counts, where it isn't 1. A cost above `requests` (or `burst`) can never start: it is refused. */
  readonly costs?: Readonly<Record<string, number>>;
}

/** What a client does when nothing is said, since the APIs' own limits are unknown: 5 requests a second, 4 at once. */
export const defaultLimit: Limit = { requests: 5, per: 1000, concurrency: 4 };
