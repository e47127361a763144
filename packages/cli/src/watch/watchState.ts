import type { Client, Release, StateLog, StateStore, StateUse } from '@sluice/core';
import type { Config } from '../config/config.js';
import type { Environment } from '../environment/environment.js';
import { flagOf } from '../errors/cliTerms.js';
import { UsageError } from '../errors/errors.js';
import { folderPlace, type OpenState, statePlace } from '../target/statePlace.js';
import type { Target } from '../target/target.js';

/** Options that say where a watch keeps what it knows. */
export interface WatchStateOptions {
  /** A folder, or a store of a plugin's. Default: the folder of the target, if it has one. */
  readonly state?: string;
  readonly restart?: boolean;
  readonly breakLock?: boolean;
  readonly trustFilesystem?: boolean;
}

/** Where a watch keeps what it knows. */
export interface WatchState {
  /** As people know it. */
  readonly name: string;
  readonly open: (client: Pick<Client, 'stores'>, onWarning: (message: string) => void) => Promise<StateStore>;
}

/**
 * The state that a command line asks for; `undefined` where nothing is kept.
 *
 * @throws UsageError if an option speaks of state all the same.
 */
export function watchStateOf(
  options: WatchStateOptions,
  target: Pick<Target<never>, 'state'>,
  config: Config,
  environment: Pick<Environment, 'folder' | 'signal' | 'secrets'>,
): WatchState | undefined {
  const { restart, state: given } = options;
  const folder = given ?? target.state;
  if (folder === undefined) {
    const [spoken] = (['restart', 'breakLock', 'trustFilesystem'] as const).filter((option) => options[option]);
    if (spoken !== undefined)
      throw new UsageError(`${flagOf(spoken)} needs --state DIR: without it nothing is kept over a restart.`);
    return undefined;
  }
  const place =
    given === undefined ? folderPlace(folder, options, environment) : statePlace(given, options, config, environment);
  return {
    name: place.name,
    open: async (client, onWarning) => {
      const state = await place.open(client, onWarning);
      return restart ? new ForgetfulState(state, environment.signal) : state;
    },
  };
}

/**
 * State whose watch begins anew: what it knew is forgotten once, at the last moment. An export first finds out whether its target may be
 * replaced, and only then saves a checkpoint; whoever is killed in between meets a state that does not fit, and no gap. What is not ours is
 * not forgotten: it is refused, as it is without a restart.
 */
class ForgetfulState implements StateStore {
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
