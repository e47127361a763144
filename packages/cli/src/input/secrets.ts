import type { Environment } from '../environment/environment.js';
import { UsageError } from '../errors/errors.js';
import { readNamedFile } from './readInput.js';

/** The API key, and where it comes from. */
interface FoundKey {
  readonly key: string;
  /** `SLUICE_API_KEY` or `--api-key-file`. */
  readonly from: string;
}

/**
 * Finds the API key, if there is one: in the file that was named, else in the environment. White space around it is dropped.
 *
 * @throws UsageError if the file holds none, or more than one. What the option was given is not repeated, since people put the key itself
 * there.
 */
export async function findApiKey(
  apiKeyFile: string | undefined,
  environment: Environment,
): Promise<FoundKey | undefined> {
  if (apiKeyFile !== undefined) {
    const key = (await readNamedFile(apiKeyFile, { option: keyOption, holds: 'the key' }, environment)).trim();
    if (key === '') throw new UsageError(`The file that ${keyOption} names is empty. Put the key into it.`);
    environment.secrets.add(key);
    if (/\s/.test(key))
      throw new UsageError(
        `The file that ${keyOption} names holds more than one word. Put the key into it, and nothing else.`,
      );
    return { key, from: keyOption };
  }
  const key = environment.variables[keyVariable]?.trim() ?? '';
  return key === '' ? undefined : { key, from: keyVariable };
}

/** That there is none where one is needed. */
export function missingKey(): UsageError {
  return new UsageError(`There is no API key. ${whereKeysGo} "sluice demo" works without one.`);
}

/**
 * The secrets that webhooks are signed with: in the file that was named, else in the environment; two while one replaces the other.
 *
 * @throws UsageError if there is none. What the option was given is not repeated, since people put the secret itself there.
 */
export async function findWebhookSecrets(
  secretFile: string | undefined,
  environment: Environment,
): Promise<readonly string[]> {
  const text =
    secretFile === undefined
      ? (environment.variables[secretVariable] ?? '')
      : await readNamedFile(secretFile, { option: secretOption, holds: 'the secret' }, environment);
  const secrets = text.split(/\s+/).filter((word) => word !== '');
  for (const secret of secrets)
    for (const form of [secret, secret.replace(/^whsec_/, '')]) environment.secrets.add(form);
  if (secrets.length > 0) return secrets;
  throw new UsageError(
    secretFile === undefined
      ? `There is no secret to sign with. ${whereSecretsGo}`
      : `The file that ${secretOption} names is empty. Put the secret into it.`,
  );
}

/** Where the API key is looked for. */
export const keyVariable = 'SLUICE_API_KEY';
const keyOption = '--api-key-file';

/** What to do with a key. */
export const whereKeysGo = `Set ${keyVariable}, or store it in a file and give ${keyOption} FILE.`;

/** Refuses a key among the arguments, wherever it stands. @throws UsageError that says why; the key is not repeated. */
export function refuseKeyAsArgument(args: readonly string[]): void {
  if (!args.some((arg) => /^--?api-?key(=|$)/i.test(arg))) return;
  throw new UsageError(
    `The API key can't be an argument, since other users of this machine could read it in the list of processes, and the shell keeps it in its history. ${whereKeysGo}`,
  );
}

/** Where the signing secret is looked for. */
export const secretVariable = 'SLUICE_WEBHOOK_SECRET';
const secretOption = '--secret-file';

/** What to do with a secret. */
export const whereSecretsGo = `Store it in a file and give ${secretOption} FILE, or set ${secretVariable}.`;

/** Refuses a signing secret among the arguments, wherever it stands. @throws UsageError that says why; the secret is not repeated. */
export function refuseSecretAsArgument(args: readonly string[]): void {
  if (!args.some((arg) => /^--?secret(=|$)/i.test(arg) || /whsec_[\w+/=-]{16}/.test(arg))) return;
  throw new UsageError(
    `The signing secret can't be an argument, since other users of this machine could read it in the list of processes, and the shell keeps it in its history. ${whereSecretsGo}`,
  );
}
