import { inspect } from 'node:util';

const longest = 400;

/** What code of others threw, which may be anything, as a sentence on one line. */
export function thrownText(thrown: unknown): string {
  const text = textOf(thrown).trim().replace(/\s+/g, ' ');
  const cut = text.length > longest ? `${text.slice(0, longest)}…` : text;
  return /[.!?…]$/.test(cut) ? cut : `${cut}.`;
}

/** A sentence that a module of others failed as it was loaded, and what to do about it. */
export function loadingFailed(name: string, thrown: unknown): string {
  const failed = `${name} failed while it was loaded: ${thrownText(thrown)}`;
  // Node keeps the place of a syntax error out of the error, and prints it only for a program of its own.
  if (thrown instanceof SyntaxError && !thrown.message.startsWith('ParseError'))
    return `${failed} ${readAsCommonJs.test(thrown.message) ? readAsModule : 'To see where, run that file with node.'}`;
  return thrown instanceof Error ? `${failed} SLUICE_DEBUG=1 shows where.` : failed;
}

const readAsModule =
  'Node reads that file as CommonJS: run "npm pkg set type=module" in its folder, or let its name end in .mjs.';

/** What Node says of a file with the syntax of modules that it reads as CommonJS. */
const readAsCommonJs = /outside a module|^Unexpected token 'export'|top level bodies of modules/;

function textOf(thrown: unknown): string {
  if (thrown instanceof Error) return thrown.message || thrown.name;
  return typeof thrown === 'string' && thrown.trim() !== '' ? thrown : inspect(thrown, { depth: 1, compact: true });
}
