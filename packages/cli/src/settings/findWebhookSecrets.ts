import type { Environment } from '../environment.js';
import { UsageError } from '../faults/usageError.js';
import { readNamedFile } from './readNamedFile.js';
import { secretOption, secretVariable, whereSecretsGo } from './secretAsArgument.js';

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
