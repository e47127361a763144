import { lstat, stat } from 'node:fs/promises';
import { extname, join, resolve } from 'node:path';
import { UsageError } from '../faults/usageError.js';

/** A configuration file. */
export interface ConfigFile {
  readonly path: string;
  /** As people know it. */
  readonly name: string;
}

/** What `--config` and `--no-config` say; absent where neither was given. */
export type ConfigChoice = string | boolean | undefined;

const endings = ['.js', '.mjs', '.ts', '.json'] as const;
const names = endings.map((ending) => `sluice.config${ending}`);

/**
 * The configuration file of a command line: the one that was named, else the one in the current folder. Folders above are not looked at:
 * what is run should lie where one can see it.
 *
 * @throws UsageError if there are several, or the one that was named is none.
 */
export async function findConfigFile(choice: ConfigChoice, folder: string): Promise<ConfigFile | undefined> {
  if (choice === false) return undefined;
  if (typeof choice === 'string') return namedFile(choice, folder);
  const looks = await Promise.all(names.map(async (name) => ((await isThere(join(folder, name))) ? [name] : [])));
  const [name, ...others] = looks.flat();
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
      `--config ${JSON.stringify(name)} is no configuration: its name must end in .js, .mjs, .ts or .json.`,
    );
  const path = resolve(folder, name);
  const found = await stat(path).catch(() => undefined);
  if (!found) throw new UsageError(`--config ${name} is not there. Give the path of a file.`);
  return { path, name };
}

/** A folder, or a link that leads nowhere, counts as well: its owner should learn that it does not serve. */
async function isThere(path: string): Promise<boolean> {
  return (await lstat(path).catch(() => undefined)) !== undefined;
}
