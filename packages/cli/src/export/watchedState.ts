import {
  decodeCheckpoint,
  SluiceError,
  type Checkpoint,
  type Release,
  type StateLog,
  type StateStore,
  type StateUse,
} from '@sluice/core';

/** What an export has left in its state, as far as it came. */
export type Remains =
  /** It ended before it looked what an earlier run left. */
  | { readonly kind: 'untouched' }
  | { readonly kind: 'nothing' }
  /** `isSealed`: only putting the file in place, or closing what else it is, is missing. */
  | { readonly kind: 'rows'; readonly rows: number; readonly isSealed: boolean };

/** State that remembers what an export read from it and wrote into it, so that it can be told what is kept. */
export class WatchedState implements StateStore {
  readonly folder?: string;
  readonly #state: StateStore;
  #found: Checkpoint | undefined;
  #remains: Remains = { kind: 'untouched' };

  constructor(state: StateStore) {
    if (state.folder !== undefined) this.folder = state.folder;
    this.#state = state;
  }

  /** The checkpoint of an earlier run that did not finish, if one with rows was there. It may have been refused. */
  get found(): Checkpoint | undefined {
    return this.#found;
  }

  /** What the next run finds. */
  get remains(): Remains {
    return this.#remains;
  }

  lock(signal: AbortSignal, use?: StateUse): Promise<Release> {
    return this.#state.lock(signal, use);
  }

  async load(name: string): Promise<unknown> {
    const record = await this.#state.load(name);
    const checkpoint = record === undefined ? undefined : decodeCheckpoint(record);
    this.#remains = remainsOf(checkpoint);
    if (checkpoint?.place !== undefined && checkpoint.finishedAt === undefined) this.#found = checkpoint;
    return record;
  }

  async save(name: string, record: object): Promise<void> {
    try {
      await this.#state.save(name, record);
    } catch (error) {
      // Somebody has removed the folder, and the checkpoint with it.
      if (SluiceError.is(error) && error.details['platformCode'] === 'ENOENT') this.#remains = { kind: 'nothing' };
      throw error;
    }
    this.#remains = remainsOf(decodeCheckpoint(record));
  }

  async remove(name: string): Promise<void> {
    await this.#state.remove(name);
    this.#remains = { kind: 'nothing' };
  }

  log(name: string): StateLog {
    return this.#state.log(name);
  }
}

/** Before its first commit an export has nothing to go on from, though its checkpoint is there; and nothing is left of one that finished. */
function remainsOf(checkpoint: Checkpoint | undefined): Remains {
  if (checkpoint?.place === undefined || checkpoint.finishedAt !== undefined) return { kind: 'nothing' };
  return { kind: 'rows', rows: checkpoint.rows, isSealed: checkpoint.isSealed ?? false };
}
