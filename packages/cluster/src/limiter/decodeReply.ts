import type { LimiterReply } from './limiterCall.js';

/** In the order of the script. */
const replyFields = 'status time openedAt granted due queued running pausedFor inForce used'.split(' ');

/** Reads what the script returns. @throws TypeError if something else answered. */
export function decodeReply(value: unknown): LimiterReply {
  if (!Array.isArray(value) || value.length !== replyFields.length || typeof value[0] !== 'string')
    throw new TypeError('Redis answered with something else than the limiter does.');
  return Object.fromEntries(replyFields.map((name, nth) => [name, value[nth]])) as unknown as LimiterReply;
}
