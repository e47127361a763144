import type { Sink } from '@sluice/core';

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
    return {
      ...sink,
      open: async (context) => {
        const writer = await sink.open(context);
        return new Proxy(writer, {
          get: (target, name): unknown => {
            const member: unknown = Reflect.get(target, name, target);
            if (typeof member !== 'function') return member;
            return (...args: unknown[]): unknown => {
              if (name === 'write') this.#held -= 1;
              return Reflect.apply(member, target, args);
            };
          },
        });
      },
    };
  }
}
