import { lstat, stat } from 'node:fs/promises';
import { extname, join, resolve } from 'node:path';
import type { Environment } from '../environment/environment.js';
import { UsageError } from '../errors/errors.js';
import type { OptionsOf } from '../options/commands.js';
import { type Config, type ConfigFile, noConfig } from './config.js';

/** The configuration of a command line. @throws UsageError that says where, if it can't be loaded or is invalid. */
export async function loadConfig({ config: choice }: OptionsOf<'config'>, environment: Environment): Promise<Config> {
  const { folder, secrets, foreignCode } = environment;
  const file = await findConfigFile(choice, folder);
  if (!file) return noConfig;
  // Loaded on demand: most command lines do not have a configuration.
  const { readConfig } = await import('./readConfig.js');
  return await readConfig(file, secrets, foreignCode);
}

const endings = ['.js', '.mjs', '.ts', '.json'] as const;
const names = endings.map((ending) => `sluice.config${ending}`);

/**
 * The given configuration file, else the one in the current folder. Does not search the folders above, since people
 * should see which code they run.
 *
 * @param choice a path; `false` for none.
 */
async function findConfigFile(choice: OptionsOf<'config'>['config'], folder: string): Promise<ConfigFile | undefined> {
  if (choice === false) return undefined;
  if (typeof choice === 'string') return namedFile(choice, folder);
  const found = await Promise.all(names.map(async (name) => ((await isThere(join(folder, name))) ? [name] : [])));
  const [name, ...others] = found.flat();
  if (name === undefined) return undefined;
  if (others.length > 0)
    throw new UsageError(
      `There is more than one configuration here: ${[name, ...others].join(', ')}. Keep one of them, or name it with --config FILE.`,
    );
  return { path: join(folder, name), name };
}

async function namedFile(name: string, folder: string): Promise<ConfigFile> {
  if (!endings.some((ending) => ending === extname(name)))
    throw new UsageError(
      `--config ${JSON.stringify(name)} is not a configuration: its name must end in .js, .mjs, .ts or .json.`,
    );
  const path = resolve(folder, name);
  const found = await stat(path).catch(() => undefined);
  if (!found) throw new UsageError(`--config ${name} is not there. Give the path of a file.`);
  return { path, name };
}

/** Also `true` for a folder or a broken link, so that reading it reports an error. */
async function isThere(path: string): Promise<boolean> {
  return (await lstat(path).catch(() => undefined)) !== undefined;
}
