import type { Begun } from './begun.js';

/** Where a forward keeps what it has to remember, since nobody named these places; `undefined` for a file, which has it beside itself. */
export function openingLine({ target, state, deadLetterFile }: Begun): string | undefined {
  if (state === undefined || deadLetterFile === undefined) return undefined;
  return `Forwarding to ${target}. Its state is kept in ${state}, dead letters in ${deadLetterFile}.`;
}
