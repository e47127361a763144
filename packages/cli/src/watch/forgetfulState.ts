import type { Release, StateLog, StateStore, StateUse } from '@sluice/core';
import type { OpenState } from '../target/statePlace.js';

/**
 * State whose watch begins anew: what it knew is forgotten once, at the last moment. An export first finds out whether its target may be
 * replaced, and only then saves a checkpoint; whoever is killed in between meets a state that does not fit, and no gap. What is not ours is
 * not forgotten: it is refused, as it is without a restart.
 */
export class ForgetfulState implements StateStore {
  readonly folder?: string;
  readonly #state: OpenState;
  readonly #signal: AbortSignal;
  #hasForgotten = false;

  constructor(state: OpenState, signal: AbortSignal) {
    if (state.folder !== undefined) this.folder = state.folder;
    this.#state = state;
    this.#signal = signal;
  }

  lock(signal: AbortSignal, use?: StateUse): Promise<Release> {
    return this.#state.lock(signal, use);
  }

  load(name: string): Promise<unknown> {
    return this.#state.load(name);
  }

  async save(name: string, record: object): Promise<void> {
    if (!this.#hasForgotten) {
      // Before anything is forgotten: a checkpoint that is refused has changed nothing.
      await this.#state.checkReplaceable?.(name);
      const release = await this.#state.lock(this.#signal, 'watch');
      try {
        await this.#forget(this.#state.log('watch'));
      } finally {
        await release();
      }
    }
    await this.#state.save(name, record);
  }

  remove(name: string): Promise<void> {
    return this.#state.remove(name);
  }

  /** Whoever reads the log holds its lock. */
  log(name: string): StateLog {
    const log = this.#state.log(name);
    const forget = (): Promise<void> => this.#forget(log);
    return {
      get bytes() {
        return log.bytes;
      },
      async *read() {
        await forget();
        yield* log.read();
      },
      append: (record) => log.append(record),
      replace: (records) => log.replace(records),
      remove: () => log.remove(),
      close: () => log.close(),
    };
  }

  async #forget(log: StateLog): Promise<void> {
    if (this.#hasForgotten) return;
    await log.replace([]);
    this.#hasForgotten = true;
  }
}
