import type { Clock } from '../clock.js';
import { RateLimitError } from '../errors.js';
import type { ObservedResponse, QuotaNotice } from './limiterTypes.js';
import { doubted, learned, quotaStart, spent, type KnownQuota } from './quotaPace.js';
import type { QuotaReport, QuotaRules } from './rateLimitHeaders.js';
import { dateAfter, retryAfter } from './retryPolicy.js';

/** A request from its admission to its end. */
export interface Flight {
  readonly route: RouteQuotas;
  /** What it is expected to use. */
  readonly quotas: readonly TrackedQuota[];
  /** When it started; until then, when it was admitted. */
  startedAt: number;
  hasStarted: boolean;
}

/** Requests that wait for each other. */
interface Counted {
  readonly flights: Set<Flight>;
}

interface TrackedQuota extends Counted {
  known: KnownQuota | undefined;
  lastStart: number;
}

interface RouteQuotas extends Counted {
  /** Names of the quotas that the route's last response reported; `undefined` before the first response. */
  uses: readonly string[] | undefined;
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
  readonly #routes = new Map<string, RouteQuotas>();
  readonly #all: Counted = { flights: new Set() };
  #hasAnswered = false;
  #lastStatus = 429;

  constructor(rules: QuotaRules, clock: Clock) {
    this.#rules = rules;
    this.#clock = clock;
  }

  /** What a request of this route waits for. */
  queuesOf(route: string): readonly Counted[] {
    const { uses, known } = this.#of(route);
    if (uses) return known;
    // It is unknown which quota the route uses, and before the first response, whether there are any.
    return [this.#hasAnswered ? this.#route(route) : this.#all];
  }

  /** When a request of this route may be admitted: `now`, or a later time. */
  admission(route: string, now: number): number {
    const { uses, known } = this.#of(route);
    if (!uses) return this.queuesOf(route).some(({ flights }) => flights.size > 0) ? Infinity : now;
    const at = Math.max(now, ...known.map((quota) => this.#start(quota, [...quota.flights], quota.lastStart)));
    return at <= now + precision ? now : at;
  }

  /** Ms until the quotas of a route that are used up are renewed; 0 if none is. */
  pauseOf(route: string): number {
    const now = this.#clock.monotonic();
    const ends = this.#of(route).known.map(({ known }) => (known && known.remaining < 1 ? known.staleAt : now));
    return Math.max(now, ...ends) - now;
  }

  /** The error of a request that would have to wait for too long. */
  refusal(route: string): RateLimitError | undefined {
    const wait = this.pauseOf(route);
    return wait > this.#rules.maxQuotaWait ? this.#tooLong(route, wait) : undefined;
  }

  admit(route: string): Flight {
    const now = this.#clock.monotonic();
    const flight = { route: this.#route(route), quotas: this.#of(route).known, startedAt: now, hasStarted: false };
    for (const { flights } of this.#countsOf(flight)) flights.add(flight);
    for (const quota of flight.quotas) quota.lastStart = now;
    return flight;
  }

  /** Starts a request, unless too little is left since it was admitted. */
  start(flight: Flight): boolean {
    const now = this.#clock.monotonic();
    const others = (counted: Counted): Flight[] =>
      [...counted.flights].filter((other) => other !== flight && other.hasStarted);
    if (flight.quotas.some((quota) => this.#start(quota, others(quota), -Infinity) > now + precision)) return false;
    flight.startedAt = now;
    flight.hasStarted = true;
    for (const quota of flight.quotas) quota.lastStart = now;
    return true;
  }

  /** @param isKnown whether {@link observe} has received its response, or nothing was written */
  end(flight: Flight, isKnown: boolean): void {
    for (const { flights } of this.#countsOf(flight)) flights.delete(flight);
    if (flight.hasStarted && !isKnown) spend(flight.quotas);
  }

  /** Learns from a response of a request of this route; returns what it says to that request. */
  observe(route: string, flight: Flight, { status, headers }: ObservedResponse): QuotaNotice {
    const now = this.#clock.now();
    const read = this.#rules.read(headers, now);
    const mayRefuse = status === 403 || status === 429;
    const asked = mayRefuse ? retryAfter(headers['retry-after'], headers['date'], now) : undefined;
    // An absurd `Retry-After` must not hold back all others.
    const until = asked !== undefined && asked <= this.#rules.maxQuotaWait ? asked : undefined;
    const reports = read.flatMap(({ name, remaining, resetIn = until ?? this.#resetIn(name) }) =>
      resetIn === undefined ? [] : [{ name, remaining, resetIn }],
    );
    const isUsedUp = mayRefuse && read.some(({ remaining }) => remaining === 0);
    const isRefused = isUsedUp || asked !== undefined || status === 429;
    this.#hasAnswered = true;
    if (isRefused) this.#lastStatus = status;
    for (const report of reports) this.#learn(flight, report, { until, isUsedUp, isRefused });
    if (reports.length > 0) flight.route.uses = reports.map(({ name }) => name);
    else this.#learnNothing(flight, isRefused, status);
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
    quota.known = learned(quota.known, {
      remaining,
      // `Retry-After` has precedence over the reset (section 6 of the draft).
      resetIn: isGone ? (until ?? resetIn) : resetIn,
      sentAt: startedAt,
      arrivedAt,
      isRefused: isGone,
    });
    if (isRefused && !isUsedUp) quota.known = doubted(quota.known, arrivedAt);
  }

  /** From a response without a report. */
  #learnNothing({ route, quotas }: Flight, isRefused: boolean, status: number): void {
    const arrivedAt = this.#clock.monotonic();
    if (isRefused) for (const quota of quotas) quota.known = doubted(quota.known, arrivedAt);
    else if (status < 500 && !quotas.some(({ known }) => known && arrivedAt < known.staleAt)) route.uses = [];
    else spend(quotas);
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

  #countsOf({ route, quotas }: Flight): Counted[] {
    return [this.#all, route, ...quotas];
  }

  /** The quotas that a route is expected to use. If those of the API have no names, there is only one. */
  #of(route: string): { readonly uses: readonly string[] | undefined; readonly known: readonly TrackedQuota[] } {
    const uses = this.#routes.get(route)?.uses ?? (this.#quotas.has('') ? [''] : undefined);
    return { uses, known: uses?.map((name) => this.#quota(name)) ?? [] };
  }

  #route(route: string): RouteQuotas {
    return entryOf(this.#routes, route, maxRoutes, () => ({ uses: undefined, flights: new Set() }));
  }

  #quota(name: string): TrackedQuota {
    return entryOf(this.#quotas, name, maxQuotas, () => ({
      known: undefined,
      lastStart: -Infinity,
      flights: new Set<Flight>(),
    }));
  }

  #tooLong(route: string, wait: number): RateLimitError {
    const retryAt = dateAfter(this.#clock.now(), wait);
    const until = retryAt ? ` until ${retryAt.toISOString()}` : '';
    const message = `${route}: the quota is used up${until}, and requests wait for ${String(Math.round(this.#rules.maxQuotaWait / 1000))} s at most.`;
    return new RateLimitError(message, {
      status: this.#lastStatus,
      retryAt,
      details: { route },
      advice: [{ kind: 'wait' }],
    });
  }
}

function spend(quotas: readonly TrackedQuota[]): void {
  for (const quota of quotas) if (quota.known) quota.known = spent(quota.known);
}

/** The entry of a name. An API may make up any number of them, so the one that was used longest ago goes. */
function entryOf<T>(entries: Map<string, T>, name: string, max: number, make: () => T): T {
  const entry = entries.get(name) ?? make();
  entries.delete(name);
  entries.set(name, entry);
  const [oldest] = entries.keys();
  if (entries.size > max && oldest !== undefined) entries.delete(oldest);
  return entry;
}
