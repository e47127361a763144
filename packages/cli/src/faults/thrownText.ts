import { inspect } from 'node:util';

const longest = 400;

/** What code of others threw, which may be anything, as a sentence on one line. */
export function thrownText(thrown: unknown): string {
  const text = textOf(thrown).trim().replace(/\s+/g, ' ');
  const cut = text.length > longest ? `${text.slice(0, longest)}…` : text;
  return /[.!?…]$/.test(cut) ? cut : `${cut}.`;
}

/** A sentence that a module of others failed as it was loaded, and how to find out where in it. */
export function loadingFailed(name: string, thrown: unknown): string {
  const hint = thrown instanceof Error ? ' SLUICE_DEBUG=1 shows where.' : '';
  return `${name} failed while it was loaded: ${thrownText(thrown)}${hint}`;
}

function textOf(thrown: unknown): string {
  if (thrown instanceof Error) return thrown.message || thrown.name;
  return typeof thrown === 'string' && thrown.trim() !== '' ? thrown : inspect(thrown, { depth: 1, compact: true });
}
