import type { AcquireOptions } from './limiterTypes.js';

/** A request that waits in a {@link WaitQueue}. */
export interface Waiter<T, R extends AcquireOptions = AcquireOptions> {
  readonly request: R;
  /** The lower one is served first. */
  readonly place: number;
  /** Takes it out of the queue, and resolves its promise. */
  admit(value: T): void;
  /** Takes it out of the queue, and rejects its promise. */
  refuse(error: unknown): void;
}

/**
 * Requests that wait for a limiter, in the order of their places. One whose signal aborts leaves at once.
 *
 * @example
 * const queue = new WaitQueue<Permit>(() => undefined);
 * const acquire = (request: AcquireOptions) => queue.wait(request);
 * // One request every 100 ms. The limiter counts nothing that runs.
 * setInterval(() => queue.first?.admit({ release: () => undefined }), 100);
 */
export class WaitQueue<T, R extends AcquireOptions = AcquireOptions> {
  readonly #waiters: Waiter<T, R>[] = [];
  readonly #onAbort: () => void;
  #places = 0;

  /** @param onAbort called when a request has left, so that the next one may be served */
  constructor(onAbort: () => void) {
    this.#onAbort = onAbort;
  }

  get size(): number {
    return this.#waiters.length;
  }

  get first(): Waiter<T, R> | undefined {
    return this.#waiters[0];
  }

  /** A copy, so that those in it may leave. */
  get all(): Waiter<T, R>[] {
    return [...this.#waiters];
  }

  /** A place behind all others. */
  newPlace(): number {
    return (this.#places += 1);
  }

  /** Resolves with what the request is admitted with; rejects with `signal.reason`. */
  wait(request: R, place = this.newPlace()): Promise<T> {
    return new Promise((resolve, reject) => {
      const { signal } = request;
      signal?.throwIfAborted();
      const leave = (): void => {
        const at = this.#waiters.indexOf(waiter);
        if (at >= 0) this.#waiters.splice(at, 1);
        signal?.removeEventListener('abort', onAbort);
      };
      const onAbort = (): void => {
        waiter.refuse(signal?.reason);
        this.#onAbort();
      };
      const waiter: Waiter<T, R> = {
        request,
        place,
        admit(value) {
          leave();
          resolve(value);
        },
        refuse(error) {
          leave();
          reject(error);
        },
      };
      signal?.addEventListener('abort', onAbort, { once: true });
      const before = this.#waiters.findLastIndex((other) => other.place < place);
      this.#waiters.splice(before + 1, 0, waiter);
    });
  }
}
