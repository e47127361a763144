import type { Sink } from '@sluice/core';
import { telling } from './telling.js';

/** Pages that a process has and its sink has not taken: backpressure bounds them, however slow the sink is. */
export class PagesInMemory {
  /** The most at once. */
  most = 0;
  #held = 0;

  /** The process has got a page. */
  arrived(): void {
    this.#held += 1;
    this.most = Math.max(this.most, this.#held);
  }

  /** The same sink, which tells when it is given a page. */
  before<T>(sink: Sink<T>): Sink<T> {
    return telling(sink, () => (this.#held -= 1));
  }
}
