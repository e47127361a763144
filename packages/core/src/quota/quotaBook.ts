import type { Clock } from '../clock.js';
import { RateLimitError } from '../errors.js';
import { isQuotaStatus, isRateLimitStatus } from '../retriedStatuses.js';
import type { ObservedResponse, QuotaNotice } from '../http/limit/limiterTypes.js';
import { doubt, learn, quotaStart, spend, type KnownQuota } from './quotaPace.js';
import type { QuotaReport, QuotaRules } from './rateLimitHeaders.js';
import { dateAfter, retryAfter } from '../http/response/retryAfter.js';

/** A request from its admission to its end. */
export interface Flight {
  readonly route: string;
  /** What it is expected to use. */
  readonly quotas: readonly TrackedQuota[];
  /** When it started; until then, when it was admitted. */
  startedAt: number;
  hasStarted: boolean;
  hasResponse: boolean;
}

interface TrackedQuota {
  known: KnownQuota | undefined;
  lastStart: number;
}

const maxQuotas = 100;
const maxRoutes = 1000;
/** Ms; timers are not more precise. */
const precision = 0.01;

/** The quotas of an API: what is left of each, which requests are in flight, and which route uses which. */
export class QuotaBook {
  readonly #rules: QuotaRules;
  readonly #clock: Clock;
  readonly #quotas = new Map<string, TrackedQuota>();
  /** Names of the quotas that the last response of each route reported. */
  readonly #routes = new Map<string, readonly string[]>();
  readonly #flights = new Set<Flight>();
  #hasAnswered = false;
  #lastStatus = 429;

  constructor(rules: QuotaRules, clock: Clock) {
    this.#rules = rules;
    this.#clock = clock;
  }

  /** What a request of this route waits for: others that wait for it, too, go first. */
  queuesOf(route: string): readonly unknown[] {
    // Until it is known which quota a route uses, its requests wait for each other; before the first response, all do.
    return this.#of(route) ?? [this.#hasAnswered ? route : this];
  }

  /** When a request of this route may be admitted: `now`, or a later time. */
  admission(route: string, now: number): number {
    const quotas = this.#of(route);
    if (!quotas)
      return this.#inFlight((other) => other.route === route || !this.#hasAnswered).length > 0 ? Infinity : now;
    const starts = quotas.map((quota) => {
      const flights = this.#inFlight(({ quotas }) => quotas.includes(quota));
      return this.#start(quota, flights, quota.lastStart);
    });
    const at = Math.max(now, ...starts);
    return at <= now + precision ? now : at;
  }

  /** Ms until the quotas of a route that are used up are renewed; 0 if none is. */
  pauseOf(route: string): number {
    const now = this.#clock.monotonic();
    const ends = (this.#of(route) ?? []).map(({ known }) => (known && known.remaining < 1 ? known.staleAt : now));
    return Math.max(now, ...ends) - now;
  }

  /** The error of a request that would have to wait for too long. */
  refusal(route: string): RateLimitError | undefined {
    const wait = this.pauseOf(route);
    const { maxQuotaWait } = this.#rules;
    if (wait <= maxQuotaWait) return undefined;
    const retryAt = dateAfter(this.#clock.now(), wait);
    const until = retryAt ? ` until ${retryAt.toISOString()}` : '';
    const message = `${route}: the quota is used up${until}, and requests wait for ${String(Math.round(maxQuotaWait / 1000))} s at most.`;
    return new RateLimitError(message, {
      status: this.#lastStatus,
      retryAt,
      details: { route },
      advice: [{ kind: 'wait' }],
    });
  }

  admit(route: string): Flight {
    const now = this.#clock.monotonic();
    const quotas = this.#of(route) ?? [];
    const flight: Flight = { route, quotas, startedAt: now, hasStarted: false, hasResponse: false };
    this.#flights.add(flight);
    for (const quota of quotas) quota.lastStart = now;
    return flight;
  }

  /** Starts a request, unless too little is left since it was admitted. */
  start(flight: Flight): boolean {
    const now = this.#clock.monotonic();
    const isSpent = flight.quotas.some((quota) => {
      const others = this.#inFlight((other) => other.hasStarted && other.quotas.includes(quota));
      return this.#start(quota, others, -Infinity) > now + precision;
    });
    if (isSpent) return false;
    flight.startedAt = now;
    flight.hasStarted = true;
    for (const quota of flight.quotas) quota.lastStart = now;
    return true;
  }

  /** Ends a request, once. One that may have been written, and has no response, counts as used. */
  end(flight: Flight, mayBeWritten: boolean): void {
    const isFirst = this.#flights.delete(flight);
    if (isFirst && mayBeWritten && !flight.hasResponse) spendAll(flight.quotas);
  }

  /** Learns from the response of a request; returns what it says to that request. */
  observe(flight: Flight, { status, headers }: ObservedResponse): QuotaNotice {
    const { route } = flight;
    flight.hasResponse = true;
    const now = this.#clock.now();
    const read = this.#rules.read(headers, now);
    const mayRefuse = isQuotaStatus(status);
    const asked = mayRefuse ? retryAfter(headers['retry-after'], headers['date'], now) : undefined;
    // An absurd `Retry-After` must not hold back all others.
    const until = asked !== undefined && asked <= this.#rules.maxQuotaWait ? asked : undefined;
    const reports = read.flatMap(({ name, remaining, resetIn = until ?? this.#resetIn(name) }) =>
      resetIn === undefined ? [] : [{ name, remaining, resetIn }],
    );
    const isUsedUp = mayRefuse && read.some(({ remaining }) => remaining === 0);
    const isRefused = isUsedUp || asked !== undefined || isRateLimitStatus(status);
    this.#hasAnswered = true;
    if (isRefused) this.#lastStatus = status;
    for (const report of reports) this.#learn(flight, report, { until, isUsedUp, isRefused });
    const names = reports.map(({ name }) => name);
    if (reports.length === 0) this.#learnNothing(flight, isRefused, status);
    else keep(this.#routes, route, names, maxRoutes);
    const [least] = [...reports].sort((a, b) => a.remaining - b.remaining || b.resetIn - a.resetIn);
    const resetAt = least && dateAfter(now, least.resetIn);
    const quota = resetAt && Object.freeze({ remaining: least.remaining, resetAt: resetAt.toISOString() });
    if (!isUsedUp) return { quota, refusal: asked === undefined ? undefined : { kind: 'asked' } };
    const wait = this.pauseOf(route);
    return { quota, refusal: { kind: 'used-up', wait: wait > 0 ? wait : undefined, error: this.refusal(route) } };
  }

  #learn(
    { startedAt }: Flight,
    { name, remaining, resetIn }: Required<QuotaReport>,
    { until, isUsedUp, isRefused }: { until: number | undefined; isUsedUp: boolean; isRefused: boolean },
  ): void {
    const quota = this.#quota(name);
    const arrivedAt = this.#clock.monotonic();
    const isGone = isUsedUp && remaining === 0;
    quota.known = learn(quota.known, {
      remaining,
      // `Retry-After` has precedence over the reset (section 6 of the draft).
      resetIn: isGone ? (until ?? resetIn) : resetIn,
      sentAt: startedAt,
      arrivedAt,
      isRefused: isGone,
    });
    if (isRefused && !isUsedUp) quota.known = doubt(quota.known, arrivedAt);
  }

  /** From a response without a report. */
  #learnNothing({ route, quotas }: Flight, isRefused: boolean, status: number): void {
    const arrivedAt = this.#clock.monotonic();
    if (isRefused) for (const quota of quotas) quota.known = doubt(quota.known, arrivedAt);
    else if (status < 500 && !quotas.some(({ known }) => known && arrivedAt < known.staleAt))
      keep(this.#routes, route, [], maxRoutes);
    else spendAll(quotas);
  }

  /** Ms until the reset that an earlier response has reported. */
  #resetIn(name: string): number | undefined {
    const left = (this.#quotas.get(name)?.known?.resetAt ?? -Infinity) - this.#clock.monotonic();
    return left > 0 ? left : undefined;
  }

  #start(quota: TrackedQuota, flights: readonly Flight[], lastStart: number): number {
    const { known } = quota;
    return quotaStart(known, {
      inFlight: flights.length,
      lastStart,
      now: this.#clock.monotonic(),
      maxWait: this.#rules.maxQuotaWait,
      isProbed: flights.some(({ startedAt }) => startedAt >= (known?.resetAt ?? -Infinity)),
    });
  }

  #inFlight(isMeant: (flight: Flight) => boolean): Flight[] {
    return [...this.#flights].filter(isMeant);
  }

  /** The quotas that a route is expected to use, if that is known. If those of the API have no names, there is only one. */
  #of(route: string): TrackedQuota[] | undefined {
    const names = this.#routes.get(route) ?? (this.#quotas.has('') ? [''] : undefined);
    return names?.map((name) => this.#quota(name));
  }

  #quota(name: string): TrackedQuota {
    const quota = this.#quotas.get(name) ?? { known: undefined, lastStart: -Infinity };
    keep(this.#quotas, name, quota, maxQuotas);
    return quota;
  }
}

function spendAll(quotas: readonly TrackedQuota[]): void {
  for (const quota of quotas) if (quota.known) quota.known = spend(quota.known);
}

/** Sets an entry. An API may make up any number of names, so the one that was used longest ago goes. */
function keep<T>(entries: Map<string, T>, name: string, entry: T, max: number): void {
  entries.delete(name);
  entries.set(name, entry);
  const [oldest] = entries.keys();
  if (entries.size > max && oldest !== undefined) entries.delete(oldest);
}
