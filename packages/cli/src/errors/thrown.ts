import { inspect } from 'node:util';

const longest = 400;

/** Whatever foreign code threw, as a sentence on one line. */
export function thrownText(thrown: unknown): string {
  const text = readText(thrown).trim().replace(/\s+/g, ' ');
  const cut = text.length > longest ? `${text.slice(0, longest)}…` : text;
  return /[.!?…]$/.test(cut) ? cut : `${cut}.`;
}

/** The system's code of an error, such as `ENOENT`; `undefined` if it has none. */
export function codeOf(thrown: unknown): string | undefined {
  return thrown instanceof Error && 'code' in thrown ? String(thrown.code) : undefined;
}

/** Says that a user's module failed while it was loaded, and what to do about it. */
export function explainLoadingFailure(name: string, thrown: unknown): string {
  const failed = `${name} failed while it was loaded: ${thrownText(thrown)}`;
  // Node does not include the location of a syntax error, and prints it only when the file is run.
  if (thrown instanceof SyntaxError && !thrown.message.startsWith('ParseError'))
    return `${failed} ${readAsCommonJs.test(thrown.message) ? readAsModule : 'To see where, run that file with node.'}`;
  return thrown instanceof Error ? `${failed} SLUICE_DEBUG=1 shows where.` : failed;
}

const readAsModule =
  'Node reads that file as CommonJS: run "npm pkg set type=module" in its folder, or let its name end in .mjs.';

/** Node's messages about a file with module syntax that it reads as CommonJS. */
const readAsCommonJs = /outside a module|^Unexpected token 'export'|top level bodies of modules/;

function readText(thrown: unknown): string {
  if (thrown instanceof Error) return thrown.message || thrown.name;
  return typeof thrown === 'string' && thrown.trim() !== '' ? thrown : inspect(thrown, { depth: 1, compact: true });
}
