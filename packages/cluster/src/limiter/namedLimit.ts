import type { Limit } from '@sluice/core';
import type { Redis } from 'ioredis';
import { isRecord } from '../run/rowLine.js';
import { decodeLimits, limitsInWords, limitsText } from './decodeLimits.js';
import { decodeReply } from './decodeReply.js';
import type { LimiterCall } from './limiterCall.js';
import { limiterScript } from './limiterScript.js';
import { limiterKey } from './redisLimiter.js';
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

/** Sums up what the limiter's book has of each window. It changes nothing. */
const useScript = `
local packed = redis.call('GET', KEYS[1])
if not packed then return '' end
local book = cmsgpack.unpack(packed)
local seconds = redis.call('TIME')
local now = math.max(book.time, seconds[1] * 1000000 + seconds[2])
local used = {}
for w, window in ipairs(cjson.decode(book.inForce)) do
  used[w] = 0
  local log = book.log[w] or {}
  for at = 1, #log, 2 do
    if log[at] > now - window.span then used[w] = used[w] + log[at + 1] end
  end
  for _, permit in ipairs(book.granted) do used[w] = used[w] + permit.costs[w] end
end
return cjson.encode({ declared = book.declared, inForce = book.inForce, used = used })
`;

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
  const text: unknown = await redis.eval(useScript, 1, limiterKey(name));
  const found: unknown = typeof text === 'string' && text !== '' ? JSON.parse(text) : undefined;
  if (!isRecord(found) || typeof found['inForce'] !== 'string' || !Array.isArray(found['used'])) return undefined;
  const { declared, inForce } = found;
  const given = expected.length === 0 ? inForce : limitsText(expected);
  if (given !== inForce && given !== declared) throw otherLimits(name, given, inForce);
  const used = found['used'].map(Number);
  const windows = decodeLimits(inForce).map(({ max, span }, w) => {
    return { max, used: used[w] ?? 0, per: span / 1_000 };
  });
  return { name, limits: limitsInWords(inForce), windows };
}

/** Changes the limit of a name for all processes, or makes it. Nothing starts for one window. */
export async function changeNamedLimit(redis: Redis, name: string, limits: readonly Limit[]): Promise<void> {
  const call: LimiterCall = {
    worker: 'operator',
    declared: '',
    known: '',
    wants: [],
    running: 0,
    used: [],
    steppedSince: 0,
    pause: 0,
    replace: limitsText(limits),
  };
  decodeReply(await redis.eval(limiterScript, 1, limiterKey(name), JSON.stringify(call), '', ''));
}
