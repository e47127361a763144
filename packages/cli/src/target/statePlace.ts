import { resolve } from 'node:path';
import type { Client, StateStore } from '@sluice/core';
import { fileState, type FileState } from '@sluice/core/node';
import type { Config } from '../config/config.js';
import type { Environment } from '../environment.js';
import { UsageError } from '../faults/usageError.js';
import { flagOf } from '../options/flagOf.js';
import { namedStore } from './namedStore.js';
import { hidePassword, namedTarget, refuseAddress, refuseEmptyTarget, refuseUnknownName } from './namedTarget.js';

/** Options that speak of a folder of state. */
export interface FolderOptions {
  readonly breakLock?: boolean;
  readonly trustFilesystem?: boolean;
}

/** State as it is given to an export, or to a watch. That in a folder can be asked a little more. */
export type OpenState = StateStore & Partial<Pick<FileState, 'checkReplaceable'>>;

/** Where state is kept. */
export interface StatePlace {
  /** As people know it. */
  readonly name: string;
  readonly open: (client: Pick<Client, 'stores'>, onWarning: (message: string) => void) => Promise<OpenState>;
}

/**
 * The folder, or the store of a plugin's, that `--state` names.
 *
 * @throws UsageError if it names nothing, or an option does not go with it.
 */
export function statePlace(
  name: string,
  options: FolderOptions,
  config: Pick<Config, 'plugins' | 'file'>,
  environment: Pick<Environment, 'folder' | 'signal' | 'secrets'>,
): StatePlace {
  if (name === '') throw new UsageError('--state is empty: give the name of a folder.');
  const store = namedTarget(name, 'stores', config);
  if (!store) {
    refuseAddress(name, 'stores');
    refuseUnknownName(name, 'stores', config);
    return folderPlace(name, options, environment);
  }
  refuseEmptyTarget(store, 'stores');
  const given = (['breakLock', 'trustFilesystem'] as const).find((option) => options[option]);
  if (given !== undefined)
    throw new UsageError(`${flagOf(given)} is for state in a folder, and ${store.shown} is none.`);
  hidePassword(store, environment.secrets);
  return { name: store.shown, open: (client) => namedStore(client, store, environment) };
}

/** A folder. */
export function folderPlace(
  name: string,
  { breakLock = false, trustFilesystem = false }: FolderOptions,
  { folder }: Pick<Environment, 'folder'>,
): StatePlace {
  return {
    name,
    open: (_, onWarning) =>
      Promise.resolve(fileState(resolve(folder, name), { breakLock, trustFileSystem: trustFilesystem, onWarning })),
  };
}
