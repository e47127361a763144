import type { PostgresState } from '@sluice/tables/postgres';
import type { Environment } from '../environment/environment.js';
import { UsageError } from '../errors/errors.js';

/** What the URL of a database begins with. */
export const postgresUrl = /^postgres(?:ql)?:\/\//i;

/** @param form how it is written. @throws UsageError if it is not a URL, or has a password. */
export function parsePostgresUrl(text: string, called: string, form: string): URL {
  if (!URL.canParse(text)) throw new UsageError(`${called} is not a valid URL. Write ${form}.`);
  const url = new URL(text);
  if (url.password === '' && !url.searchParams.has('password')) return url;
  throw new UsageError(
    `${called} has a password, which others on this machine can read. Leave it out, and set PGPASSWORD or use ~/.pgpass.`,
  );
}

/** Where a server is, with the password of the environment. */
export function addPassword(
  url: string,
  { variables, secrets }: Environment,
): { readonly url: string; readonly password?: string } {
  const { PGPASSWORD: password } = variables;
  if (password === undefined) return { url };
  secrets.add(password);
  return { url, password };
}

/**
 * The states of a database, of which a text has the URL, by their names.
 *
 * @param lease ms that another process waits for one that was killed. @throws UsageError if it is not one.
 */
export function databaseStates(
  text: string,
  environment: Environment,
  option: string,
  lease: number,
): (name: string) => Promise<PostgresState> {
  return openStates(parsePostgresUrl(text, option, 'postgres://user@host/database'), option, environment, lease);
}

/** Opens states by their names. @param lease in ms. @throws UsageError if the URL says more than where they are. */
export function openStates(
  url: URL,
  option: string,
  environment: Environment,
  lease?: number,
): (name: string) => Promise<PostgresState> {
  const [schema, ...schemas] = url.searchParams.getAll('schema');
  if (url.hash !== '' || url.searchParams.has('table') || schemas.length > 0)
    throw new UsageError(`${option} takes one &schema=SCHEMA, no table and no #.`);
  url.searchParams.delete('schema');
  const place = { ...addPassword(url.href, environment), schema, lease };
  return async (name) => (await import('@sluice/tables/postgres')).postgresState({ ...place, name });
}
