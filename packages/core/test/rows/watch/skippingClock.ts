import type { Clock } from '../../../src/index.js';

/** Time that jumps to whatever is waited for: hours of watching take no time. Wall time begins in 2030. */
export class SkippingClock implements Clock {
  /** Ms since the beginning; may be put forward, as work does that takes time. */
  time = 0;
  /** By how much the wall clock is off. */
  offset = 0;
  /** Each wait, in ms, in order. */
  readonly waits: number[] = [];

  now(): number {
    return Date.UTC(2030, 0, 1) + this.time + this.offset;
  }

  monotonic(): number {
    return this.time;
  }

  after(ms: number, callback: () => void): () => void {
    const timer = setImmediate(() => {
      this.time += ms;
      this.waits.push(ms);
      callback();
    });
    return () => clearImmediate(timer);
  }
}
