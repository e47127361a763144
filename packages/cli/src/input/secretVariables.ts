import type { ApiDescription } from '@sluice/core/define';
import type { Environment } from '../environment/environment.js';
import { UsageError } from '../errors/errors.js';
import { readNamedFile } from './readInput.js';

interface FoundKey {
  readonly key: string;
  /** `SLUICE_API_KEY` or `--api-key-file`. */
  readonly from: string;
}

/**
 * Finds the API key, if there is one: in the given file, else in the environment. Trims white space.
 *
 * @throws UsageError if the file contains none, or more than one word. Does not quote the option: people pass the key.
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

export function missingKey(): UsageError {
  return new UsageError(`There is no API key. ${whereKeysGo} "sluice demo" works without one.`);
}

/**
 * The secrets that sign webhooks: in the given file, else in the environment. There are two while one replaces the
 * other.
 *
 * @throws UsageError if there is none. Does not quote the option: people pass the secret itself.
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

/** The variables that have the secrets of an API. */
export function authVariables({ auth }: Pick<ApiDescription, 'auth'>): readonly string[] {
  return [...new Set(auth.flatMap(({ variables }) => variables))];
}

export const keyVariable = 'SLUICE_API_KEY';
export const keyOption = '--api-key-file';

export const whereKeysGo = `Set ${keyVariable}, or store it in a file and give ${keyOption} FILE.`;

export const secretVariable = 'SLUICE_WEBHOOK_SECRET';

/** The variable with the URL of a monitor. */
export const pingVariable = 'SLUICE_PING';
export const secretOption = '--secret-file';

export const redisVariable = 'SLUICE_REDIS_URL';

/** Where Redis is if nobody says it. */
const localRedis = 'redis://127.0.0.1:6379';

/** The URL of Redis: of the file, else of the option, else of the environment. */
export async function findRedisUrl(
  { redis, redisUrlFile }: { readonly redis?: string; readonly redisUrlFile?: string },
  environment: Environment,
): Promise<string> {
  if (redis !== undefined && redisUrlFile !== undefined)
    throw new UsageError('--redis and --redis-url-file exclude each other: both say where Redis is.');
  if (redis !== undefined && URL.canParse(redis) && passwordsIn(new URL(redis)).length > 0)
    throw new UsageError(
      `--redis has a password, which others on this machine can read. Set ${redisVariable}, or store the URL in a file and give --redis-url-file FILE.`,
    );
  const from = redisUrlFile === undefined ? (redis === undefined ? redisVariable : '--redis') : '--redis-url-file';
  const text =
    redisUrlFile === undefined
      ? (redis ?? environment.variables[redisVariable] ?? '')
      : await readNamedFile(redisUrlFile, { option: from, holds: 'the URL of Redis' }, environment);
  const found = text.trim() || localRedis;
  if (!URL.canParse(found) || !['redis:', 'rediss:'].includes(new URL(found).protocol))
    throw new UsageError(`${from} must be a URL of Redis, like redis://10.0.0.5:6379 or rediss://10.0.0.5.`);
  for (const password of passwordsIn(new URL(found))) {
    environment.secrets.add(password);
    try {
      environment.secrets.add(decodeURIComponent(password));
    } catch {
      throw new UsageError(`The password in ${from} has a % that begins no escape. Write it as %25.`);
    }
  }
  return found;
}

/** The driver takes one from the query, too. */
function passwordsIn({ password, searchParams }: URL): readonly string[] {
  return [password, ...searchParams.getAll('password')].filter((found) => found !== '');
}

export const whereSecretsGo = `Store it in a file and give ${secretOption} FILE, or set ${secretVariable}.`;

/** @throws UsageError if an argument is an API key or a signing secret. Does not quote it. */
export function refuseSecretArguments(args: readonly string[]): void {
  const refused = args.some((arg) => /^--?api-?key(=|$)/i.test(arg))
    ? { what: 'The API key', instead: whereKeysGo }
    : args.some((arg) => /^--?secret(=|$)/i.test(arg) || /whsec_[\w+/=-]{16}/.test(arg))
      ? { what: 'The signing secret', instead: whereSecretsGo }
      : undefined;
  if (!refused) return;
  throw new UsageError(
    `${refused.what} can't be an argument, since other users of this machine could read it in the list of processes, and the shell keeps it in its history. ${refused.instead}`,
  );
}
