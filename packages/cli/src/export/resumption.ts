import { resolve } from 'node:path';
import type { ExportOptions } from '@sluice/core';
import { fileState } from '@sluice/core/node';
import type { Environment } from '../environment.js';
import { UsageError } from '../faults/usageError.js';
import { flagOf } from '../options/flagOf.js';
import { standardOutput } from '../options/rowFormat.js';
import { standardInput } from '../settings/readInput.js';
import { resumeCommand } from './resumeCommand.js';
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

/** How an export to a file goes on after an interruption. */
export interface Resumption {
  /** Opens the state beside the file. */
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
  /** The command line as it was given would start over, whatever is kept. */
  readonly isRestart: boolean;
  /** What has to come on stdin again. */
  readonly fromStdin?: 'owners' | 'key';
}

type GivenOptions = ResumeOptions & {
  readonly to?: string;
  readonly ownersFile?: string;
  readonly apiKeyFile?: string;
};

/**
 * How the export of a command line goes on after an interruption; `undefined` for stdout, where nothing can be taken back.
 *
 * @throws UsageError if stdout is asked for that all the same.
 */
export function resumptionOf(
  options: GivenOptions,
  args: readonly string[],
  { folder, command }: Pick<Environment, 'folder' | 'command'>,
): Resumption | undefined {
  const { to, restart, sameProject, onExpired, breakLock, trustFilesystem, commitEvery } = options;
  if (to === undefined || to === standardOutput) {
    const forFiles = { restart, sameProject, onExpired, breakLock, trustFilesystem, commitEvery };
    const [given] = Object.entries(forFiles).find(([, value]) => value !== undefined) ?? [];
    if (given !== undefined)
      throw new UsageError(`${flagOf(given)} needs a file: an export to stdout leaves nothing behind to go on from.`);
    return undefined;
  }
  const fromStdin = stdinOf(options);
  const commands = {
    goOn: resumeCommand(command, args),
    isRestart: restart ?? false,
    ...(fromStdin && { fromStdin }),
  };
  return {
    open: (onWarning) => {
      const stateOptions = { breakLock: breakLock ?? false, trustFileSystem: trustFilesystem ?? false, onWarning };
      const state = new WatchedState(fileState(`${resolve(folder, to)}.sluice`, stateOptions));
      const exportOptions = {
        ...{ state, onWarning, restart: restart ?? false, sameProject: sameProject ?? false },
        ...(onExpired && { onExpired }),
        ...(commitEvery !== undefined && { commitEvery }),
      };
      return { state, exportOptions, commands };
    },
  };
}

function stdinOf({ ownersFile, apiKeyFile }: GivenOptions): 'owners' | 'key' | undefined {
  if (ownersFile === standardInput) return 'owners';
  return apiKeyFile === standardInput ? 'key' : undefined;
}
