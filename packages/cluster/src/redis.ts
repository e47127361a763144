import { ConfigError, NetworkError } from '@sluice/core';
import { isRecord } from '@sluice/core/kit';
import { Redis, type RedisOptions } from 'ioredis';

/** @throws ConfigError, which does not quote it, since it may have a password */
export function checkRedisUrl(url: string): void {
  if (!URL.canParse(url) || !['redis:', 'rediss:'].includes(new URL(url).protocol))
    throw new ConfigError('The URL of Redis must begin with redis:// or rediss://, e.g. redis://127.0.0.1:6379.');
  const { pathname, searchParams, username, password } = new URL(url);
  if (!/^\/?\d*$/.test(pathname) || !/^\d*$/.test(searchParams.get('db') ?? ''))
    throw new ConfigError(
      'The path of the URL of Redis must be the number of a database, as in redis://127.0.0.1:6379/1, or missing.',
    );
  if (/%(?![\da-f]{2})/i.test(username + password))
    throw new ConfigError(
      'The user or the password in the URL of Redis has a % that is not percent-encoded: write it as %25.',
    );
}

/**
 * Checks what a server must have: the database of its URL, without which the driver would use database 0, and no
 * eviction. What is evicted would look like something that was never there, again and again.
 *
 * @throws ConfigError if it lacks the database, or may evict keys
 */
async function checkServer(redis: Redis): Promise<void> {
  const { db = 0 } = redis.options;
  if (db !== 0)
    await redis.select(db).catch((error: unknown) => {
      if (!isRedisError(error) || !error.message.startsWith('ERR ')) throw error;
      const why = error.message.replace(/^ERR (.*?)\.?$/s, '$1');
      throw new ConfigError(`Redis has no database ${db}, which its URL names: ${why}. Give another one, or none.`, {
        db,
      });
    });
  const policy = /maxmemory_policy:(\S+)/.exec(await redis.info('memory'))?.[1];
  if (policy === undefined || policy === 'noeviction') return;
  throw new ConfigError(
    `Redis evicts keys when its memory is full (maxmemory-policy ${policy}), also those that are needed. Set maxmemory-policy noeviction, or use another Redis.`,
    { policy },
  );
}

/** Ms after which a command without a reply has failed. A server that is stopped accepts connections, and says nothing. */
const replyWithin = 10_000;
/** Ms without a byte after which a connection that waits is opened again. BullMQ waits at most 10 s for a job. */
const silentFor = 30_000;

type ConnectionOptions = Omit<RedisOptions, 'replyMapping'>;

/** Commands fail soon, so that each caller can say that Redis is away. */
export const failsSoon: ConnectionOptions = {
  maxRetriesPerRequest: 2,
  lazyConnect: true,
  commandTimeout: replyWithin,
  socketTimeout: replyWithin,
};

/** Commands wait until Redis answers. */
export const waits: ConnectionOptions = { maxRetriesPerRequest: null, socketTimeout: silentFor };

/** A connection to a Redis that is checked before it is used, and what its errors mean. */
export class RedisConnection {
  readonly redis: Redis;
  readonly #host: string;
  /** Why there is no connection: a command says only that there is none. */
  #lastError: string | undefined;
  #checked: Promise<void> | undefined;

  constructor(url: string, options: ConnectionOptions) {
    checkRedisUrl(url);
    const { hostname, port } = new URL(url);
    this.#host = `${hostname}:${port || '6379'}`;
    this.redis = new Redis(url, {
      retryStrategy: (attempt) => Math.min(1_000, 50 * attempt),
      connectionName: 'sluice',
      ...options,
    });
    this.redis.on('error', ({ message }: Error) => (this.#lastError = message));
    this.redis.on('ready', () => (this.#lastError = undefined));
    // The next connection may be one to another server.
    this.redis.on('close', () => (this.#checked = undefined));
  }

  /** @throws NetworkError if Redis can't be used; ConfigError if it must not be */
  async use<R>(work: (redis: Redis) => Promise<R>): Promise<R> {
    try {
      await (this.#checked ??= checkServer(this.redis));
      return await work(this.redis);
    } catch (error) {
      this.#checked = undefined;
      throw this.explain(error);
    }
  }

  /**
   * An error of the driver as one for people; any other one as it is. Errors of the driver have the arguments of a
   * command, e.g. the password, but not in their messages.
   */
  explain(error: unknown): unknown {
    if (!isRedisError(error)) return error;
    const isReply = error.name === 'ReplyError';
    // Redis appends where in a script that was.
    const failed = error.message === timedOut ? `it did not answer within ${replyWithin / 1_000} s` : error.message;
    const said = (isReply ? error.message : (this.#lastError ?? failed)).replace(/\.? script: .*$/s, '.');
    const why = `${said}${isReply ? quoteKey(error) : ''}`;
    const summary = `Redis at ${this.#host} can't be used: ${why.replace(/\.?$/, '.')} ${adviseOn(why)}`;
    return new NetworkError(summary, { fault: 'machine', details: { redis: this.#host } });
  }

  close(): void {
    this.redis.disconnect();
  }
}

/** The key that has a value of another type, if it is one of ours. Redis does not say it, and the driver does. */
function quoteKey(error: Error): string {
  const command: unknown = 'command' in error ? error.command : undefined;
  const args: unknown = isRecord(command) ? command['args'] : undefined;
  const key: unknown = Array.isArray(args) ? args[0] : undefined;
  const isOurs = typeof key === 'string' && key.startsWith('{sluice');
  return error.message.startsWith('WRONGTYPE') && isOurs ? ` (${key})` : '';
}

/** What the replies mean that an operator has to act on. */
function adviseOn(why: string): string {
  switch (/^[A-Z]+(?= )/.exec(why)?.[0]) {
    case 'NOAUTH':
    case 'WRONGPASS':
      return 'Check the user and the password in its URL.';
    case 'NOPERM':
      return 'Give its user the rights that the guide to several machines lists.';
    case 'READONLY':
      return 'It is a replica: give the address of the primary.';
    case 'OOM':
      return 'Its memory is full: raise maxmemory, or remove what is not needed.';
    case 'ERR':
    case 'WRONGTYPE':
      return 'It must be Redis 7 or newer. Or something else uses keys that begin with {sluice: there: remove them, or give another database, as in redis://HOST/1.';
    default:
      return 'Check that it runs, can be reached from here, and that its URL is right.';
  }
}

const timedOut = 'Command timed out';
const driverErrors = ['ReplyError', 'ParserError', 'AbortError', 'InterruptError', 'MaxRetriesPerRequestError'];

/** Whether the driver of Redis threw an error. */
export function isRedisError(error: unknown): error is Error {
  if (!(error instanceof Error)) return false;
  return driverErrors.includes(error.name) || ['Connection is closed.', timedOut].includes(error.message);
}
