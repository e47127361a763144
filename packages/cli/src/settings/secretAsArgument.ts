import { UsageError } from '../faults/usageError.js';

/** Where the signing secret is looked for. */
export const secretVariable = 'SLUICE_WEBHOOK_SECRET';
export const secretOption = '--secret-file';

/** What to do with a secret. */
export const whereSecretsGo = `Put it into a file that ${secretOption} names, or into the environment variable ${secretVariable}.`;

/** Refuses a signing secret among the arguments, wherever it stands. @throws UsageError that says why; the secret is not repeated. */
export function refuseSecretAsArgument(args: readonly string[]): void {
  if (!args.some((arg) => /^--?secret(=|$)/i.test(arg) || /whsec_[\w+/=-]{16}/.test(arg))) return;
  throw new UsageError(
    `The signing secret can't be an argument, since other users of this machine could read it in the list of processes, and the shell keeps it in its history. ${whereSecretsGo}`,
  );
}
