import { checkCount } from '../checks.js';
import { ConfigError } from '../errors.js';
import { addressOf } from '../http/origin.js';
import type { Query, QueryValue } from '../http/query.js';
import { kindOf } from '../values.js';
import type { Json } from '../source/definition.js';
import type { PageAddress, Paging } from './paging.js';

/** How many rows a page may have. */
export interface PageSize {
  /** The query parameter that says so, e.g. `limit`. */
  readonly param: string;
  /** Rows a page, unless the caller says otherwise. */
  readonly default: number;
  /** The most that the API takes. Default: any number. */
  readonly max?: number;
}

/** What is asked for: all that decides which rows come, and how the requests for them look. */
export interface RequestSpec<Params> {
  /** Below the base address, with a leading slash. Whatever a function puts into it must be percent-encoded. */
  readonly path: string | ((params: Params) => string);
  /** The query of every request. Default: none. */
  readonly query?: Query | ((params: Params) => Query);
  /**
   * Listings that together are the source, each with a query of its own beside the common one, e.g. one for each group of owners: parts of
   * the plan, of which `concurrency` are walked at once. Default: one. Called once for each source that is made; `warn` tells those who
   * watch the client about something worth a look that is no error.
   */
  readonly partitions?: (params: Params, warn: (message: string) => void) => readonly Query[];
  /** Where each partition begins, as a number of rows. Default: at its first row. */
  readonly offset?: (params: Params) => number;
  /**
   * What decides which rows come, where that is not the same as `query` and `partitions`, e.g. because the order of the groups does not matter:
   * then a watch goes on with what it knows.
   */
  readonly rowsIdentity?: (params: Params) => Json;
  readonly pageSize?: PageSize;
  readonly paging: Paging;
}

interface ListingPlan {
  readonly partitions: number;
  readonly offset: number;
  readonly pageSize: number | undefined;
  /** What decides the rows and how they come, by name. */
  readonly requested: Readonly<Record<string, Json>>;
  /** What decides the rows alone. */
  readonly requestedRows: Readonly<Record<string, Json>>;
  /** The request for a partition's first page, with room for at least so many rows. */
  first(partition: number, atLeast: number): PageAddress;
}

interface PlanOf<Params> {
  readonly name: string;
  readonly baseUrl: string;
  readonly params: Params;
  readonly pageSize: number | undefined;
  readonly warn: (message: string) => void;
}

/** Works out all first requests. @throws ConfigError if one of them could not be sent. */
export function listingPlan<Params>(
  asking: RequestSpec<Params>,
  { name, baseUrl, params, pageSize, warn }: PlanOf<Params>,
): ListingPlan {
  const path = typeof asking.path === 'function' ? asking.path(params) : asking.path;
  checkPath(name, baseUrl, path);
  const size = pageSizeOf(name, asking.pageSize, pageSize);
  const query = typeof asking.query === 'function' ? asking.query(params) : (asking.query ?? {});
  const partitions = asking.partitions?.(params, warn);
  if (partitions?.length === 0) throw new ConfigError(`${name} has nothing to ask for: there are no partitions.`);
  const taken = takenNames(asking);
  const shared = sentQuery(name, query, taken);
  const own = partitions?.map((partition) => sentQuery(name, partition, new Set([...taken, ...Object.keys(shared)])));
  const offset = asking.offset?.(params) ?? 0;
  checkCount('offset', offset, { min: 0 });
  const requests = { query: shared, ...(own && { partitions: own }) };
  return {
    partitions: partitions?.length ?? 1,
    offset,
    pageSize: size,
    requested: { baseUrl, path, ...requests, pageSize: size ?? null, paging: asking.paging.identity, offset },
    requestedRows: {
      baseUrl,
      path,
      ...(asking.rowsIdentity ? { rows: asking.rowsIdentity(params) } : requests),
      offset,
    },
    first: (partition, atLeast) => ({
      path,
      query: {
        ...(asking.pageSize && size !== undefined && { [asking.pageSize.param]: Math.max(size, atLeast) }),
        ...shared,
        ...own?.[partition],
      },
    }),
  };
}

/** A parameter that is empty, or was not percent-encoded, could ask for something else. */
function checkPath(name: string, baseUrl: string, path: string): void {
  addressOf(baseUrl, path, '');
  if (path.includes('//'))
    throw new ConfigError(
      `${name} can't ask for ${JSON.stringify(path.slice(0, 100))}: is a parameter of its path empty?`,
    );
}

/** The query parameters that no definition may set by itself. */
function takenNames({ pageSize, paging }: RequestSpec<never>): ReadonlySet<string> {
  return new Set([...paging.params, ...(pageSize ? [pageSize.param] : [])]);
}

function pageSizeOf(name: string, known: PageSize | undefined, wanted: number | undefined): number | undefined {
  if (!known) {
    if (wanted === undefined) return undefined;
    throw new ConfigError(`pageSize can't be set for ${name}: how many rows a page has, its API decides.`, {
      option: 'pageSize',
    });
  }
  const size = wanted ?? known.default;
  checkCount('pageSize', size, known.max === undefined ? {} : { max: known.max });
  return size;
}

type SentValue = string | number | boolean | readonly string[];

/** A query as it is sent, which nobody else can change any more. @throws ConfigError if it can't be sent as it is meant. */
function sentQuery(name: string, query: Query, taken: ReadonlySet<string>): Readonly<Record<string, SentValue>> {
  const sent: [string, SentValue][] = [];
  for (const [param, value] of Object.entries(query)) {
    if (taken.has(param))
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

/** What is not of these types would be sent as `null`, `NaN` or `[object Object]`. */
function isSendable(value: QueryValue): value is SentValue {
  if (Array.isArray(value)) return value.every((item) => typeof item === 'string');
  return typeof value === 'string' || typeof value === 'boolean' || Number.isFinite(value);
}
