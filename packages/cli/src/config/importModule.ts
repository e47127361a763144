import { dirname, extname } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import type { Jiti } from 'jiti';
import { UsageError } from '../errors/errors.js';
import { loadingFailed } from '../errors/thrown.js';

/** Loads a module and answers its namespace. TypeScript is taken as it is, also where `./x.js` means `./x.ts`. */
export async function importModule(path: string): Promise<unknown> {
  const { href } = pathToFileURL(path);
  if (!/^\.[cm]?ts$/.test(extname(path))) return await import(href);
  const jiti = await newJiti();
  return await jiti.import(href);
}

/** The file that a package's name stands for, seen from a file; `undefined` if it is not installed there. */
export async function findModule(name: string, from: string): Promise<string | undefined> {
  const jiti = await newJiti();
  const found = jiti.esmResolve(name, { parentURL: pathToFileURL(from).href, try: true });
  return found === undefined ? undefined : fileURLToPath(found);
}

/** Loaded only here, since most command lines need none. Without its cache, which would be written into the user's folders. */
async function newJiti(): Promise<Jiti> {
  const { createJiti } = await import('jiti');
  return createJiti(import.meta.url, { fsCache: false, interopDefault: false });
}

/**
 * Why a module could not be loaded, as a sentence. A package that is not installed comes with the command that installs it; all else is what
 * Node or the loader says.
 *
 * @param thrown anything.
 * @param name what people call the module.
 */
export function importError(
  thrown: unknown,
  { path, name }: { readonly path: string; readonly name: string },
): UsageError {
  if (thrown instanceof UsageError) return thrown;
  const missing = missingPackage(thrown);
  if (missing !== undefined)
    return new UsageError(`${name} imports "${missing}". ${notInstalled(missing, dirname(path))}`);
  return new UsageError(loadingFailed(name, thrown), { cause: thrown });
}

/** What to do about a package that is not there. @param name of a package, or of something in it. */
export function notInstalled(name: string, folder: string): string {
  const [scope = '', inScope] = name.split('/');
  const packageName = scope.startsWith('@') && inScope !== undefined ? `${scope}/${inScope}` : scope;
  return `It is not installed in ${folder}: run "npm install ${packageName}" there.`;
}

/** The name of the package that Node, or jiti, did not find; `undefined` for a file that is missing. */
function missingPackage(thrown: unknown): string | undefined {
  if (!(thrown instanceof Error && 'code' in thrown)) return undefined;
  if (thrown.code !== 'ERR_MODULE_NOT_FOUND' && thrown.code !== 'MODULE_NOT_FOUND') return undefined;
  const [, module = '.'] = /^Cannot find (?:package|module) '(.*?)'/.exec(thrown.message) ?? [];
  return /^([./]|[A-Za-z]:[\\/])/.test(module) ? undefined : module;
}
