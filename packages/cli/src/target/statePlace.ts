import { resolve } from 'node:path';
import { type Client, SluiceError, type StateStore } from '@sluice/core';
import { fileState } from '@sluice/core/node';
import type { Config } from '../config/config.js';
import type { Environment } from '../environment/environment.js';
import { toFlag } from '../options/option.js';
import { UsageError } from '../errors/errors.js';
import type { OptionsOf } from '../options/commands.js';
import { findStore } from './stateStore.js';
import type { TargetKind } from './target.js';

type FolderOptions = OptionsOf<'breakLock' | 'trustFilesystem'>;

/** Where state is stored. */
export interface StatePlace {
  /** For messages. */
  readonly name: string;
  readonly open: (client: Pick<Client, 'stores'>, onWarning: (message: string) => void) => Promise<StateStore>;
}

/** The folder, the database or the plugin's store that `--state` names. @param folder the default. */
export function statePlace(
  folder: string,
  options: FolderOptions & OptionsOf<'state'>,
  config: Pick<Config, 'plugins' | 'file'>,
  environment: Environment,
): StatePlace {
  const { state: name } = options;
  if (name === undefined) return folderPlace(folder, options, environment);
  if (name === '') throw new UsageError('--state is empty: give the name of a folder.');
  const store = findStore(name, config, environment, '--state');
  if (!store) return folderPlace(name, options, environment);
  const given = (['breakLock', 'trustFilesystem'] as const).find((option) => options[option]);
  if (given !== undefined)
    throw new UsageError(`${toFlag(given)} is for state in a folder, and ${store.shown} is not one.`);
  return { name: store.shown, open: (client) => store.open(client) };
}

function folderPlace(
  name: string,
  { breakLock = false, trustFilesystem = false }: FolderOptions,
  { folder }: Environment,
): StatePlace {
  return {
    name,
    open: (_, onWarning) =>
      Promise.resolve(fileState(resolve(folder, name), { breakLock, trustFileSystem: trustFilesystem, onWarning })),
  };
}

/** For a target that keeps its own checkpoints. @throws UsageError if an option is about state elsewhere. */
export function refusePlace({ state, trustFilesystem }: OptionsOf<'state' | 'trustFilesystem'>): void {
  const flag = state === undefined ? trustFilesystem && '--trust-filesystem' : '--state';
  if (flag) throw new UsageError(`${flag} is for state in a folder, and this target keeps its own checkpoints.`);
}

/** For targets whose default state is named after the target: several exports or watches may share one name. */
const ways: Readonly<Partial<Record<TargetKind, string>>> = {
  webhook: 'If it is that of another forward: --state DIR gives this one a state, and dead letters, of its own.',
  sink: 'If it is that of another export or watch into the same target: --state DIR gives this one a state of its own.',
};

/**
 * What to do if the state or the file of dead letters belongs to another export: starting over would destroy its
 * checkpoint. `undefined` if the error is another one, or the target's state is next to it.
 */
export function ownStateHint(error: unknown, kind: TargetKind): string | undefined {
  const isOthers = SluiceError.is(error, 'lock') || (SluiceError.is(error, 'checkpoint') && 'changed' in error.details);
  return isOthers ? ways[kind] : undefined;
}
