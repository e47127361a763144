import type { LimiterReply } from './limiterCall.js';

/** Reads what the script returns. @throws TypeError if something else answered. */
export function decodeReply(value: unknown): LimiterReply {
  if (!Array.isArray(value) || value.length !== 10 || typeof value[0] !== 'string')
    throw new TypeError('Redis answered with something else than the limiter does.');
  const [status, time, openedAt, granted, due, queued, running, pausedFor, inForce, used] = value as unknown as Fields;
  return { status, time, openedAt, granted, due, queued, running, pausedFor, inForce, used };
}

type Fields = readonly [
  ...[status: LimiterReply['status'], time: number, openedAt: number, granted: number, due: number],
  ...[queued: number, running: number, pausedFor: number, inForce: string, used: readonly number[]],
];
