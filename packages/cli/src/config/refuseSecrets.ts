import { holdsSecret } from '../errors/redact.js';
import { UsageError } from '../errors/errors.js';
import { whereKeysGo, whereSecretsGo } from '../input/secretVariables.js';

const keyNames = /^api[-_]?keys?$/i;
const secretNames = /^((webhook|signing)[-_]?)?secrets?$/i;
const otherNames = /^((access|auth|bearer)[-_]?)?token$|^password$|^authorization$/i;
/** A signing secret of Standard Webhooks, and a JSON Web Token. */
const secretTexts = /whsec_[\w+/=-]{16}|\beyJ[\w-]{10,}\.[\w-]{10,}/;

const whyNot = 'a configuration is kept with the code, where others read it';
const elsewhere = 'Write the configuration in JavaScript, and take it from the environment there.';

/** @param place where the setting is. @throws UsageError if its name is that of a secret; says where secrets belong. */
export function refuseSecretName(setting: string, place: string): void {
  const where = keyNames.test(setting)
    ? whereKeysGo
    : secretNames.test(setting)
      ? whereSecretsGo
      : otherNames.test(setting)
        ? elsewhere
        : undefined;
  if (where !== undefined)
    throw new UsageError(`${JSON.stringify(setting)} can't stand in ${place}: ${whyNot}. ${where}`);
}

/**
 * Refuses a value that is, contains or looks like a secret, at any depth, and a field named like one.
 *
 * @throws UsageError that does not quote it.
 */
export function refuseSecrets(value: unknown, place: string, known: ReadonlySet<string>): void {
  if (typeof value === 'string') {
    if (!secretTexts.test(value) && !holdsSecret(value, known)) return;
    throw new UsageError(
      `What stands in ${place} looks like a secret, and ${whyNot}. An API key: ${whereKeysGo} A signing secret: ${whereSecretsGo}`,
    );
  }
  if (typeof value !== 'object' || value === null) return;
  for (const [name, field] of Object.entries(value)) {
    if (!Array.isArray(value) && typeof field === 'string') refuseSecretName(name, place);
    refuseSecrets(field, place, known);
  }
}
