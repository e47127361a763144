import { hash, randomUUID } from 'node:crypto';
import { systemClock, type Limit } from '@sluice/core';
import { checkOptions, type Limiter } from '@sluice/core/kit';
import type { Redis } from 'ioredis';
import { encodeLimits } from './decodeLimits.js';
import type { LimiterBookAccess, LimiterCall, LimiterReply } from './limiterCall.js';
import { limiterScript } from './limiterScript.js';
import { SharedLimiter } from './sharedLimiter.js';
import { checkRedisUrl, RedisConnection } from '../redis.js';

/** Options of {@link redisLimiter}. */
export interface RedisLimiterOptions {
  /** `redis://` or `rediss://`, with the password if there is one; it appears in no message. */
  readonly url: string;
  /** Processes with the same name share one limit, e.g. the name of the API and of its key's project. */
  readonly name: string;
  /**
   * How fast requests of all processes together may start; whole numbers, and windows of at most an hour. `concurrency`
   * is that of each process. Default: the limits that the name has already.
   */
  readonly limits?: Limit | readonly Limit[];
  /**
   * Without `limits`: those that the name gets if it has none. Default: none, so requests fail until somebody gives it
   * some.
   */
  readonly defaultLimits?: Limit | readonly Limit[];
  /** Ms that requests wait while Redis can't be reached, before they fail. Default 30,000. */
  readonly waitForRedis?: number;
  /** Longest pause in ms that an API may cause for all processes. Default: a day. */
  readonly maxPause?: number;
}

/** A limiter that {@link redisLimiter} made. */
export interface RedisLimiter extends Limiter {
  readonly name: string;
}

/**
 * A limiter that all processes with the same `name` share, on any number of machines: together they start no more
 * requests than the limits allow, by the clock of one Redis. Give it to `createClient`, which closes it.
 *
 * Nothing starts for one window after Redis has lost its data, was replaced by a replica, or had its clock set, because
 * then the newest starts are unknown; nor for a new name in a Redis that was started, or from which keys were removed, so
 * recently. Each permit takes a round trip to Redis, of at most 250 ms; above some 400 starts a
 * second the script is the bottleneck.
 *
 * @throws ConfigError if a limit or the URL is invalid. `acquire` rejects with a ConfigError if the name has other limits
 * or Redis may evict keys, and with a {@link LimiterUnavailableError} after `waitForRedis` ms without Redis.
 *
 * @example
 * const limiter = redisLimiter({ url: 'redis://10.0.0.5', name: 'api', limits: { requests: 25, per: 1000 } });
 * const client = createClient({ apiKey, limiter });
 */
export function redisLimiter(options: RedisLimiterOptions): RedisLimiter {
  checkOptions('redisLimiter()', options, {
    url: 'text',
    name: 'text',
    limits: true,
    defaultLimits: true,
    waitForRedis: true,
    maxPause: true,
  });
  const { url, name, limits = [], defaultLimits = [] } = options;
  const { waitForRedis = 30_000, maxPause = 86_400_000 } = options;
  checkRedisUrl(url);
  const all = [limits].flat();
  return new SharedLimiter({
    name,
    limits: encodeLimits(all),
    defaultLimits: encodeLimits([defaultLimits].flat()),
    clock: systemClock,
    waitForBook: waitForRedis,
    maxPause,
    concurrency: Math.min(...all.map(({ concurrency = Infinity }) => concurrency)),
    worker: randomUUID(),
    access: new RedisBook(url, name),
  });
}

const sha1 = hash('sha1', limiterScript);

/** Answers one call from the book of this name. */
export async function callLimiter(redis: Redis, name: string, call: LimiterCall): Promise<LimiterReply> {
  // The keys of limiters have one slot each in a cluster of Redis.
  const args = [`{sluice:limiter:${name}}`, JSON.stringify(call), '', '', ''];
  try {
    return decodeReply(await redis.evalsha(sha1, 1, ...args));
  } catch (error) {
    // Another server, or one that was started again.
    if (!(error instanceof Error) || !error.message.startsWith('NOSCRIPT')) throw error;
    return decodeReply(await redis.eval(limiterScript, 1, ...args));
  }
}

/** In the order of the script. */
const replyFields = 'status time openedAt granted due queued running pausedFor inForce used'.split(' ');

/** Reads what the script returns. @throws TypeError if something else answered. */
function decodeReply(value: unknown): LimiterReply {
  if (!Array.isArray(value) || value.length !== replyFields.length || typeof value[0] !== 'string')
    throw new TypeError('Redis answered with something else than the limiter does.');
  // eslint-disable-next-line @typescript-eslint/consistent-type-assertions -- the script gives all fields in this order
  return Object.fromEntries(replyFields.map((name, nth) => [name, value[nth]])) as unknown as LimiterReply;
}

/** The book in Redis. It connects when it is first asked. */
class RedisBook implements LimiterBookAccess {
  readonly #url: string;
  readonly #name: string;
  #connection: RedisConnection | undefined;
  #isNeeded = false;

  constructor(url: string, name: string) {
    this.#url = url;
    this.#name = name;
  }

  call(call: LimiterCall): Promise<LimiterReply> {
    this.#connection ??= this.#connect();
    return this.#connection.use((redis) => callLimiter(redis, this.#name, call));
  }

  isNeeded(needed: boolean): void {
    this.#isNeeded = needed;
    this.#holdProcess();
  }

  close(): void {
    this.#connection?.close();
    this.#connection = undefined;
  }

  #connect(): RedisConnection {
    const connection = new RedisConnection(this.#url, {
      // The limiter decides how long it waits, and what is said again: a call that was carried out twice would count wrongly.
      maxRetriesPerRequest: 0,
      autoResendUnfulfilledCommands: false,
      socketTimeout: 10_000,
      connectionName: 'sluice limiter',
    });
    connection.redis.on('connect', () => this.#holdProcess());
    return connection;
  }

  /** An idle connection keeps no process alive. */
  #holdProcess(): void {
    const socket = this.#connection?.redis.stream;
    if (this.#isNeeded) socket?.ref();
    else socket?.unref();
  }
}
