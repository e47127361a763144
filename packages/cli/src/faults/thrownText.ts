import { inspect } from 'node:util';

const longest = 400;

/** What code of others threw, which may be anything, as a sentence on one line. */
export function thrownText(thrown: unknown): string {
  const text = textOf(thrown).trim().replace(/\s+/g, ' ');
  const cut = text.length > longest ? `${text.slice(0, longest)}…` : text;
  return /[.!?…]$/.test(cut) ? cut : `${cut}.`;
}

function textOf(thrown: unknown): string {
  if (thrown instanceof Error) return thrown.message || thrown.name;
  return typeof thrown === 'string' && thrown.trim() !== '' ? thrown : inspect(thrown, { depth: 1, compact: true });
}
