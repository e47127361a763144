import type { Client, StateStore } from '@sluice/core';
import type { PostgresState } from '@sluice/tables/postgres';
import type { Config } from '../config/config.js';
import type { Environment } from '../environment/environment.js';
import { UsageError } from '../errors/errors.js';
import { openStates, parsePostgresUrl, postgresUrl } from '../input/postgresUrl.js';
import { findNamed, hidePassword, matchNamed } from './namedTarget.js';

/** A state that is not in a folder: of a database, or of a plugin's store. */
export interface NamedStore {
  /** Without passwords. */
  readonly shown: string;
  readonly isDatabase: boolean;
  readonly open: (client: Pick<Client, 'stores'>) => Promise<OpenedStore>;
}

/** A state, and the process that holds it, if the store can tell. */
export type OpenedStore = StateStore & Partial<Pick<PostgresState, 'holder'>>;

const form = 'postgres://user@host/database?name=NAME';

/**
 * The state that a text names, if it is not a folder.
 *
 * @param option in which it was given; absent if the text may be something else, which is not an error then
 * @throws UsageError if it is the URL of a database without a name of the state, or names a store that is not there.
 */
export function findStore(
  text: string,
  config: Pick<Config, 'plugins' | 'file'>,
  environment: Environment,
  option?: string,
): NamedStore | undefined {
  const named = (option === undefined ? matchNamed : findNamed)(text, 'stores', config);
  if (!named) return databaseStore(text, environment, option);
  hidePassword(named, environment.secrets);
  const open: NamedStore['open'] = async (client) =>
    (await import('./namedSink.js')).namedStore(client, named, environment);
  return { shown: named.shown, isDatabase: false, open };
}

/** The state of a database; `undefined` if the text is something else. @throws UsageError if its URL does not name one. */
export function databaseStore(text: string, environment: Environment, option = 'The URL') {
  if (!postgresUrl.test(text)) return undefined;
  const url = parsePostgresUrl(text, option, form);
  const [name = '', ...names] = url.searchParams.getAll('name');
  if (name === '')
    throw new UsageError(`${option} lacks the name of the state, which each job has of its own: write ${form}.`);
  if (names.length > 0) throw new UsageError(`${option} names several states: write ${form}.`);
  url.searchParams.delete('name');
  const open = openStates(url, option, environment);
  return { shown: text, isDatabase: true, open: () => open(name) };
}
