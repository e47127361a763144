import { execFile } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { createClient } from '@sluice/core';
import type { Limiter } from '@sluice/core/kit';
import { startSandbox } from '@sluice/sandbox';
import { Redis } from 'ioredis';
import { describe, expect, test } from 'vitest';
import { onTestEnd } from '../../../../scripts/testScope.js';
import { redisProgram, startRedis, type RedisServer } from '../../../../test/kit/redisServer.js';
import { testApi } from '../../../core/test/http/children/testApi.js';
import { LimiterUnavailableError, redisLimiter, type RedisLimiterOptions } from '../../src/index.js';
import { encodeLimits } from '../../src/limiter/decodeLimits.js';
import { look } from '../../src/limiter/limiterCall.js';
import { changeNamedLimit, namedLimit } from '../../src/limiter/namedLimit.js';
import { callLimiter } from '../../src/limiter/redisLimiter.js';

const limits = { requests: 5, per: 200 };

async function openRedis(settings?: readonly string[]): Promise<RedisServer> {
  const server = await startRedis(settings);
  onTestEnd(() => server.close());
  return server;
}

function open(server: RedisServer, options: Partial<RedisLimiterOptions> = {}): Limiter {
  const limiter = redisLimiter({ url: server.url, name: 'api', limits, ...options });
  onTestEnd(async () => limiter.close?.());
  return limiter;
}

/** When `count` permits began, which are released at once. */
async function begun(limiter: Limiter, count: number): Promise<number[]> {
  const times: number[] = [];
  const one = async (): Promise<void> => {
    const permit = await limiter.acquire({ route: 'any' });
    times.push(performance.now());
    permit.release();
  };
  await Promise.all(Array.from({ length: count }, one));
  return times;
}

/** The least ms that any 6 starts in a row take. */
function closest(times: readonly number[]): number {
  const sorted = [...times].sort((a, b) => a - b);
  return Math.min(...sorted.slice(limits.requests).map((at, nth) => at - (sorted[nth] ?? 0)));
}

describe.runIf(redisProgram !== undefined)('K8 a limiter in Redis', () => {
  test('lets several processes start no more than the limit, and serves all', { tags: ['slow'] }, async () => {
    const server = await openRedis();
    const limiters = [open(server), open(server), open(server)];
    const times = await Promise.all(limiters.map((limiter) => begun(limiter, 10)));
    expect(closest(times.flat())).toBeGreaterThanOrEqual(limits.per);
    const states = limiters.map(({ state }) => state);
    expect(states[0]).toMatchObject({ running: 0, pausedFor: 0 });
    // The starts of all of them, as whoever called last has heard.
    const used = states.map(({ rate }) => rate?.used ?? 0);
    expect(Math.max(...used)).toBeLessThanOrEqual(limits.requests);
    expect(Math.max(...used)).toBeGreaterThan(1);
    expect(states[0]?.rate).toMatchObject({ limit: limits.requests, per: limits.per });
  });

  test(
    'starts no more after FLUSHALL, and after Redis was killed and started again, with its data and without',
    { tags: ['slow'] },
    async () => {
      const server = await openRedis();
      const limiter = open(server);
      const redis = new Redis(server.url, { maxRetriesPerRequest: null });
      redis.on('error', () => undefined);
      onTestEnd(() => redis.disconnect());
      const times = await begun(limiter, 5);
      await redis.flushall();
      times.push(...(await begun(limiter, 7)));
      for (const isEmpty of [false, true]) {
        await server.kill();
        const next = begun(limiter, 7);
        await server.start({ isEmpty });
        times.push(...(await next));
      }
      expect(times).toHaveLength(26);
      expect(closest(times)).toBeGreaterThanOrEqual(limits.per);
    },
  );

  test.each([
    ['emptied it', (redis: Redis) => redis.flushall()],
    ['emptied another database of it', (redis: Redis) => redis.select(3).then(() => redis.flushdb())],
    ['removed a key', (redis: Redis) => redis.del('any')],
    ['let a key expire', (redis: Redis) => redis.expire('any', 1)],
  ])('opens a new name at once, but not after somebody has %s', { tags: ['slow'] }, async (_, disturb) => {
    const server = await openRedis();
    const redis = new Redis(server.url);
    onTestEnd(() => redis.disconnect());
    const declared = encodeLimits([limits]);
    const granted = async (name: string): Promise<number> => {
      const call = { ...look, worker: 'any', declared, known: declared, wants: [[1], [1]] };
      return (await callLimiter(redis, name, call)).granted;
    };
    // Its window might be older than this Redis.
    expect(await granted('too early')).toBe(0);
    const uptime = async (): Promise<number> => Number(/uptime_in_seconds:(\d+)/.exec(await redis.info('server'))?.[1]);
    await expect.poll(uptime, { timeout: 20_000 }).toBeGreaterThanOrEqual(2);
    expect(await granted('first')).toBe(2);
    expect(await granted('second')).toBe(2);
    await disturb(redis);
    expect(await granted('third')).toBe(0);
  });

  test('takes the past for unknown after Redis was a replica for a while', { tags: ['slow'] }, async () => {
    const server = await openRedis();
    const replica = await openRedis([
      '--replicaof',
      '127.0.0.1',
      String(server.port),
      '--repl-diskless-sync-delay',
      '0',
    ]);
    const redis = new Redis(server.url);
    const other = new Redis(replica.url);
    onTestEnd(() => [redis, other].forEach((each) => each.disconnect()));
    await begun(open(server), 1);
    const opened = await callLimiter(redis, 'api', look);
    await expect.poll(() => other.info('replication'), { timeout: 20_000 }).toContain('master_link_status:up');
    await expect.poll(() => other.dbsize()).toBe(1);
    expect(await callLimiter(redis, 'api', look)).toMatchObject({ status: 'ok' });
    await other.replicaof('NO', 'ONE');
    await redis.replicaof('127.0.0.1', replica.port);
    await expect.poll(() => redis.info('replication'), { timeout: 20_000 }).toContain('master_link_status:up');
    await redis.replicaof('NO', 'ONE');
    const reopened = await callLimiter(redis, 'api', look);
    expect(reopened.openedAt).toBeGreaterThan(opened.openedAt);
  });

  test(
    'K9 fails when Redis is gone for longer than waitForRedis, without its password',
    { tags: ['slow'] },
    async () => {
      const server = await openRedis(['--requirepass', 'secret-of-redis']);
      const url = server.url.replace('redis://', 'redis://:secret-of-redis@');
      const limiter = open(server, { url, waitForRedis: 3_000 });
      await begun(limiter, 1);
      await server.kill();
      const error: unknown = await begun(limiter, 1).catch((reason: unknown) => reason);
      expect(error).toBeInstanceOf(LimiterUnavailableError);
      expect(error).toMatchObject({ code: 'network', message: expect.stringContaining('for 3 s') as string });
      const wrong = open(server, { url: url.replace('of-redis@', 'that-is-wrong@'), waitForRedis: 3_000 });
      await server.start();
      const refused: unknown = await begun(wrong, 1).catch((reason: unknown) => reason);
      expect(refused).toBeInstanceOf(LimiterUnavailableError);
      const { inspect } = await import('node:util');
      const said = [error, refused].map((each) => inspect(each, { depth: 20, showHidden: true })).join();
      expect(said).toContain('WRONGPASS');
      expect(said).not.toMatch(/secret-of-redis|secret-that-is-wrong/);
    },
  );

  test('K9 refuses a Redis that evicts keys', async () => {
    const server = await openRedis(['--maxmemory-policy', 'allkeys-lru']);
    await expect(begun(open(server), 1)).rejects.toMatchObject({
      code: 'config',
      message: expect.stringContaining('maxmemory-policy allkeys-lru') as string,
    });
  });

  test('needs no more rights than the guide says', async () => {
    const server = await openRedis();
    const guide = readFileSync(join(import.meta.dirname, '../../../../docs/guides/rateLimit.md'), 'utf8');
    const [, rights = '', keys = ''] = /needs `([^`]*)` for the keys `([^`]*)`/.exec(guide) ?? [];
    const redis = new Redis(server.url);
    onTestEnd(() => redis.disconnect());
    await redis.call('ACL', 'SETUSER', 'worker', 'on', '>secret', `~${keys}`, ...rights.split(' '));
    const limiter = open(server, { url: server.url.replace('redis://', 'redis://worker:secret@') });
    await expect(begun(limiter, 6)).resolves.toHaveLength(6);
    expect(await redis.call('ACL', 'LOG')).toEqual([]);
  });

  test('K9 refuses a database that Redis does not have, and uses one that it has', async () => {
    const server = await openRedis();
    for (const url of [`${server.url}/16`, `${server.url}/99`, `${server.url}?db=99`])
      await expect(begun(open(server, { url }), 1)).rejects.toMatchObject({
        code: 'config',
        message: expect.stringMatching(
          /^Redis has no database (16|99), which its URL names: DB index is out of range\./,
        ) as string,
      });
    await begun(open(server, { url: `${server.url}/15` }), 1);
    const redis = new Redis(server.url);
    onTestEnd(() => redis.disconnect());
    expect(await redis.keys('*')).toEqual([]);
    await redis.select(15);
    expect(await redis.keys('*')).not.toEqual([]);
  });

  test.each(['/abc', '/1/2', '/-1', '/1.5', '?db=abc'])('refuses %j behind the host of Redis', (path) => {
    const url = `redis://127.0.0.1:1${path}`;
    expect(() => redisLimiter({ url, name: 'api', limits })).toThrow('must be the number of a database');
  });

  test('refuses a % in the password of Redis that is not encoded, without quoting it', () => {
    const url = 'redis://:sec%ret@127.0.0.1';
    expect(() => redisLimiter({ url, name: 'api', limits })).toThrow(/^(?!.*ret@).*write it as %25/);
  });

  test.each(['http://127.0.0.1:6379', '127.0.0.1', ''])('refuses %j as the URL of Redis', (url) => {
    expect(() => redisLimiter({ url, name: 'api', limits })).toThrow('must begin with redis:// or rediss://');
  });

  test.each([
    [{ requests: 0, per: 1_000 }, 'requests is 0'],
    [{ requests: 2.5, per: 1_000 }, 'requests is 2.5'],
    [{ requests: 5, per: 3_600_001 }, 'per is 3600001'],
    [{ requests: 5, per: 1_000, burst: 0 }, 'burst is 0'],
    [{ requests: 5, per: 1_000, costs: { a: 0.5 } }, 'costs["a"] is 0.5'],
  ])('refuses %j', (wrong, said) => {
    expect(() => redisLimiter({ url: 'redis://127.0.0.1', name: 'api', limits: wrong })).toThrow(said);
  });

  test('whoever looks at a limit sees how much of it is used, and changes nothing', { tags: ['slow'] }, async () => {
    const server = await openRedis();
    const redis = new Redis(server.url);
    onTestEnd(() => redis.disconnect());
    expect(await namedLimit(redis, 'api', [limits])).toBeUndefined();
    expect(await redis.keys('*')).toEqual([]);
    const limiter = open(server, { limits: { requests: 5, per: 60_000 } });
    await changeNamedLimit(redis, 'api', [{ requests: 5, per: 60_000 }]);
    const refused = expect(limiter.acquire({ route: 'any' })).rejects.toThrow('was closed');
    await expect.poll(() => limiter.state.rate?.used).toBe(5);
    const [key = ''] = await redis.keys('*');
    const before = await redis.getBuffer(key);
    // Nothing starts yet, since the past is unknown: nothing was used.
    const windows = [{ max: 5, used: 0, per: 60_018 }];
    expect(await namedLimit(redis, 'api')).toEqual({ name: 'api', limits: '5 per 60000 ms', windows });
    await expect(namedLimit(redis, 'api', [limits])).rejects.toThrow('has other limits than this process');
    expect(await redis.getBuffer(key)).toEqual(before);
    await limiter.close?.();
    await refused;
  });

  test('K10 stores no API key, and a client without work lets its process end', async () => {
    const server = await openRedis();
    await using sandbox = await startSandbox({ holdings: 10, rateLimit: limits });
    const client = createClient({ apiKey: sandbox.apiKey, limiter: open(server) }).use(testApi(sandbox.streamsUrl));
    for (let nth = 0; nth < 8; nth += 1)
      await client.api.request({ route: 'streams.list', path: '/streams/evm', query: { limit: 1 } });
    await client.close();
    expect(sandbox.counts.rateLimited).toBe(0);
    const written = readdirSync(server.folder, { recursive: true, encoding: 'utf8' }).filter((name) =>
      name.includes('.'),
    );
    const text = written.map((name) => readFileSync(join(server.folder, name), 'latin1')).join();
    expect(text).toContain('sluice:limiter:api');
    expect(text).not.toContain(sandbox.apiKey);
  });

  test('lets its process end without close', { tags: ['slow'] }, async () => {
    const server = await openRedis();
    const program = `
      import { redisLimiter } from '@sluice/cluster';
      const limiter = redisLimiter({ url: '${server.url}', name: 'api', limits: { requests: 5, per: 200 } });
      const permit = await limiter.acquire({ route: 'any' });
      permit.release();
      console.log('done');
    `;
    const args = ['--import', 'tsx', '--conditions=@sluice/source', '--input-type=module', '--eval', program];
    const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: join(import.meta.dirname, '..') });
    expect(stdout).toBe('done\n');
  });
});
