import type { Limit } from '@sluice/core';
import type { Redis } from 'ioredis';
import { decodeLimits, describeLimits, encodeLimits } from './decodeLimits.js';
import { look } from './limiterCall.js';
import { callLimiter } from './redisLimiter.js';
import { otherLimits } from './sharedLimiter.js';

/** The limit that processes share by a name, and how much of it is used now. */
export interface NamedLimit {
  readonly name: string;
  /** For people, e.g. `25 per 1000 ms`. */
  readonly limits: string;
  readonly windows: readonly LimitWindow[];
}

/** A window of a limit. */
export interface LimitWindow {
  /** Starts, or cost units, in the window. */
  readonly max: number;
  /** Starts, or cost units, in the last `per` ms, including those that were granted and not reported yet. */
  readonly used: number;
  /** Ms. */
  readonly per: number;
}

/**
 * The limit of a name; `undefined` if nobody has used it.
 *
 * @param expected what the caller would give its own limiter
 *
 * @throws ConfigError if that is another limit
 */
export async function namedLimit(
  redis: Redis,
  name: string,
  expected: readonly Limit[] = [],
): Promise<NamedLimit | undefined> {
  const declared = encodeLimits(expected);
  const { status, inForce, used } = await callLimiter(redis, name, { ...look, declared });
  if (status === 'none') return undefined;
  if (status === 'other') throw otherLimits(name, declared, inForce);
  const windows = decodeLimits(inForce).map(({ max, span }, w) => {
    return { max, used: used[w] ?? 0, per: span / 1_000 };
  });
  return { name, limits: describeLimits(inForce), windows };
}

/** Changes the limit of a name for all processes, or makes it. Nothing starts for one window. */
export async function changeNamedLimit(redis: Redis, name: string, limits: readonly Limit[]): Promise<void> {
  await callLimiter(redis, name, { ...look, worker: 'operator', replace: encodeLimits(limits) });
}
