import { checkCount } from '../checks.js';
import { ConfigError } from '../errors.js';
import { addressOf } from '../http/origin.js';
import type { Query, QueryValue } from '../http/query.js';
import { kindOf } from '../values.js';
import type { Json } from '../source/definition.js';
import type { PageAddress, Paging } from './paging.js';

/** Page size of a listing, in rows. */
export interface PageSize {
  /** The query parameter for the page size, e.g. `limit`. */
  readonly param: string;
  /** Default rows per page. */
  readonly default: number;
  /** The API's maximum. Default: none. */
  readonly max?: number;
}

/** The requests of a listing: everything that determines its rows. */
export interface RequestSpec<Params> {
  /** The path below the base URL, with a leading slash. Functions must percent-encode what they insert. */
  readonly path: string | ((params: Params) => string);
  /** The query of every request. Default: none. */
  readonly query?: Query | ((params: Params) => Query);
  /**
   * Queries of the listings that make up the source, each added to the common one, e.g. one per group of owners. They
   * are the partitions of the plan, `concurrency` of them walked in parallel. Default: one. Called once per source;
   * `warn` reports a warning to observers of the client.
   */
  readonly partitions?: (params: Params, warn: (message: string) => void) => readonly Query[];
  /** The row at which each partition starts. Default 0. */
  readonly offset?: (params: Params) => number;
  /**
   * What determines the rows for a watch's state, if not `query` and `partitions`, e.g. if the order of groups does not
   * matter. Then the state stays valid.
   */
  readonly rowsIdentity?: (params: Params) => Json;
  readonly pageSize?: PageSize;
  readonly paging: Paging;
}

interface ListingPlan {
  readonly partitions: number;
  readonly offset: number;
  readonly pageSize: number | undefined;
  /** What determines the rows and their paging, by name. */
  readonly requested: Readonly<Record<string, Json>>;
  /** What determines the rows only. */
  readonly requestedRows: Readonly<Record<string, Json>>;
  /** The request for a partition's first page of at least this many rows. */
  first(partition: number, atLeast: number): PageAddress;
}

interface PlanOf<Params> {
  readonly name: string;
  readonly baseUrl: string;
  readonly params: Params;
  readonly pageSize: number | undefined;
  readonly warn: (message: string) => void;
}

/** Computes all first requests. @throws ConfigError if one cannot be sent. */
export function listingPlan<Params>(
  spec: RequestSpec<Params>,
  { name, baseUrl, params, pageSize, warn }: PlanOf<Params>,
): ListingPlan {
  const path = typeof spec.path === 'function' ? spec.path(params) : spec.path;
  checkPath(name, baseUrl, path);
  const size = pageSizeOf(name, spec.pageSize, pageSize);
  const query = typeof spec.query === 'function' ? spec.query(params) : (spec.query ?? {});
  const partitions = spec.partitions?.(params, warn);
  if (partitions?.length === 0) throw new ConfigError(`${name} has nothing to request: there are no partitions.`);
  const reserved = reservedNames(spec);
  const shared = sentQuery(name, query, reserved);
  const own = partitions?.map((partition) =>
    sentQuery(name, partition, new Set([...reserved, ...Object.keys(shared)])),
  );
  const offset = spec.offset?.(params) ?? 0;
  checkCount('offset', offset, { min: 0 });
  const requests = { query: shared, ...(own && { partitions: own }) };
  return {
    partitions: partitions?.length ?? 1,
    offset,
    pageSize: size,
    requested: { baseUrl, path, ...requests, pageSize: size ?? null, paging: spec.paging.identity, offset },
    requestedRows: {
      baseUrl,
      path,
      ...(spec.rowsIdentity ? { rows: spec.rowsIdentity(params) } : requests),
      offset,
    },
    first: (partition, atLeast) => ({
      path,
      query: {
        ...(spec.pageSize && size !== undefined && { [spec.pageSize.param]: Math.max(size, atLeast) }),
        ...shared,
        ...own?.[partition],
      },
    }),
  };
}

/** An empty or unencoded parameter could change the request. */
function checkPath(name: string, baseUrl: string, path: string): void {
  addressOf(baseUrl, path, '');
  if (path.includes('//'))
    throw new ConfigError(
      `${name} can't request ${JSON.stringify(path.slice(0, 100))}: is a parameter of its path empty?`,
    );
}

/** Query parameters that a definition must not set itself. */
function reservedNames({ pageSize, paging }: RequestSpec<never>): ReadonlySet<string> {
  return new Set([...paging.params, ...(pageSize ? [pageSize.param] : [])]);
}

function pageSizeOf(name: string, known: PageSize | undefined, wanted: number | undefined): number | undefined {
  if (!known) {
    if (wanted === undefined) return undefined;
    throw new ConfigError(`pageSize can't be set for ${name}: its API decides how many rows a page has.`, {
      option: 'pageSize',
    });
  }
  const size = wanted ?? known.default;
  checkCount('pageSize', size, known.max === undefined ? {} : { max: known.max });
  return size;
}

type SentValue = string | number | boolean | readonly string[];

/** Copies a query, so that nobody can modify it. @throws ConfigError if it cannot be sent as intended. */
function sentQuery(name: string, query: Query, reserved: ReadonlySet<string>): Readonly<Record<string, SentValue>> {
  const sent: [string, SentValue][] = [];
  for (const [param, value] of Object.entries(query)) {
    if (reserved.has(param))
      throw new ConfigError(`${name} sets the query parameter ${JSON.stringify(param)} twice.`, { param });
    if (value === undefined) continue;
    if (!isSendable(value))
      throw new ConfigError(
        `${name} can't send ${JSON.stringify(param)} in its query, which is ${kindOf(value)}. Give text, a finite number, a boolean or a list of texts.`,
        { param },
      );
    sent.push([param, typeof value === 'object' ? [...value] : value]);
  }
  return Object.fromEntries(sent);
}

/** Other types would be sent as `null`, `NaN` or `[object Object]`. */
function isSendable(value: QueryValue): value is SentValue {
  if (Array.isArray(value)) return value.every((item) => typeof item === 'string');
  return typeof value === 'string' || typeof value === 'boolean' || Number.isFinite(value);
}
