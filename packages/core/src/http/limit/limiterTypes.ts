import type { RateLimitError } from '../../errors.js';

/** Permission to start one request. The request counts as running until the permit is released. */
export interface Permit {
  /**
   * Ends the request; calling it again does nothing. `unwritten`: nothing was written, nor will be, so the request does
   * not count.
   */
  release(use?: 'unwritten'): void;
  /**
   * Counts the request from now on, in the turn of the event loop in which it is written. Until then it counts as if it
   * was about to be, and without this call from its release on.
   *
   * @returns `false` if the permit is too old, or a pause has begun: nothing may be written with it, and the request
   * needs another one.
   */
  started?(): boolean;
  /** Receives each response, of any status, before the permit is released. Only a limiter with a quota needs it. */
  observe?(response: ObservedResponse): QuotaNotice;
}

/** A response, for a limiter that learns from it. */
export interface ObservedResponse {
  readonly status: number;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
}

/** A quota as an API reports it. */
export interface Quota {
  /** Requests that are left. */
  readonly remaining: number;
  /** When more are left, by our clock (ISO 8601). */
  readonly resetAt: string;
}

/** What a response says about its API's quota. */
export interface QuotaNotice {
  /** Of several quotas, the one of which least is left. Absent if the response reports none. */
  readonly quota?: Quota | undefined;
  /**
   * Set if the request is refused for now. `used-up`: the limiter waits for the quota, `wait` ms, unless that is too
   * long, which is an `error`; without `wait`, the API does not say how long. `asked`: `Retry-After` says how long.
   */
  readonly refusal?:
    | { readonly kind: 'asked' }
    | { readonly kind: 'used-up'; readonly wait?: number | undefined; readonly error?: RateLimitError | undefined }
    | undefined;
}

/** The request that wants a permit. */
export interface AcquireOptions {
  readonly route: string;
  /** Leaves the queue at once; the promise rejects with `signal.reason`. */
  readonly signal?: AbortSignal | undefined;
}

/** How much of a rate is used. */
export interface RateUse {
  /** Starts, or cost units, within the last `per` ms. */
  readonly used: number;
  /** How many may start within `per` ms. */
  readonly limit: number;
  /** Ms. */
  readonly per: number;
}

/** A limit that outlives the process, as far as all processes have used it. */
export interface BudgetUse {
  /** Starts, or cost units, that are left now. */
  readonly left: number;
  /** How many may start within `per` ms. */
  readonly limit: number;
  /** Ms. */
  readonly per: number;
  /** Ms until the next request may start; 0 unless the budget is used up. */
  readonly returnsIn: number;
  /** Ms until all that is used has returned, if nothing else is used until then. */
  readonly allIn: number;
}

/** Queue and pause of a {@link Limiter}. */
export interface LimiterState {
  /** Requests that wait for a permit. */
  readonly queued: number;
  /** Permits that are not released yet. */
  readonly running: number;
  /** Ms until the pause ends; 0 without one. */
  readonly pausedFor: number;
  /** Of several limits, the one that is used most. Absent without a limit, or if the limiter does not know. */
  readonly rate?: RateUse;
  /** Of several that outlive the process, the one of which least is left. Absent without one, or before the first request. */
  readonly budget?: BudgetUse;
  /** What keeps a shared limiter from giving permits, in a few words, and for how many ms already. */
  readonly outage?: { readonly cause: string; readonly for: number };
}

/**
 * Decides when a request may start. One limiter serves all requests that share a quota: those of an API, or of several.
 *
 * Every attempt acquires its own permit, so that retries cannot exceed the limit, and holds none during back-off.
 */
export interface Limiter {
  /** Resolves when the request may start, in the order of the calls. */
  acquire(request: AcquireOptions): Promise<Permit>;
  /** Starts nothing for `ms`. It never shortens a pause. */
  pause(ms: number): void;
  readonly state: LimiterState;
  /**
   * Ms since requests may start again, after a limit that outlives the process was used up; negative while it is.
   * `undefined`: it was not used up, or the limiter does not know.
   */
  returnedFor?(): Promise<number | undefined>;
  /** Ends what it holds, e.g. a connection. A client calls it when it closes, also if others use the same limiter. */
  close?(): Promise<void>;
}
