import type { Environment } from '../environment.js';
import { UsageError } from '../faults/usageError.js';
import { keyOption, keyVariable, whereKeysGo } from './keyAsArgument.js';
import { readNamedFile } from './readNamedFile.js';

/** The API key, and where it comes from. */
export interface FoundKey {
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
