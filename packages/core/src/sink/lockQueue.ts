import { LockError } from '../errors.js';

/** What works with state: an export or a watch. They don't exclude each other. */
export type StateUse = 'export' | 'watch';

/** Gives a lock back. */
export type Release = () => Promise<void>;

/** Somebody who has a lock or waits for it. */
interface Claimant {
  /** Aborted once it is closing. */
  readonly signal: AbortSignal;
}

/**
 * Lets one holder in at a time, in the order of asking. What is stopped and started again in one breath has to wait for itself: its
 * first run still closes what is open. Exports wait for others as well; a watch has no end that anybody could wait for.
 */
class LockQueue {
  readonly #use: StateUse;
  readonly #claimants = new Set<Claimant>();
  #last: Promise<void> = Promise.resolve();

  constructor(use: StateUse) {
    this.#use = use;
  }

  /**
   * Resolves when it is this caller's turn.
   *
   * @param signal rejects with its reason, and leaves the queue, when aborted before; aborted later, it says that the holder is closing.
   * @throws LockError if a watch has it and is not closing.
   */
  acquire(signal: AbortSignal): Promise<Release> {
    if (this.#use === 'watch' && [...this.#claimants].some((other) => !other.signal.aborted))
      return Promise.reject(watchedAlready('The state'));
    const claimant = { signal };
    this.#claimants.add(claimant);
    const before = this.#last;
    let letNextIn = (): void => undefined;
    const left = new Promise<void>((resolve) => (letNextIn = resolve));
    this.#last = before.then(() => left);
    const leave = (): void => {
      this.#claimants.delete(claimant);
      letNextIn();
    };
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

export function lockQueues(): Readonly<Record<StateUse, LockQueue>> {
  return { export: new LockQueue('export'), watch: new LockQueue('watch') };
}

/** A watch of this process has what another one wants. */
export function watchedAlready(what: string): LockError {
  return new LockError(
    `${what} is in use by another watch of this process. Stop that one first, or give each watch a state of its own: nothing was changed.`,
  );
}
