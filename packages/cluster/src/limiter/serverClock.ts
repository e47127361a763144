import type { LimiterReply } from './limiterCall.js';

/**
 * Ms, and the share of the time between two replies, by which clocks may disagree before it is taken for a step. What is
 * tolerated forward shortens the windows, so it is less than what is added to them; backward, the book waits until its
 * time is reached again.
 */
const maxForward = 4;
const maxBackward = 50;
const maxDriftShare = 0.001;

interface Times {
  readonly sent: number;
  readonly received: number;
}

/**
 * Compares the book's clock, which is a wall clock that somebody may set, with the monotonic one of this process. After a
 * step of the first one the log is wrong: entries seem older or younger than they are.
 */
export class ServerClock {
  #last: (LimiterReply & Times) | undefined;
  #steppedSince = 0;

  /** When the log was opened that is wrong; 0 without a step. */
  get steppedSince(): number {
    return this.#steppedSince;
  }

  /** @returns whether both clocks agree about the time since the last reply. If not, permits of this one are not due. */
  read(reply: LimiterReply, times: Times): boolean {
    const last = this.#last;
    this.#last = { ...reply, ...times };
    this.#steppedSince = 0;
    if (!last) return true;
    // A log that was opened since the last reply is younger than that. It may be of another server, or of a clock set right.
    const isSame = last.openedAt === reply.openedAt;
    const passed = (reply.time - (isSame ? last.time : reply.openedAt)) / 1_000;
    const least = isSame ? times.sent - last.received : 0;
    const most = times.received - last.sent;
    const drift = maxDriftShare * most;
    if (passed >= least - maxBackward - drift && passed <= most + maxForward + drift) return true;
    this.#steppedSince = reply.openedAt;
    return false;
  }
}
