import { ConfigError } from '@sluice/core';
import type { Redis } from 'ioredis';

/** @throws ConfigError, which does not quote it, since it may have a password */
export function checkedRedisUrl(url: string): string {
  if (URL.canParse(url) && ['redis:', 'rediss:'].includes(new URL(url).protocol)) return url;
  throw new ConfigError('The URL of Redis must begin with redis:// or rediss://, e.g. redis://127.0.0.1:6379.');
}

/**
 * What is evicted would look like something that was never there, again and again.
 *
 * @throws ConfigError if the server may evict keys
 */
export async function checkEviction(redis: Redis): Promise<void> {
  const policy = /maxmemory_policy:(\S+)/.exec(await redis.info('memory'))?.[1];
  if (policy === undefined || policy === 'noeviction') return;
  throw new ConfigError(
    `Redis evicts keys when its memory is full (maxmemory-policy ${policy}), also those that are needed. Set maxmemory-policy noeviction, or use another Redis.`,
    { policy },
  );
}
