import { checkOptions, hintFor } from '../checks.js';
import { ConfigError } from '../errors.js';
import { type Auth, ownCredentials } from '../auth/auth.js';
import { checkResponses } from '../http/response/responses.js';
import { isRecord, kindOf } from '../values.js';
import { nameForm } from '../plugins/checkPlugin.js';
import { reservedNames } from '../plugins/pluginTypes.js';
import { endpointOptionNames, type EndpointOptions, type Plugin, type PluginContext } from '../plugins/plugin.js';
import { type ApiSource, isApiSource, type SourceOpening } from './apiSource.js';
import { describedApi, type ApiRequests } from './describedApi.js';

/** Options of a plugin that `defineApi` makes. The options of the definition are the defaults. */
export interface ApiOptions extends EndpointOptions {
  /** Base URL of the API. */
  readonly baseUrl: string;
}

const apiOptionNames = { ...endpointOptionNames, baseUrl: true } as const;

/** A source definition, as `listing` creates it. */
export interface Openable {
  /** The source of the same API whose rows are its parents. Default: none. */
  readonly each?: string;
  /** Whether its rows have a key, so that they can be parents. */
  readonly hasKey?: boolean;
  /** The headers that its paging sets, in lower case. Default: none. */
  readonly placedHeaders?: readonly string[];
  /** Creates the source for an API. */
  open(opening: SourceOpening): object;
}

/** The namespace that a definition adds to a client. */
export type ApiOf<Sources extends Readonly<Record<string, Openable>>> = {
  readonly [Name in keyof Sources]: ReturnType<Sources[Name]['open']>;
} & ApiRequests;

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
export function defineApi<const Name extends string, const Sources extends Readonly<Record<string, Openable>>>(
  definition: ApiDefinition<Name, Sources> & { readonly baseUrl: string },
): (options?: Partial<ApiOptions>) => ApiPlugin<Name, ApiOf<Sources>>;
/** Defines an API without a default base URL, which each user has to give. */
export function defineApi<const Name extends string, const Sources extends Readonly<Record<string, Openable>>>(
  definition: ApiDefinition<Name, Sources>,
): (options: ApiOptions) => ApiPlugin<Name, ApiOf<Sources>>;
export function defineApi<const Name extends string, const Sources extends Readonly<Record<string, Openable>>>(
  definition: ApiDefinition<Name, Sources>,
): (options?: Partial<ApiOptions>) => ApiPlugin<Name, ApiOf<Sources>> {
  checkOptions('defineApi()', definition, {
    name: 'text',
    sources: 'an object',
    baseUrl: 'text?',
    arrays: 'text?',
    headers: 'an object?',
    auth: 'an object or a list?',
    rateLimit: 'anything?',
    limiter: 'an object?',
    quota: 'an object?',
    responses: 'an object or a function?',
  });
  const { name, sources, ...defaults } = definition;
  checkResponses('defineApi()', defaults.responses);
  checkName('an API', name);
  if (Object.keys(sources).length === 0) throw new ConfigError(`The API "${name}" has no sources.`);
  for (const [source, opened] of Object.entries<unknown>(sources)) {
    checkName('a source', source);
    if (!isRecord(opened) || typeof opened['open'] !== 'function')
      throw new ConfigError(`${name}.${source} is ${kindOf(opened)}, and must be a source: define it with listing().`);
  }
  if ('get' in sources)
    throw new ConfigError(`A source of the API "${name}" can't be named "get", which is a function.`);
  checkParents(name, sources);
  return (given) => {
    if (given !== undefined) checkOptions(`${name}()`, given, apiOptionNames);
    const { baseUrl, ...options } = withBaseUrl(name, { ...defaults, ...withoutUndefined(given) });
    checkPlacedHeaders(name, sources, options.auth);
    return {
      name,
      setup({ endpoint: openEndpoint, clock, random }) {
        const endpoint = openEndpoint(baseUrl, options);
        const { arrays = 'brackets', responses } = options;
        const api = describedApi(name, endpoint, options);
        const namespace = {};
        const sibling = (source: string): ApiSource | undefined => {
          const found: unknown = Object.hasOwn(namespace, source) ? Reflect.get(namespace, source) : undefined;
          return isApiSource(found) ? found : undefined;
        };
        const shared = { api, endpoint, responses, arrays, clock, random, sibling };
        const get: ApiRequests['get'] = (path, given) => api.get(path, given);
        addMembers(namespace, get, sources, (source) => ({ name: `${name}.${source}`, ...shared }));
        return Object.freeze(namespace);
      },
    };
  };
}

/** The argument of {@link defineApi}. */
export interface ApiDefinition<Name extends string, Sources> extends EndpointOptions {
  /** The namespace on a client, and the first part of the sources' names. */
  readonly name: Name;
  /** The default base URL. Without it, each user of the API has to give one. */
  readonly baseUrl?: string;
  /** The sources by name, as `listing` creates them. */
  readonly sources: Sources;
}

/** Options without `undefined` values, which would hide a default. */
function withoutUndefined(options: Partial<ApiOptions> | null | undefined): Partial<ApiOptions> {
  return Object.fromEntries(Object.entries<unknown>(options ?? {}).filter(([, value]) => value !== undefined));
}

/** The most likely mistake is an unset environment variable, which no compiler detects. */
function withBaseUrl(name: string, options: Partial<ApiOptions>): ApiOptions {
  const { baseUrl } = options;
  if (typeof baseUrl === 'string' && baseUrl !== '') return { ...options, baseUrl };
  throw new ConfigError(
    `The API "${name}" needs its base URL, ${name}({ baseUrl: 'https://…' }), and it is ${baseUrl === '' ? 'empty' : kindOf(baseUrl)}.`,
    { option: 'baseUrl' },
  );
}

/** @throws ConfigError if the parents of a source do not exist, have no keys, or are below the source itself. */
function checkParents(name: string, sources: Readonly<Record<string, Openable>>): void {
  for (const [source, { each }] of Object.entries(sources)) {
    if (each === undefined) continue;
    const refusal = `${name}.${source} can't have a listing for each row of ${JSON.stringify(each)}`;
    const refused = (what: string): ConfigError => new ConfigError(`${refusal}: ${what}.`);
    const parents = Object.hasOwn(sources, each) ? sources[each] : undefined;
    if (!parents)
      throw new ConfigError(`${refusal}: the API has no such source. ${hintFor(each, Object.keys(sources))}`);
    if (isBelow(each, source, sources)) throw refused('that leads back to itself');
    if (parents.hasKey === false)
      throw refused('its rows have no key, which tells parents apart. Give that listing one');
  }
}

/** Whether a source is another one, or has it above itself. */
function isBelow(source: string, other: string, sources: Readonly<Record<string, Openable>>): boolean {
  const passed = new Set<string>();
  for (let at: string | undefined = source; at !== undefined && !passed.has(at); at = eachOf(at)) {
    if (at === other) return true;
    passed.add(at);
  }
  return false;

  function eachOf(name: string): string | undefined {
    return Object.hasOwn(sources, name) ? sources[name]?.each : undefined;
  }
}

/** @throws ConfigError if a source sets a header that carries a credential: it would replace the credential. */
function checkPlacedHeaders(name: string, sources: Readonly<Record<string, Openable>>, auth: Auth | undefined): void {
  const secret = (ownCredentials(auth, name) ?? []).flatMap((each) =>
    each.kind === 'header' ? [each.name.toLowerCase()] : [],
  );
  for (const [source, { placedHeaders = [] }] of Object.entries(sources))
    for (const header of placedHeaders)
      if (secret.includes(header))
        throw new ConfigError(`${name}: the source ${source} sets the header ${header}, which has the credential.`, {
          header,
        });
}

function addMembers<Sources extends Readonly<Record<string, Openable>>>(
  api: object,
  get: ApiRequests['get'],
  sources: Sources,
  opening: (source: string) => SourceOpening,
): asserts api is ApiOf<Sources> {
  Object.defineProperty(api, 'get', { value: get });
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
