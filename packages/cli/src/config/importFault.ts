import { dirname, relative } from 'node:path';
import { thrownText } from '../faults/thrownText.js';
import { UsageError } from '../faults/usageError.js';
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
  const fault = thrown instanceof Error ? decodeSyntaxError(thrown.message) : undefined;
  const syntax =
    fault ?? (thrown instanceof SyntaxError ? await findSyntaxFault(path).catch(() => undefined) : undefined);
  if (syntax) {
    const file = syntax.file === path ? name : `${relative(dirname(path), syntax.file)}, which ${name} imports,`;
    return new UsageError(
      `${file} has a syntax error at line ${String(syntax.line)}, column ${String(syntax.column)}: ${thrownText(syntax.message)}`,
    );
  }
  // The one that is named in it offers something else.
  if (thrown instanceof SyntaxError && thrown.message.includes(' does not provide an export named '))
    return new UsageError(`${name} can't be loaded: ${thrownText(thrown)}`);
  return new UsageError(
    thrown instanceof SyntaxError
      ? `A file that ${name} imports has a syntax error: ${thrownText(thrown)}`
      : `${name} failed while it was loaded: ${thrownText(thrown)}`,
    { cause: thrown },
  );
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
  const importer =
    from === undefined || from === path ? name : `${relative(dirname(path), from)}, which ${name} imports,`;
  if (/^([./]|[A-Za-z]:[\\/])/.test(module)) {
    const shown = module.startsWith('.') ? module : relative(folder, module);
    return `${importer} imports ${shown}, which is not there.`;
  }
  return `${importer} imports "${module}". ${notInstalled(module, folder)}`;
}

/** What to do about a package that is not there. @param name of a package, or of something in it. */
export function notInstalled(name: string, folder: string): string {
  const [scope = '', inScope] = name.split('/');
  const packageName = scope.startsWith('@') && inScope !== undefined ? `${scope}/${inScope}` : scope;
  return `It is not installed in ${folder}: run "npm install ${packageName}" there.`;
}
