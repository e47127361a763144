import { stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import { type Plugin, SluiceError } from '@sluice/core';
import { checkPlugin } from '@sluice/core/kit';
import { UsageError } from '../errors/errors.js';
import { thrownText } from '../errors/thrown.js';
import { findModule, importError, importModule, installHint } from './importModule.js';
import type { ConfigFile } from './config.js';
import { decodePluginModule, isPluginFactory } from './decodeConfig.js';

/**
 * Loads the plugin of an entry, which is the plugin itself, or names a module.
 *
 * @param at its index in the list of plugins.
 * @param config the file from which modules are resolved.
 */
export async function loadPlugin(entry: unknown, at: number, config: ConfigFile): Promise<Plugin> {
  const place = `plugins[${String(at)}] of ${config.name}`;
  const { module, options } = parseEntry(entry, place);
  if (module === undefined) return checkLoaded(await createPlugin(entry, options, place), place);
  const shown = `${JSON.stringify(module)}, ${place},`;
  const path = await resolveModule(module, config, shown);
  try {
    const exported = decodePluginModule(await importModule(path), shown);
    return checkLoaded(await createPlugin(exported, options, shown), shown);
  } catch (error) {
    throw importError(error, { path, name: shown });
  }
}

/** Parses "module", ["module"] or ["module", options]; any other entry is a plugin or creates one. */
function parseEntry(entry: unknown, place: string): { readonly module?: string; readonly options: unknown } {
  const given: readonly unknown[] = Array.isArray(entry) ? entry : [entry];
  const [module, options, ...rest] = given;
  if (typeof module === 'string' && module !== '' && rest.length === 0) return { module, options: options ?? {} };
  if (!Array.isArray(entry) && module !== '') return { options: {} };
  throw new UsageError(`${place} does not name a module. Write "module", or ["module", { … its options }].`);
}

async function resolveModule(module: string, { path, name }: ConfigFile, shown: string): Promise<string> {
  const folder = resolve(path, '..');
  if (/^(\.{0,2}[\\/]|[A-Za-z]:[\\/])/.test(module)) {
    const file = resolve(folder, module);
    const found = await stat(file).catch(() => undefined);
    if (found?.isDirectory())
      throw new UsageError(`${shown} is a folder. Name the file in it: ${JSON.stringify(`${module}/index.js`)}, say.`);
    if (found) return file;
    throw new UsageError(`${shown} is not there: there is no file ${file}.`);
  }
  const found = await findModule(module, path);
  if (found !== undefined) return found;
  const isFile = (await stat(resolve(folder, module)).catch(() => undefined))?.isFile() === true;
  throw new UsageError(
    isFile
      ? `${shown} names a package, but is a file beside ${name}: write ${JSON.stringify(`./${module}`)}.`
      : `${shown} can't be loaded. ${installHint(module, folder)}`,
  );
}

async function createPlugin(exported: unknown, options: unknown, place: string): Promise<unknown> {
  if (!isPluginFactory(exported)) return exported;
  let plugin: unknown;
  try {
    plugin = await exported(options);
  } catch (error) {
    throw new UsageError(`${place} failed: ${thrownText(error)}`, { cause: error });
  }
  if (plugin === undefined) throw new UsageError(`${place} returned nothing: its function has to return a plugin.`);
  return plugin;
}

function checkLoaded(value: unknown, place: string): Plugin {
  try {
    return checkPlugin(value, place);
  } catch (error) {
    throw SluiceError.is(error) ? new UsageError(error.message) : error;
  }
}
