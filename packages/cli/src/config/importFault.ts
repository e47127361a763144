import { existsSync } from 'node:fs';
import { dirname, relative, resolve } from 'node:path';
import { loadingFailed, thrownText } from '../faults/thrownText.js';
import { UsageError } from '../faults/usageError.js';
import { commonJsFile, commonJsSentence } from './commonJsFault.js';
import { decodeSyntaxError } from './decodeSyntaxFault.js';
import { findSyntaxFault } from './importModule.js';

/** A module that was to be loaded. */
export interface LoadedFile {
  readonly path: string;
  /** As people know it. */
  readonly name: string;
}

/** Why a module could not be loaded, as a sentence that says where and what to do. @param thrown anything. */
export async function importFault(thrown: unknown, { path, name }: LoadedFile): Promise<UsageError> {
  if (thrown instanceof UsageError) return thrown;
  const missing = missingModule(thrown);
  if (missing) return new UsageError(missingSentence(missing, { path, name }));
  const typed = typedModule(thrown);
  if (typed !== undefined)
    return new UsageError(
      `${shownFile(typed, { path, name })} is TypeScript, which this version of Node does not read from JavaScript. ${asTypeScript(relative(dirname(path), typed))}`,
    );
  const fault = thrown instanceof Error ? decodeSyntaxError(thrown.message) : undefined;
  const misread = commonJsFile(thrown);
  const syntax =
    fault ??
    (thrown instanceof SyntaxError ? await findSyntaxFault(misread ?? path).catch(() => undefined) : undefined);
  if (misread !== undefined && !syntax)
    return new UsageError(commonJsSentence(misread, shownFile(misread, { path, name })));
  if (syntax) {
    return new UsageError(
      `${shownFile(syntax.file, { path, name })} has a syntax error at line ${String(syntax.line)}, column ${String(syntax.column)}: ${thrownText(syntax.message)}`,
    );
  }
  // The one that is named in it offers something else.
  if (thrown instanceof SyntaxError && thrown.message.includes(' does not provide an export named '))
    return new UsageError(`${name} can't be loaded: ${thrownText(thrown)}`);
  return new UsageError(
    thrown instanceof SyntaxError
      ? `A file that ${name} imports has a syntax error: ${thrownText(thrown)}`
      : loadingFailed(name, thrown),
    { cause: thrown },
  );
}

/** What a file is called, seen from the one that was to be loaded. */
function shownFile(file: string, { path, name }: LoadedFile): string {
  return file === path ? name : `${relative(dirname(path), file)}, which ${name} imports,`;
}

/** The file in TypeScript that Node refuses. */
function typedModule(thrown: unknown): string | undefined {
  if (!(thrown instanceof Error && 'code' in thrown && thrown.code === 'ERR_UNKNOWN_FILE_EXTENSION')) return undefined;
  return /"\.[cm]?ts" for (.*)$/.exec(thrown.message)?.[1];
}

/** What to do about a file in TypeScript that JavaScript imports. */
function asTypeScript(file: string): string {
  return `Rename what imports it to .ts, or name it in the configuration instead of importing it: plugins: ["./${file}"].`;
}

interface MissingModule {
  readonly module: string;
  /** The file that imports it, where that is known. */
  readonly from?: string;
}

/** Node says it with "imported from", jiti with a stack of files below. */
function missingModule(thrown: unknown): MissingModule | undefined {
  if (!(thrown instanceof Error && 'code' in thrown)) return undefined;
  if (thrown.code !== 'ERR_MODULE_NOT_FOUND' && thrown.code !== 'MODULE_NOT_FOUND') return undefined;
  const [, module, imported, required] =
    /^Cannot find (?:package|module) '(.*?)'(?: imported from (.*)|\s+Require stack:\s+- (.*))?/.exec(thrown.message) ??
    [];
  const from = imported ?? required;
  return module === undefined ? undefined : { module, ...(from !== undefined && { from }) };
}

function missingSentence({ module, from }: MissingModule, { path, name }: LoadedFile): string {
  const folder = dirname(from ?? path);
  const importer = shownFile(from ?? path, { path, name });
  if (/^([./]|[A-Za-z]:[\\/])/.test(module)) {
    const shown = module.startsWith('.') ? module : relative(folder, module);
    const typed = resolve(folder, module).replace(/js$/, 'ts');
    const isTyped = typed !== resolve(folder, module) && existsSync(typed);
    const way = isTyped ? ` There is ${relative(folder, typed)}. ${asTypeScript(relative(dirname(path), typed))}` : '';
    return `${importer} imports ${shown}, which is not there.${way}`;
  }
  return `${importer} imports "${module}". ${notInstalled(module, folder)}`;
}

/** What to do about a package that is not there. @param name of a package, or of something in it. */
export function notInstalled(name: string, folder: string): string {
  const [scope = '', inScope] = name.split('/');
  const packageName = scope.startsWith('@') && inScope !== undefined ? `${scope}/${inScope}` : scope;
  return `It is not installed in ${folder}: run "npm install ${packageName}" there.`;
}
