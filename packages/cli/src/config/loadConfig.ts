import { readFile, stat } from 'node:fs/promises';
import { extname } from 'node:path';
import type { Plugin } from '@sluice/core';
import type { Environment } from '../environment.js';
import { UsageError } from '../faults/usageError.js';
import { isApiName } from '../settings/baseUrl.js';
import { whyUnreadable } from '../settings/readInput.js';
import { noConfig, type Config } from './config.js';
import { decodeConfig, decodeDefaultExport, type ConfigContent } from './decodeConfig.js';
import { findConfigFile, type ConfigChoice, type ConfigFile } from './findConfigFile.js';
import { refuseSecrets } from './refuseSecrets.js';

/** Options of every command that takes plugins and defaults from a configuration. */
export interface ConfigOptions {
  /** A path; `false`: none. Default: the one in the current folder. */
  readonly config?: ConfigChoice;
}

/**
 * The configuration of a command line. It is code: what it does, it does with the rights of whoever runs the command.
 *
 * @throws UsageError, in a sentence that says where, if it can't be read or loaded, or if there is something in it that can't be used.
 */
export async function loadConfig(
  { config: choice }: ConfigOptions,
  environment: Pick<Environment, 'folder' | 'secrets' | 'foreignCode'>,
): Promise<Config> {
  const { folder, secrets, foreignCode } = environment;
  const file = await findConfigFile(choice, folder);
  if (!file) return noConfig;
  const text = await textOf(file);
  return await foreignCode(file.name, async () => {
    const { plugins: entries, defaults } = await contentOf(file, text, secrets);
    const plugins: Plugin[] = [];
    for (const [at, entry] of entries.entries()) {
      // So is a plugin left out with a condition. `undefined` is none: it is what a wrong name imports from TypeScript.
      if (entry === false || entry === null) continue;
      const { loadPlugin } = await import('./loadPlugin.js');
      const plugin = await loadPlugin(entry, at, file);
      checkName(plugin, plugins, file);
      plugins.push(plugin);
    }
    return { file, plugins, defaults };
  });
}

/** Only of a regular file: a pipe that nobody writes to would be read for ever. */
async function textOf({ path, name }: ConfigFile): Promise<string> {
  try {
    const found = await stat(path);
    if (found.isFile() || found.isDirectory()) return await readFile(path, 'utf8');
  } catch (error) {
    throw new UsageError(`${name} can't be read: ${whyUnreadable(error)}.`);
  }
  throw new UsageError(`${name} can't be read: it is no regular file, but a pipe or a device.`);
}

/** A client would refuse it too, in words of its own. */
function checkName({ name }: Plugin, before: readonly Plugin[], file: ConfigFile): void {
  if (isApiName(name))
    throw new UsageError(
      `A plugin of ${file.name} is named "${name}", as an API that sluice itself brings along. Rename it, or leave it out and set defaults.${name}Url.`,
    );
  if (before.some((other) => other.name === name))
    throw new UsageError(
      `Two plugins of ${file.name} are named "${name}". Use each once, and rename one of two that clash.`,
    );
}

async function contentOf(file: ConfigFile, text: string, secrets: ReadonlySet<string>): Promise<ConfigContent> {
  if (extname(file.path) === '.json') {
    const { parseJson } = await import('./parseJson.js');
    const content = decodeConfig(parseJson(text, file.name), file.name);
    refuseSecrets(content, file.name, secrets);
    return content;
  }
  const { importModule } = await import('./importModule.js');
  try {
    const content = decodeConfig(await decodeDefaultExport(await importModule(file.path), file.name), file.name);
    // What plugins are made with may come from the environment, and is theirs.
    refuseSecrets(content.defaults, file.name, secrets);
    return content;
  } catch (error) {
    const { importFault } = await import('./importFault.js');
    throw await importFault(error, file);
  }
}
