import type { Plugin } from '@sluice/core';
import type { UsageError } from '../errors/errors.js';

/** A configuration file. */
export interface ConfigFile {
  readonly path: string;
  /** As people know it. */
  readonly name: string;
}

/** What a configuration says. */
export interface Config {
  /** Absent where there is none. */
  readonly file?: ConfigFile;
  readonly plugins: readonly Plugin[];
  /** Options of commands, by their long names in camelCase; still to be parsed. */
  readonly defaults: Readonly<Record<string, unknown>>;
}

/** Where there is no configuration. */
export const noConfig: Config = { plugins: [], defaults: {} };

/** What a command is run with besides its options. */
export interface Invocation {
  /** The whole command line. */
  readonly args: readonly string[];
  readonly config: Config;
  /** Why there is no configuration although there should be one; only for a command that tells it itself. */
  readonly configError?: UsageError;
}
