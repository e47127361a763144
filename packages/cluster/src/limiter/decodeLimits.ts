import { ConfigError, refuseUnknown, type Limit, type RateUse } from '@sluice/core';

/**
 * Ms added to each window. A server counts arrivals, and requests take different times to arrive: without a margin a strict
 * server refuses a few. Core's own limiter has the same.
 */
const arrivalMargin = 13;
/** Ms by which the clock of Redis may be set forward unnoticed: starts then seem older than they are. */
const clockMargin = 5;
const margin = arrivalMargin + clockMargin;
/** So many buckets hold the starts of a window, however long it is. */
const maxBuckets = 1_000;
const longestWindow = 3_600_000;

/** At most `max` cost units in any `span`; starts are counted in buckets of `width`. All times are in microseconds. */
export interface BookWindow {
  readonly max: number;
  readonly span: number;
  readonly width: number;
}

/** What a limits' text says. */
export interface BookLimits {
  readonly windows: readonly BookWindow[];
  /** By window, the costs of routes; others cost 1. */
  readonly costs: readonly Readonly<Record<string, number>>[];
}

/** Reads a text of {@link limitsText}. */
export function decodeLimits(text: string): BookLimits {
  return JSON.parse(text) as BookLimits;
}

/** How much of the window is used of which the largest share is; `undefined` without a limit. */
export function rateUse({ windows }: BookLimits, used: readonly number[]): RateUse | undefined {
  const uses = windows.map(({ max, span }, w) => ({
    used: used[w] ?? 0,
    limit: max,
    per: span / 1_000 - margin,
  }));
  return uses.sort((a, b) => b.used / b.limit - a.used / a.limit)[0];
}

/** Limits for people: `25 per 1000 ms and 500 per 3600000 ms`. */
export function limitsInWords(text: string): string {
  const windows = decodeLimits(text).windows.map(({ max, span }) => `${max} per ${span / 1_000 - margin} ms`);
  return windows.join(' and ');
}

/** The limits as one text: the same for the same limits, so that processes can compare what they were given. */
export function limitsText(limits: readonly Limit[]): string {
  limits.forEach(checkLimit);
  return JSON.stringify({ windows: limits.flatMap(windowsOf), costs: limits.flatMap(costsOf) });
}

function windowsOf({ requests, per, burst }: Limit): BookWindow[] {
  const span = per + margin;
  const windows = [windowOf(requests, span)];
  if (burst !== undefined && burst < requests) windows.push(windowOf(burst, (burst * span) / requests));
  return windows;
}

function windowOf(max: number, ms: number): BookWindow {
  const span = Math.ceil(1_000 * ms);
  return { max, span, width: Math.max(1, Math.ceil(span / maxBuckets)) };
}

/** The costs by route, for each window of a limit. */
function costsOf(limit: Limit): Readonly<Record<string, number>>[] {
  const costs = Object.fromEntries(Object.entries(limit.costs ?? {}).sort(([a], [b]) => (a < b ? -1 : 1)));
  return windowsOf(limit).map(() => costs);
}

function checkLimit(limit: Limit): void {
  refuseUnknown('limits', limit, { requests: true, per: true, burst: true, concurrency: true, costs: true });
  const { requests, per, burst = 1, costs = {} } = limit;
  check('requests', requests, isWhole(requests) && requests >= 1, 'a whole number of at least 1');
  check('per', per, per > 0 && per <= longestWindow, `a number of ms, at most ${longestWindow}`);
  check('burst', burst, isWhole(burst) && burst >= 1, 'a whole number of at least 1');
  for (const [route, cost] of Object.entries(costs))
    check(`costs["${route}"]`, cost, isWhole(cost) && cost >= 0, 'a whole number of at least 0');
}

function isWhole(value: unknown): boolean {
  return Number.isSafeInteger(value);
}

function check(name: string, value: number, isRight: boolean, wanted: string): void {
  if (typeof value === 'number' && isRight) return;
  throw new ConfigError(`limits.${name} is ${String(value)}: it must be ${wanted}, if processes share it.`);
}
