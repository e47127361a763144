import type { LimiterReply } from './limiterCall.js';

/**
 * Ms, and the share of the time between two replies, by which clocks may disagree before it is taken for a step. What is
 * tolerated forward shortens the windows, so it is less than what is added to them; backward, the book waits until its
 * time is reached again.
 */
const maxForward = 4;
const maxBackward = 50;
const maxDriftShare = 0.001;

/** A reply, with the times of its call in ms by the monotonic clock of this process. */
export interface TimedReply {
  readonly reply: LimiterReply;
  readonly sent: number;
  readonly received: number;
}

/**
 * Whether the book's clock, which is a wall clock that somebody may set, agrees with the monotonic one of this process about
 * the time since the last reply. After a step the log is wrong: entries seem older or younger than they are.
 */
export function isSteady(last: TimedReply | undefined, { reply, sent, received }: TimedReply): boolean {
  if (!last) return true;
  // A log that was opened since the last reply is younger than that. It may be of another server, or of a clock set right.
  const isSame = last.reply.openedAt === reply.openedAt;
  const passed = (reply.time - (isSame ? last.reply.time : reply.openedAt)) / 1_000;
  const least = isSame ? sent - last.received : 0;
  const most = received - last.sent;
  const drift = maxDriftShare * most;
  return passed >= least - maxBackward - drift && passed <= most + maxForward + drift;
}
