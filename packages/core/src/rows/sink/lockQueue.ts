import { abortable } from '../../abortable.js';
import { LockError } from '../../errors.js';

/** What uses the state. An export and a watch do not exclude each other. */
export type StateUse = 'export' | 'watch';

/** Releases a lock. */
export type Release = () => Promise<void>;

/** Admits one holder at a time, in order. A watch may never end, so another one waits only if it is closing already. */
export class LockQueue {
  readonly #use: StateUse;
  /** The holder and those that wait. A signal is aborted once its claimant is closing. */
  readonly #claimants = new Set<{ readonly signal: AbortSignal }>();
  #last: Promise<void> = Promise.resolve();

  constructor(use: StateUse) {
    this.#use = use;
  }

  /**
   * @param signal when aborted before, leaves the queue and rejects with its reason; aborted later, it means that the
   * holder is closing.
   * @throws LockError if a watch holds it and is not closing.
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
 * The queues of a store for those of this process that lock it. A store that others use too locks itself for them after
 * it was admitted here.
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
