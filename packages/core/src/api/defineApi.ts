import { ConfigError } from '../errors.js';
import type { ArrayFormat } from '../http/query.js';
import { kindOf } from '../values.js';
import { nameForm } from '../plugins/checkPlugin.js';
import { reservedNames } from '../plugins/fit.js';
import type { Plugin, PluginContext } from '../plugins/plugin.js';
import type { SourceOpening } from './apiSource.js';

/** Options of a plugin that `defineApi` makes. */
export interface ApiOptions {
  /** Base URL of the API. */
  readonly baseUrl: string;
  /** How arrays go into the query. Default `brackets`. */
  readonly arrays?: ArrayFormat;
}

/** A source definition, as `listing` creates it. */
export interface Openable {
  /** Creates the source for an API. */
  open(opening: SourceOpening): object;
}

/** The namespace that a definition adds to a client. */
export type ApiOf<Sources extends Readonly<Record<string, Openable>>> = {
  readonly [Name in keyof Sources]: ReturnType<Sources[Name]['open']>;
};

/** A plugin with a namespace. */
export interface ApiPlugin<Name extends string, Api extends object> extends Plugin<Name, Api> {
  readonly setup: (context: PluginContext) => Api;
}

/**
 * Defines an API as a plugin: each of its listings becomes a source that can be walked, watched and exported.
 *
 * @example
 * const coins = defineApi({
 *   name: 'coins',
 *   sources: {
 *     markets: listing({
 *       path: '/markets',
 *       paging: byCursor({ param: 'cursor', at: 'meta.next' }),
 *       rows: 'items',
 *       columns: ['id', 'price'],
 *       key: ({ id }) => String(id),
 *     }),
 *   },
 * });
 * const api = createClient({ apiKey }).use(coins({ baseUrl: 'https://api.example.com' }));
 * await exportTo(api.coins.markets(), csv({ path: 'markets.csv' })).run();
 *
 * @throws ConfigError if a name is invalid, and later if the base URL is missing; PluginError if the client already
 * has the name.
 */
export function defineApi<const Name extends string, const Sources extends Readonly<Record<string, Openable>>>({
  name,
  sources,
}: {
  /** The namespace on a client, and the first part of the sources' names. */
  readonly name: Name;
  /** The sources by name, as `listing` creates them. */
  readonly sources: Sources;
}): (options: ApiOptions) => ApiPlugin<Name, ApiOf<Sources>> {
  checkName('an API', name);
  if (Object.keys(sources).length === 0) throw new ConfigError(`The API "${name}" has no sources.`);
  for (const source of Object.keys(sources)) checkName('a source', source);
  return (options) => {
    const { baseUrl, arrays = 'brackets' } = checkOptions(name, options);
    return {
      name,
      setup({ endpoint: openEndpoint, clock, random }) {
        const endpoint = openEndpoint(baseUrl, { arrays });
        const api = {};
        addSources(api, sources, (source) => ({ name: `${name}.${source}`, endpoint, arrays, clock, random }));
        return Object.freeze(api);
      },
    };
  };
}

/** The most likely mistake is an unset environment variable, which no compiler detects. */
function checkOptions(name: string, options: unknown): ApiOptions {
  const baseUrl = typeof options === 'object' && options !== null && 'baseUrl' in options ? options.baseUrl : undefined;
  if (isApiOptions(options) && baseUrl !== '') return options;
  throw new ConfigError(
    `The API "${name}" needs its base URL, ${name}({ baseUrl: 'https://…' }), and it is ${baseUrl === '' ? 'empty' : kindOf(baseUrl)}.`,
    { option: 'baseUrl' },
  );
}

function isApiOptions(options: unknown): options is ApiOptions {
  return typeof options === 'object' && options !== null && 'baseUrl' in options && typeof options.baseUrl === 'string';
}

function addSources<Sources extends Readonly<Record<string, Openable>>>(
  api: object,
  sources: Sources,
  opening: (source: string) => SourceOpening,
): asserts api is ApiOf<Sources> {
  for (const [name, source] of Object.entries<Openable>(sources))
    Object.defineProperty(api, name, { value: source.open(opening(name)), enumerable: true });
}

function checkName(what: string, name: string): void {
  const reserved: readonly string[] = reservedNames;
  if (nameForm.test(name) && !reserved.includes(name)) return;
  throw new ConfigError(
    `${JSON.stringify(name)} can't be the name of ${what}: it must be a letter, then at most 63 letters, digits, "-" or "_", and not a reserved word.`,
    { name },
  );
}
