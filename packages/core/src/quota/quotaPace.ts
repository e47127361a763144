/** What is known of a quota. Times are in ms by the monotonic clock. */
export interface KnownQuota {
  /** Requests that were left when it was reported, less those that ended without a report since. */
  readonly remaining: number;
  /** When more are left, as the API says. */
  readonly resetAt: number;
  /** From here on nothing is known, so one request has to find out. */
  readonly staleAt: number;
  /** When the report arrived. Whatever was sent later, the API has counted later. */
  readonly knownAt: number;
  /** Whether it comes from a refused request. */
  readonly isRefused: boolean;
  /** Whether the reset moves on before it is reached: requests are given back one by one. */
  readonly isSliding: boolean;
  /** The most that was ever left. */
  readonly most: number;
}

/** A report of a quota, with the time of its request and its response. */
export interface TimedReport {
  readonly remaining: number;
  readonly resetIn: number;
  readonly sentAt: number;
  readonly arrivedAt: number;
  readonly isRefused: boolean;
}

/**
 * Ms that a quota counts as used up beyond its reset. Most APIs report whole seconds, rounded either way, so reports of
 * one reset may be this far apart.
 */
const margin = 1000;

/**
 * What is known after a report.
 *
 * Responses overtake each other. Among reports that overlap, the lowest one is the last that the API counted, unless
 * the quota was renewed in between. A refusal always counts, and nothing that was sent before it weakens it.
 */
export function learn(known: KnownQuota | undefined, report: TimedReport): KnownQuota {
  const { remaining, resetIn, sentAt, arrivedAt, isRefused } = report;
  const reset = arrivedAt + resetIn;
  const next = known ? Math.min(reset, known.resetAt) : reset;
  const asReported = (resetAt: number, isSliding = known?.isSliding ?? false): KnownQuota => ({
    remaining,
    resetAt,
    staleAt: resetAt + margin,
    knownAt: arrivedAt,
    isRefused,
    isSliding,
    most: Math.max(known?.most ?? 0, remaining),
  });
  if (!known || isRefused) return asReported(reset);
  const isNewer = sentAt >= known.knownAt;
  if (!isNewer && known.isRefused) return known;
  if (sentAt + resetIn > known.resetAt + margin) return asReported(reset, arrivedAt < known.resetAt - margin);
  if (reset < known.resetAt - margin) return isNewer ? asReported(reset) : known;
  // The same reset. Rounding and slow responses make it seem late, so the earliest report of it is the best.
  if (isNewer || remaining < known.remaining) return asReported(next);
  return { ...known, resetAt: next, staleAt: next + margin };
}

/** What is known after a request that the API may have counted, but that brought no report. */
export function spend(known: KnownQuota): KnownQuota {
  return { ...known, remaining: Math.max(0, known.remaining - 1) };
}

/** What is known after a refusal although requests are left: nothing, so one request has to find out. */
export function doubt(known: KnownQuota | undefined, now: number): KnownQuota {
  const { most = 0 } = known ?? {};
  return { remaining: 0, resetAt: now, staleAt: now, knownAt: now, isRefused: true, isSliding: false, most };
}

/**
 * When the next request may start, at `now` or later; `Infinity`: not before another one has its response.
 *
 * What is left, less the requests in flight, is spread until the reset. If starts are more than a second apart, the
 * spread includes the second after the reset; otherwise the last one is due right at the reset, and so finds out.
 *
 * @param pace.isProbed whether a request that started after the reset is in flight
 * @param pace.lastStart `-Infinity`: no spreading
 * @param pace.maxWait a quota whose reset is further away is not spread
 */
export function quotaStart(
  known: KnownQuota | undefined,
  pace: {
    readonly inFlight: number;
    readonly isProbed: boolean;
    readonly lastStart: number;
    readonly now: number;
    readonly maxWait: number;
  },
): number {
  const { inFlight, isProbed, lastStart, now, maxWait } = pace;
  if (!known || now >= known.staleAt) return isProbed ? Infinity : now;
  const left = known.remaining - inFlight;
  if (left < 1) return known.staleAt;
  if (known.resetAt - now > maxWait || lastStart === -Infinity) return now;
  const span = known.resetAt - lastStart;
  const gap = Math.min(span / left, (span + margin) / (left + 1));
  // A sliding window whose reset is always a window away gives back what was used, so few are left at the best pace.
  // The reserve of 5 % is kept because running out of it would cost a whole window.
  const slidingGap = known.isSliding ? span / Math.max(1, 0.95 * known.most - 1) : Infinity;
  return Math.max(now, lastStart + Math.min(gap, slidingGap));
}
