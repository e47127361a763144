import type { ResumeCommands } from './resumption.js';

/** What a command line alone does not bring back, as sentences with a blank behind each. */
export function neededAgain({ fromStdin, isAddressCut = false }: Omit<ResumeCommands, 'goOn' | 'isRestart'>): string {
  const verb = fromStdin === 'owners' ? 'have' : 'has';
  const stdin = fromStdin === undefined ? '' : `The ${fromStdin} ${verb} to come on stdin again. `;
  return stdin + (isAddressCut ? 'Write the whole address in place of the one that ends in "…". ' : '');
}
