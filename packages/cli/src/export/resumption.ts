import { resolve } from 'node:path';
import type { ExportOptions } from '@sluice/core';
import { fileState } from '@sluice/core/node';
import type { Environment } from '../environment.js';
import { UsageError } from '../faults/usageError.js';
import { flagOf } from '../options/flagOf.js';
import { standardInput } from '../settings/readInput.js';
import { resumeCommand } from './resumeCommand.js';
import type { RowTarget } from './rowTarget.js';
import { WatchedState } from './watchedState.js';

/** Options of every command whose export goes on after an interruption. */
export interface ResumeOptions {
  readonly restart?: boolean;
  readonly sameProject?: boolean;
  readonly onExpired?: 'fail' | 'restart-part';
  readonly breakLock?: boolean;
  readonly trustFilesystem?: boolean;
  /** Pages between two commits. */
  readonly commitEvery?: number;
}

/** How an export to a file or an endpoint goes on after an interruption. */
export interface Resumption {
  /** Opens its state. */
  readonly open: (onWarning: (message: string) => void) => Resuming;
}

/** An export that goes on after an interruption, ready to run. */
export interface Resuming {
  readonly state: WatchedState;
  /** Those of `exportTo`, the state included. */
  readonly exportOptions: ExportOptions;
  readonly commands: ResumeCommands;
}

/** What people can paste into their shell after an interruption. */
export interface ResumeCommands {
  /** Goes on with what is kept, or starts over where nothing is. */
  readonly goOn: string;
  /** The endpoint's address is not whole in it. */
  readonly isAddressCut?: boolean;
  /** The command line as it was given would start over, whatever is kept. */
  readonly isRestart: boolean;
  /** What has to come on stdin again. */
  readonly fromStdin?: 'owners' | 'key' | 'secret';
}

type GivenOptions = ResumeOptions & {
  readonly ownersFile?: string;
  readonly apiKeyFile?: string;
  readonly secretFile?: string;
};

/**
 * How the export of a command line goes on after an interruption; `undefined` for stdout, where nothing can be taken back.
 *
 * @throws UsageError if a target is asked for what it can't do.
 */
export function resumptionOf(
  options: GivenOptions,
  { state: name, forwarding }: Pick<RowTarget<never>, 'state' | 'forwarding'>,
  args: readonly string[],
  { folder, command }: Pick<Environment, 'folder' | 'command'>,
): Resumption | undefined {
  const { restart, sameProject, onExpired, breakLock, trustFilesystem, commitEvery } = options;
  if (name === undefined) {
    const forFiles = { restart, sameProject, onExpired, breakLock, trustFilesystem, commitEvery };
    const [given] = Object.entries(forFiles).find(([, value]) => value !== undefined) ?? [];
    if (given !== undefined)
      throw new UsageError(`${flagOf(given)} needs a file: an export to stdout leaves nothing behind to go on from.`);
    return undefined;
  }
  if (forwarding && onExpired === 'restart-part')
    throw new UsageError("--on-expired restart-part needs a file: what a service has got can't be taken back.");
  const fromStdin = stdinOf(options);
  const { text: goOn, isAddressCut } = resumeCommand(command, args);
  const commands = {
    ...{ goOn, isAddressCut },
    isRestart: restart ?? false,
    ...(fromStdin && { fromStdin }),
  };
  return {
    open: (onWarning) => {
      const stateOptions = { breakLock: breakLock ?? false, trustFileSystem: trustFilesystem ?? false, onWarning };
      const state = new WatchedState(fileState(resolve(folder, name), stateOptions));
      const exportOptions = {
        ...{ state, onWarning, restart: restart ?? false, sameProject: sameProject ?? false },
        ...(onExpired && { onExpired }),
        ...(commitEvery !== undefined && { commitEvery }),
      };
      return { state, exportOptions, commands };
    },
  };
}

function stdinOf({ ownersFile, apiKeyFile, secretFile }: GivenOptions): ResumeCommands['fromStdin'] {
  if (ownersFile === standardInput) return 'owners';
  if (secretFile === standardInput) return 'secret';
  return apiKeyFile === standardInput ? 'key' : undefined;
}
