import { resolve } from 'node:path';
import type { StateStore } from '@sluice/core';
import { fileState } from '@sluice/core/node';
import type { Environment } from '../environment.js';
import { UsageError } from '../faults/usageError.js';
import { flagOf } from '../options/flagOf.js';
import type { ChangeTarget } from './changeSink.js';
import { ForgetfulState } from './forgetfulState.js';

/** Options that say where a watch keeps what it knows. */
export interface WatchStateOptions {
  /** A folder. Default: that of the target, if it has one. */
  readonly state?: string;
  readonly restart?: boolean;
  readonly breakLock?: boolean;
  readonly trustFilesystem?: boolean;
}

/** Where a watch keeps what it knows. */
export interface WatchState {
  /** As people know it. */
  readonly name: string;
  readonly open: (onWarning: (message: string) => void) => StateStore;
}

/**
 * The state that a command line asks for; `undefined` where nothing is kept.
 *
 * @throws UsageError if an option speaks of state all the same.
 */
export function watchStateOf(
  options: WatchStateOptions,
  target: Pick<ChangeTarget<never>, 'state'>,
  { folder, signal }: Pick<Environment, 'folder' | 'signal'>,
): WatchState | undefined {
  const { restart, breakLock = false, trustFilesystem: trustFileSystem = false } = options;
  const name = options.state ?? target.state;
  if (name === undefined) {
    const [given] = (['restart', 'breakLock', 'trustFilesystem'] as const).filter((option) => options[option]);
    if (given !== undefined)
      throw new UsageError(`${flagOf(given)} needs --state DIR: without it nothing is kept over a restart.`);
    return undefined;
  }
  if (name === '') throw new UsageError('--state is empty: give the name of a folder.');
  return {
    name,
    open: (onWarning) => {
      const state = fileState(resolve(folder, name), { breakLock, trustFileSystem, onWarning });
      return restart ? new ForgetfulState(state, signal) : state;
    },
  };
}
