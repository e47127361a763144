import type { Clock } from '../clock.js';
import { ConfigError } from '../errors.js';
import type { ArrayFormat } from '../http/query.js';
import type { Responses } from '../http/response/responses.js';
import type { Endpoint } from '../plugins/plugin.js';
import type { Source } from '../rows/source/source.js';
import { isRecord } from '../values.js';
import type { Change } from '../rows/watch/change.js';
import type { Due } from '../rows/watch/due.js';
import { watch, type WatchOptions } from '../rows/watch/watch.js';
import type { ParamDescription } from './requests/decodeParams.js';
import type { Api } from './describedApi.js';
import type { PageSize } from './requests/requestSpec.js';

/** Limits of a walk, for any source of an API. */
export interface WalkBounds {
  /** Rows per page, within the API's limit. Default: the definition's. */
  readonly pageSize?: number | undefined;
  /** The walk ends after this many rows. Default: no limit. Requires a concurrency of 1. */
  readonly maxRows?: number | undefined;
  /** A partition with more pages is an error. Default: no limit. */
  readonly maxPages?: number | undefined;
}

/** Limits of a watch's walks, without `maxRows`: rows beyond it would count as removed. */
export type WatchBounds = Omit<WalkBounds, 'maxRows'>;

/** Forbids parameters with the name of a limit. */
export type FreeParams = { readonly [Name in keyof WalkBounds]?: never };

/** Describes a source of an API, e.g. for a command line. */
export interface SourceDescription {
  /** Its name on a client, e.g. `coins.markets`. */
  readonly name: string;
  readonly description?: string;
  /** All its parameters; absent if unknown. */
  readonly params?: readonly ParamDescription[];
  readonly columns: readonly string[];
  /** Whether its rows have a key; otherwise `watch` needs one. */
  readonly hasKey: boolean;
  /** Rows per page; absent if the API decides. */
  readonly pageSize?: Pick<PageSize, 'default' | 'max'>;
  /** The source whose rows are its parents, by its name on a client; absent if it has none. */
  readonly each?: string;
  /** The kind of paging, e.g. `cursor`; `own` for a paging that is not part of this library. */
  readonly paging: string;
  /** Its definition has a filter, which leaves out some of the rows that the API lists. */
  readonly isFiltered?: true;
  /** Whether exports of it can be `incremental`. */
  readonly isIncremental: boolean;
}

/**
 * A source of an API on a client: call it with parameters.
 *
 * @example
 * client.coins.markets({ currency: 'usd', maxRows: 100 }).subscribe(console.log);
 * client.coins.markets.watch({ currency: 'usd' }, { every: 30_000 }).subscribe(({ key }) => console.log(key));
 */
export interface ApiSource<Params extends object = Record<string, unknown>, Row = unknown> {
  /** Creates a source of rows. @throws ConfigError, before any request, if a parameter or a limit is invalid. */
  (...options: OptionalIfEmpty<Merged<Params & WalkBounds>>): Source<Row>;
  /**
   * Watches the source. Parameters are a separate argument, since they may have names like `state` or `key`.
   *
   * @throws ConfigError, before any request, if an option is invalid.
   */
  watch(
    options: Merged<Params & WatchBounds>,
    watching: WatchOptions<Row> & { readonly rules?: undefined },
  ): Source<Change<Row>>;
  /** With `rules`, the watch also emits what they find. */
  watch(options: Merged<Params & WatchBounds>, watching: WatchOptions<Row>): Source<Change<Row> | Due<Row>>;
  /** Describes the source without a request. */
  describe(): SourceDescription;
}

/** Merges an intersection, so that the compiler refuses unknown names; optional fields accept `undefined`. */
type Merged<T> = { [Name in keyof T]: Partial<Pick<T, Name>> extends Pick<T, Name> ? T[Name] | undefined : T[Name] };

/** An optional argument if no option is required. */
type OptionalIfEmpty<T> = Partial<T> extends T ? [options?: T] : [options: T];

export interface SourceOpening {
  /** Its name on a client, e.g. `coins.markets`. */
  readonly name: string;
  readonly api: Api;
  readonly endpoint: Endpoint;
  /** What the responses to all requests of the API mean. */
  readonly responses?: Responses | undefined;
  /** How arrays are encoded in queries. */
  readonly arrays: ArrayFormat;
  readonly clock: Clock;
  readonly random: () => number;
  /** Finds another source of the same API by its name in it, e.g. `markets`. */
  readonly sibling?: (name: string) => ApiSource | undefined;
}

/** Identifies sources of APIs across copies of this package. Its value is the API. */
const brand = Symbol.for('sluice.apiSource');

/** @param create creates the source for parameters, none of them `undefined`, and limits */
export function apiSource<Params extends object, Row>(
  { name, api, clock, random }: SourceOpening,
  describe: () => SourceDescription,
  create: (params: object, bounds: WalkBounds) => Source<Row>,
): ApiSource<Params, Row> {
  const source = ({ pageSize, maxRows, maxPages, ...others }: WalkBounds = {}): Source<Row> => {
    const params = Object.entries<unknown>(others).filter(([, value]) => value !== undefined);
    return create(Object.fromEntries(params), { pageSize, maxRows, maxPages });
  };
  const watched = (options: WalkBounds, watching: WatchOptions<Row>): Source<Change<Row> | Due<Row>> => {
    if (options.maxRows === undefined) return watch(source(options), { clock, random, ...watching });
    throw new ConfigError(`${name}.watch takes no maxRows: rows that are pushed beyond it would count as removed.`, {
      option: 'maxRows',
    });
  };
  addMembers<Params, Row>(source, { watch: watched, describe, [brand]: api });
  return Object.freeze(source);
}

/** The listing checks the parameters on each call. */
function addMembers<Params extends object, Row>(
  source: object,
  members: object,
): asserts source is ApiSource<Params, Row> {
  Object.assign(source, members);
}

/** Whether a value is a source of an API, from any copy of this package. */
export function isApiSource(value: unknown): value is ApiSource {
  return typeof value === 'function' && brand in value;
}

/**
 * The APIs of a client's sources by name, whichever plugins have opened them.
 *
 * @example
 * for (const [name, api] of apisOf(client)) console.log(name, api.describe().auth);
 */
export function apisOf(client: object): ReadonlyMap<string, Api> {
  const apis = new Map<string, Api>();
  for (const [name, source] of sourcesOf(client)) {
    const api: unknown = Reflect.get(source, brand);
    if (isApi(api)) apis.set(name.split('.')[0] ?? name, api);
  }
  return apis;
}

/** A source of another version of this package may have no API. */
function isApi(value: unknown): value is Api {
  return isRecord(value) && typeof value['describe'] === 'function';
}

/**
 * All sources of APIs on a client, by their names on it, e.g. `coins.markets`.
 *
 * @example
 * for (const [name, source] of sourcesOf(client)) console.log(name, source.describe().columns);
 */
export function sourcesOf(client: object): ReadonlyMap<string, ApiSource> {
  const sources = new Map<string, ApiSource>();
  for (const [plugin, namespace] of Object.entries(client))
    if (isRecord(namespace))
      for (const [name, member] of Object.entries(namespace))
        if (isApiSource(member)) sources.set(`${plugin}.${name}`, member);
  return sources;
}
