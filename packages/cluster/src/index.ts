/**
 * One key, several machines.
 *
 * @packageDocumentation
 */
export { redisLimiter, type RedisLimiterOptions } from './limiter/redisLimiter.js';
export { LimiterUnavailableError } from './limiter/limiterUnavailableError.js';
