import type { Plugin } from '@sluice/core';
import type { ConfigFile } from './findConfigFile.js';

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
