import { UsageError } from '../faults/usageError.js';

/** Where the API key is looked for. */
export const keyVariable = 'SLUICE_API_KEY';
export const keyOption = '--api-key-file';

/** What to do with a key. */
export const whereKeysGo = `Put it into the environment variable ${keyVariable}, or into a file that ${keyOption} names.`;

/** Refuses a key among the arguments, wherever it stands. @throws UsageError that says why; the key is not repeated. */
export function refuseKeyAsArgument(args: readonly string[]): void {
  if (!args.some((arg) => /^--?api-?key(=|$)/i.test(arg))) return;
  throw new UsageError(
    `The API key can't be an argument, since other users of this machine could read it in the list of processes, and the shell keeps it in its history. ${whereKeysGo}`,
  );
}
