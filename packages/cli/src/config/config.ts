import type { Plugin } from '@sluice/core';
import type { LimitSettings } from './defineConfig.js';
import type { Environment } from '../environment/environment.js';
import type { UsageError } from '../errors/errors.js';
import type { CommandName, CommandOptions } from '../options/commands.js';

export interface ConfigFile {
  readonly path: string;
  /** For messages. */
  readonly name: string;
}

export interface Config {
  /** Absent if there is no configuration file. */
  readonly file?: ConfigFile;
  readonly plugins: readonly Plugin[];
  /** Where limits are kept that outlive a command. `false`: nowhere. Default: in the folder of the user's state. */
  readonly limits?: LimitSettings | false;
  /** Unparsed values of options, by their long names in camelCase. */
  readonly defaults: Readonly<Record<string, unknown>>;
}

export const noConfig: Config = { plugins: [], defaults: {} };

/** What a command receives besides its options. */
export interface Invocation {
  /** The whole command line. */
  readonly args: readonly string[];
  readonly config: Config;
  /** Why the configuration could not be used; only for a command that reports this itself. */
  readonly configError?: UsageError | undefined;
}

/** Runs a command with options, and returns its exit code. */
export type RunWith<Options> = (options: Options, environment: Environment, invocation: Invocation) => Promise<number>;
export type Run<Name extends CommandName> = RunWith<CommandOptions<Name>>;
