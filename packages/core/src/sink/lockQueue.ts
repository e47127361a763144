/** Gives a lock back. */
export type Release = () => Promise<void>;

/**
 * Lets one holder in at a time, in the order of asking. An export that is stopped and started again in one breath has to wait for
 * itself: its first run still closes what is open.
 */
export class LockQueue {
  #last: Promise<void> = Promise.resolve();

  /** Resolves when it is this caller's turn; rejects with `signal.reason`, and leaves the queue, when aborted before. */
  acquire(signal: AbortSignal): Promise<Release> {
    const before = this.#last;
    let leave = (): void => undefined;
    const left = new Promise<void>((resolve) => (leave = resolve));
    this.#last = before.then(() => left);
    return new Promise((resolve, reject) => {
      const onAbort = (): void => {
        leave();
        reject(signal.reason);
      };
      if (signal.aborted) {
        onAbort();
        return;
      }
      signal.addEventListener('abort', onAbort, { once: true });
      void before.then(() => {
        signal.removeEventListener('abort', onAbort);
        resolve(() => {
          leave();
          return Promise.resolve();
        });
      });
    });
  }
}
