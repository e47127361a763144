import { dirname, extname } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import type { Jiti } from 'jiti';
import { UsageError } from '../errors/errors.js';
import { codeOf, explainLoadingFailure } from '../errors/thrown.js';

/** Imports a module, also TypeScript, in which `./x.js` may mean `./x.ts`. Resolves to its namespace. */
export async function importModule(path: string): Promise<unknown> {
  const { href } = pathToFileURL(path);
  if (!/^\.[cm]?ts$/.test(extname(path))) return await import(href);
  const jiti = await newJiti();
  return await jiti.import(href);
}

/** Resolves a package name from a file; `undefined` if it is not installed there. */
export async function findModule(name: string, from: string): Promise<string | undefined> {
  const jiti = await newJiti();
  const found = jiti.esmResolve(name, { parentURL: pathToFileURL(from).href, try: true });
  return found === undefined ? undefined : fileURLToPath(found);
}

/** Loaded on demand, since few commands need it. Without its cache, which would write into the user's folders. */
async function newJiti(): Promise<Jiti> {
  const { createJiti } = await import('jiti');
  return createJiti(import.meta.url, { fsCache: false, interopDefault: false });
}

/**
 * Why a module could not be loaded. For a package that is not installed, says how to install it; otherwise quotes Node
 * or the loader. `name` is the module's name in messages.
 */
export function importError(
  thrown: unknown,
  { path, name }: { readonly path: string; readonly name: string },
): UsageError {
  if (thrown instanceof UsageError) return thrown;
  const missing = missingPackage(thrown);
  if (missing !== undefined)
    return new UsageError(`${name} imports "${missing}". ${installHint(missing, dirname(path))}`);
  return new UsageError(explainLoadingFailure(name, thrown), { cause: thrown });
}

/** How to install a missing package. @param name of a package, or of a file in it. */
export function installHint(name: string, folder: string): string {
  const [scope = '', inScope] = name.split('/');
  const packageName = scope.startsWith('@') && inScope !== undefined ? `${scope}/${inScope}` : scope;
  return `It is not installed in ${folder}: run "npm install ${packageName}" there.`;
}

/** Loads a package that is needed for one purpose only. */
export async function loadOptional<Module>(
  load: () => Promise<Module>,
  name: string,
  purpose: string,
): Promise<Module> {
  try {
    return await load();
  } catch (error) {
    if (codeOf(error) !== 'ERR_MODULE_NOT_FOUND') throw error;
    throw new UsageError(
      `For ${purpose} one more package is needed: npm install ${name}, with -g if Sluice is installed globally.`,
    );
  }
}

/** The package that Node or jiti did not find; `undefined` if it was a file, or the error is another one. */
function missingPackage(thrown: unknown): string | undefined {
  const code = codeOf(thrown);
  if (!(thrown instanceof Error) || (code !== 'ERR_MODULE_NOT_FOUND' && code !== 'MODULE_NOT_FOUND')) return undefined;
  const [, module = '.'] = /^Cannot find (?:package|module) '(.*?)'/.exec(thrown.message) ?? [];
  return /^([./]|[A-Za-z]:[\\/])/.test(module) ? undefined : module;
}
