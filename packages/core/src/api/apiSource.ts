import type { Clock } from '../clock.js';
import { ConfigError } from '../errors.js';
import type { ArrayFormat } from '../http/query.js';
import type { Endpoint } from '../plugins/plugin.js';
import type { Source } from '../source/source.js';
import { isRecord } from '../values.js';
import type { Change } from '../watch/change.js';
import { watch, type WatchOptions } from '../watch/watch.js';
import { decodeOptions, type WalkBounds, type WatchBounds } from './decodeOptions.js';
import type { ParamDescription } from './decodeParams.js';
import type { PageSize } from './listingPlan.js';

/** What a source of an API tells of itself, e.g. to a command line. */
export interface SourceDescription {
  /** How it is reached on a client, e.g. `coins.markets`. */
  readonly name: string;
  readonly description?: string;
  /** Its parameters, all of them; absent where nothing tells. */
  readonly params?: readonly ParamDescription[];
  readonly columns: readonly string[];
  /** Whether something tells its rows apart; else `watch` needs a `key`. */
  readonly hasKey: boolean;
  /** Rows a page; absent where the API alone decides. */
  readonly pageSize?: Omit<PageSize, 'param'>;
}

/**
 * A source of an API, as it stands on a client: call it to get the source.
 *
 * @example
 * client.coins.markets({ currency: 'usd', maxRows: 100 }).subscribe(console.log);
 * client.coins.markets.watch({ currency: 'usd' }, { every: 30_000 }).subscribe(({ type, key }) => console.log(type, key));
 */
export interface ApiSource<Params extends object = Record<string, unknown>, Row = unknown> {
  /** The listing as a source of rows. @throws ConfigError, before any request, if a parameter or a bound makes no sense. */
  (...options: OptionalWhereEmpty<Together<Params & WalkBounds>>): Source<Row>;
  /**
   * Every change of it, poll after poll: what it is asked for, then how it is watched. They are apart since `state`, `key` and `project`
   * are frequent names of parameters, too.
   *
   * @throws ConfigError, before any request, if an option makes no sense.
   */
  watch(options: Together<Params & WatchBounds>, watching: WatchOptions<Row>): Source<Change<Row>>;
  /** What is known of it without asking. */
  describe(): SourceDescription;
}

/** One object type, so that the compiler refuses what is in none of its parts. What may be left out may be `undefined` as well. */
type Together<T> = { [Name in keyof T]: Partial<Pick<T, Name>> extends Pick<T, Name> ? T[Name] | undefined : T[Name] };

/** Options that may be left out where none of them is needed. */
type OptionalWhereEmpty<T> = Partial<T> extends T ? [options?: T] : [options: T];

export interface SourceOpening {
  /** How it is reached on a client, e.g. `coins.markets`. */
  readonly name: string;
  readonly endpoint: Endpoint;
  /** How the endpoint writes arrays into queries. */
  readonly arrays: ArrayFormat;
  readonly clock: Clock;
  readonly random: () => number;
}

interface SourceParts<Row> {
  readonly opening: SourceOpening;
  readonly walk: (params: object, bounds: WalkBounds) => Source<Row>;
  readonly describe: () => SourceDescription;
}

/** Marks sources of APIs across copies of this package. */
const brand = Symbol.for('sluice.apiSource');

export function apiSource<Params extends object, Row>(partitions: SourceParts<Row>): ApiSource<Params, Row> {
  const { opening, walk, describe } = partitions;
  const { name, clock, random } = opening;
  const source = (options: object = {}): Source<Row> => {
    const { params, bounds } = decodeOptions(options);
    return walk(params, bounds);
  };
  const watched = (options: object, watching: WatchOptions<Row>): Source<Change<Row>> => {
    const { params, bounds } = decodeOptions(options);
    if (bounds.maxRows === undefined) return watch(walk(params, bounds), { clock, random, ...watching });
    throw new ConfigError(`${name}.watch takes no maxRows: rows that are pushed beyond it would count as removed.`, {
      option: 'maxRows',
    });
  };
  addMembers<Params, Row>(source, { watch: watched, describe, [brand]: true });
  return Object.freeze(source);
}

/** What the parameters are, the listing checks when it is asked. */
function addMembers<Params extends object, Row>(
  source: object,
  members: object,
): asserts source is ApiSource<Params, Row> {
  Object.assign(source, members);
}

/** Whether a value is a source of an API, whichever copy of this package made it. */
export function isApiSource(value: unknown): value is ApiSource {
  return typeof value === 'function' && brand in value;
}

/**
 * All sources of APIs on a client, by how they are reached on it, e.g. `coins.markets`.
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
