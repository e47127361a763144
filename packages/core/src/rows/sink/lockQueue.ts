import { abortable } from '../../abortable.js';
import { LockError } from '../../errors.js';

/** What uses the state. An export and a watch do not exclude each other. */
export type StateUse = 'export' | 'watch';

/** Releases a lock. */
export type Release = () => Promise<void>;

/** Admits one holder at a time, in order. A watch may never end, so another one waits only while it closes. */
export class LockQueue {
  readonly #use: StateUse;
  /** The holder and the waiting claimants. The signal of a claimant aborts when it closes. */
  readonly #claimants = new Set<{ readonly signal: AbortSignal }>();
  #last: Promise<void> = Promise.resolve();

  constructor(use: StateUse) {
    this.#use = use;
  }

  /**
   * @param signal if it aborts before the lock is acquired, the call leaves the queue and rejects with its reason; if
   * it aborts later, the holder is closing.
   * @throws LockError if another watch holds the lock or waits for it, and is not closing.
   */
  async acquire(signal: AbortSignal): Promise<Release> {
    if (this.#use === 'watch' && [...this.#claimants].some((other) => !other.signal.aborted))
      throw secondWatchError('The state');
    const claimant = { signal };
    this.#claimants.add(claimant);
    const before = this.#last;
    let admitNext = (): void => undefined;
    const left = new Promise<void>((resolve) => (admitNext = resolve));
    this.#last = before.then(() => left);
    const leave = (): void => {
      this.#claimants.delete(claimant);
      admitNext();
    };
    try {
      await abortable(before, signal);
    } catch (error) {
      leave();
      throw error;
    }
    return () => {
      leave();
      return Promise.resolve();
    };
  }
}

/**
 * The queues of a store, for the claimants within this process. A store that several processes use also locks itself
 * against the others, after the queue has admitted the claimant.
 *
 * @example const leave = await lockQueues().export.acquire(AbortSignal.timeout(1_000));
 */
export function lockQueues(): Readonly<Record<StateUse, LockQueue>> {
  return { export: new LockQueue('export'), watch: new LockQueue('watch') };
}

export function secondWatchError(what: string): LockError {
  return new LockError(
    `${what} is in use by another watch of this process. Stop that one first, or give each watch a state of its own: nothing was changed.`,
  );
}
