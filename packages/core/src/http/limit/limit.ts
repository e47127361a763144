import { checkOptions } from '../../checks.js';
import { ConfigError } from '../../errors.js';
import type { RateUse } from './limiterTypes.js';

/**
 * A rate: at most `requests` starts in any `per` ms.
 *
 * @example { requests: 25, per: 1000, concurrency: 4, costs: { 'aptos.nfts': 5 } }
 */
export interface Limit {
  /** Starts, or cost units, in any `per` ms. */
  readonly requests: number;
  /** Length of the window in ms. */
  readonly per: number;
  /** How many may start back to back; the others are spread evenly. Default: `requests`. 1 gives an even pace. */
  readonly burst?: number | undefined;
  /** Requests in parallel. Default: no limit. */
  readonly concurrency?: number | undefined;
  /**
   * Cost of a request by route, which is the name of a source, e.g. `aptos.nfts`. Default: 1, also for a misspelt name. A
   * cost above `requests` (or `burst`) could never start: it is refused.
   */
  readonly costs?: Readonly<Record<string, number>> | undefined;
}

/** The limit of a client that is given none, since those of the APIs are unknown: 5 requests a second, 4 in parallel. */
export const defaultLimit: Limit = { requests: 5, per: 1000, concurrency: 4 };

/** One limit, or several that all hold. `false`: none. */
export type RateLimit = false | Limit | readonly Limit[];

/** The limits of several options together. */
export function listLimits(...limits: readonly RateLimit[]): readonly Limit[] {
  return limits.flat().filter((limit) => limit !== false);
}

/** At most `max` cost units may start in any `span` ms. A limit with a burst has two windows. */
export interface RateWindow {
  readonly max: number;
  /** Ms, with a margin. */
  readonly span: number;
  /** Of its limit, by route. */
  readonly costs: Readonly<Record<string, number>>;
  /** Ms of its limit; absent for a burst. */
  readonly per?: number;
}

/**
 * Ms added to each window. A server counts arrivals, and requests take different times to arrive: without a margin a
 * strict server refuses a few. It costs 1.3 % of a rate per second.
 */
export const arrivalMargin = 13;

/**
 * The windows of limits.
 *
 * @param margin ms to add to each window, besides those for arrivals
 */
export function rateWindows(limits: readonly Limit[], margin = 0): RateWindow[] {
  return limits.flatMap(({ requests, per, burst = requests, costs = {} }) => {
    const span = per + arrivalMargin + margin;
    const windows: RateWindow[] = [{ max: requests, span, costs, per }];
    if (burst < requests) windows.push({ max: burst, span: (burst * span) / requests, costs });
    return windows;
  });
}

/**
 * The cost of a request in each window.
 *
 * @throws ConfigError if it could never start.
 */
export function costsOf(windows: readonly Pick<RateWindow, 'max' | 'costs'>[], route: string): number[] {
  return windows.map(({ max, costs }) => {
    const cost = (Object.hasOwn(costs, route) ? costs[route] : undefined) ?? 1;
    if (cost <= max) return cost;
    throw new ConfigError(
      `A request of ${route} costs more than the limiter ever lets start at once (${String(max)}): raise the limit's requests or burst, or lower the route's cost.`,
      { route, max },
    );
  });
}

/** The use of the limit that is used most, of several the slowest one, given that of each window; `undefined` without limits. */
export function rateUse(
  windows: readonly Pick<RateWindow, 'max' | 'per'>[],
  used: readonly number[],
): RateUse | undefined {
  const uses = windows.flatMap(({ max, per }, w): RateUse[] =>
    per === undefined ? [] : [{ used: used[w] ?? 0, limit: max, per }],
  );
  return uses.sort((a, b) => b.used / b.limit - a.used / a.limit || a.limit / a.per - b.limit / b.per)[0];
}

/** What {@link checkLimit} asks of a limit. */
export interface LimitRules {
  /** The option that has the limit. */
  readonly option: string;
  /** Whether requests, bursts and costs must be whole numbers. */
  readonly isWhole: boolean;
  /** Longest window in ms. */
  readonly maxPer: number;
}

const localRules: LimitRules = { option: 'rateLimit', isWhole: false, maxPer: Number.MAX_VALUE };

/** @throws ConfigError if a number is invalid, or a name unknown. */
export function checkLimit(limit: Limit, { option, isWhole, maxPer }: LimitRules = localRules): void {
  checkOptions(option, limit, { requests: true, per: true, burst: true, concurrency: true, costs: true });
  const { requests, per, burst = 1, concurrency = 1, costs = {} } = limit;
  const check = (name: string, value: number, isRight: boolean, wanted: string): void => {
    if (typeof value === 'number' && isRight) return;
    throw new ConfigError(`${option}.${name} is ${String(value)}: it must be ${wanted}.`);
  };
  const checkUnits = (name: string, value: number, min: number): void => {
    const isRight = value >= min && (!isWhole || Number.isSafeInteger(value));
    check(name, value, isRight, `a ${isWhole ? 'whole ' : ''}number of at least ${String(min)}`);
  };
  checkUnits('requests', requests, 1);
  const atMost = maxPer < Number.MAX_VALUE ? `, at most ${String(maxPer)}` : '';
  check('per', per, per > 0 && per <= maxPer, `a positive number of ms${atMost}`);
  checkUnits('burst', burst, 1);
  check('concurrency', concurrency, concurrency >= 1, 'a number of at least 1');
  for (const [route, cost] of Object.entries(costs)) checkUnits(`costs["${route}"]`, cost, 0);
}
