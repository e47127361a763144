import type { Begun } from './begun.js';

/** Where is kept what has to be remembered, since nobody named these places; `undefined` for a file, which has it beside itself. */
export function openingLine({ target, state, deadLetterFile }: Begun): string | undefined {
  if (state === undefined) return undefined;
  return deadLetterFile === undefined
    ? `Writing to ${target}. Its state is kept in ${state}.`
    : `Forwarding to ${target}. Its state is kept in ${state}, dead letters in ${deadLetterFile}.`;
}
