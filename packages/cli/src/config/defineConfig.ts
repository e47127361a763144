/**
 * Types of the command line's configuration.
 *
 * @module @sluice/cli/config
 */

import type { Plugin } from '@sluice/core';
import type { Settings } from '../options/options.js';

/** A configuration of `sluice`: the default export of `sluice.config.js`, or the content of `sluice.config.json`. */
export interface SluiceConfig {
  /**
   * Plugins, in the order in which they are set up; `false` and `null` are skipped. A string names a module whose
   * default export, or only exported function, is a plugin or creates one: a path, or a package that is installed in
   * the configuration's folder. `[module, options]` passes options to it.
   */
  readonly plugins?: readonly (Plugin | string | readonly [module: string, options: unknown] | false | null)[];
  /** Options of commands, if set neither on the command line nor in the environment. */
  readonly defaults?: Defaults;
}

/**
 * Options of commands by their long names. Each is parsed as on the command line, and used by every command that has
 * the option and accepts the value. Its help explains it: `sluice export --help`. Options about a single run, like
 * `--restart` or `--to`, are refused, and so are secrets. A list may be one string with commas between its items.
 *
 * Paths are relative to the configuration's folder.
 */
export interface Defaults extends Settings {
  /** What to do if a file exists. `append` is for the command line only. */
  readonly ifExists?: 'fail' | 'overwrite';
  /** Whether CSV escapes text that a spreadsheet would run as a formula. Default `true`. */
  readonly guardFormulas?: boolean;
}

/**
 * Returns its argument. It gives an editor the types of a configuration.
 *
 * A configuration is code that runs with the rights of whoever runs `sluice`; `--no-config` disables it.
 *
 * @example
 * // sluice.config.ts
 * export default defineConfig({
 *   plugins: [coins({ baseUrl: 'https://coins.example.com' })],
 *   defaults: { rate: '25/s', concurrency: 4 },
 * });
 */
export function defineConfig(config: SluiceConfig): SluiceConfig {
  return config;
}
