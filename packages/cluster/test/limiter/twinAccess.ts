import type { Clock } from '@sluice/core';
import { answerCall, type LimiterBook } from '../../../../test/kit/limiterTwin.js';
import { look, type LimiterBookAccess, type LimiterCall, type LimiterReply } from '../../src/limiter/limiterCall.js';

/** The twin of the script behind a connection that a test controls. */
export class TwinServer {
  readonly #clock: Clock;
  book: LimiterBook | undefined;
  runId = 'first';
  /** µs for which it has certainly kept all keys. */
  knownFor = 0;
  /** µs that somebody has set the clock forward. */
  stepped = 0;
  /** Ms that a call, or a reply, is on its way. */
  delay = 0;
  isDown = false;
  calls = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** µs since 1970. */
  get time(): number {
    return 1_700_000_000_000_000 + Math.round(1_000 * this.#clock.monotonic()) + this.stepped;
  }

  /** Opens the book so early that its first window is over. */
  openLongAgo(limits: string): void {
    const call = { ...silent, declared: limits, known: limits };
    this.book = answerCall(undefined, call, { time: this.time - 7_200_000_000, runId: this.runId }).book;
  }

  access(): LimiterBookAccess {
    return {
      call: async (call) => {
        await this.#pass();
        const reply = this.#answer(call);
        await this.#pass();
        return reply;
      },
      isNeeded: () => undefined,
      close: () => undefined,
    };
  }

  #answer(call: LimiterCall): LimiterReply {
    if (this.isDown) throw new Error('connect ECONNREFUSED');
    this.calls += 1;
    const answer = answerCall(this.book, call, { time: this.time, runId: this.runId, knownFor: this.knownFor });
    this.book = answer.book && structuredClone(answer.book);
    return answer.reply;
  }

  #pass(): Promise<void> {
    if (this.delay === 0) return Promise.resolve();
    return new Promise((resolve) => this.#clock.after(this.delay, resolve));
  }
}

/** A call that asks for nothing. */
export const silent: LimiterCall = { ...look, worker: 'nobody' };
