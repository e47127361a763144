import type { Client, StateStore } from '@sluice/core';
import type { Config } from '../config/config.js';
import type { Environment } from '../environment.js';
import { UsageError } from '../faults/usageError.js';
import { flagOf } from '../options/flagOf.js';
import { folderPlace, statePlace } from '../target/statePlace.js';
import type { Target } from '../target/target.js';
import { ForgetfulState } from './forgetfulState.js';

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
