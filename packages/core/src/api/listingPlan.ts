import { checkCount, type OptionKind } from '../checks.js';
import { ConfigError } from '../errors.js';
import type { Query } from '../http/query.js';
import { type BodyType, formFields, ownHeaders, type RequestDetails } from '../http/requestDetails.js';
import { isHeader } from '../http/sendAttempt.js';
import { frozenJson, type Json } from '../json.js';
import { kindOf } from '../values.js';
import type { PageAddress, Paging } from './paging.js';
import { checkFree, parsePlace, type RequestPlace } from './requestPlace.js';
import { withParams } from './requiredParams.js';
import { fillFields, fillPath, fillValues } from './template.js';

/** Page size of a listing, in rows, and where a request has it, e.g. in `param: 'limit'` or `into: 'variables.first'`. */
export type PageSize = RequestPlace & {
  /** Default rows per page. */
  readonly default: number;
  /** The API's maximum. Default: none. */
  readonly max?: number;
};

/** Headers by name. */
type HeaderFields = Readonly<Record<string, string>>;

/** The requests of a listing: everything that determines its rows. */
export interface RequestSpec<Params> {
  /**
   * The path below the base URL, with a leading slash: a template of RFC 6570, e.g. `/repos/{owner}/{repo}/issues`.
   * `{x}` encodes the parameter `x`, `{+x}` keeps the slashes in it.
   */
  readonly path: string;
  /**
   * The query of every request. A text that is only `{x}`, here and in `headers` and `body`, is the parameter `x`; one
   * without a value is left out. Default: none.
   */
  readonly query?: Query | ((params: Params) => Query);
  /** Default `GET`. A listing only reads, so a `POST` is retried like a `GET`. */
  readonly method?: 'GET' | 'POST';
  /**
   * The body of every request, which is sent as JSON, with `method: 'POST'`. Default: none. A function is called once
   * per partition, also with that partition's query, which is then not added to the URL. Leave optional fields out:
   * `undefined` in a body is refused.
   */
  readonly body?: Json | ((params: Params, partition: Query) => Json);
  /**
   * How a body is encoded: `json` (the default), or `form`, as application/x-www-form-urlencoded: an object of texts,
   * numbers, booleans and lists of them, encoded as a query is.
   */
  readonly bodyType?: BodyType;
  /** Headers of every request. Not for secrets: links and hooks see them. Default: none. */
  readonly headers?: HeaderFields | ((params: Params) => HeaderFields);
  /**
   * `false` if each page can be requested only once, e.g. because a response consumes its scroll id. A request for a
   * further page is then not retried once it was sent: an export with state walks the partition again from its
   * beginning, and so does one that resumes. Default `true`.
   */
  readonly isRepeatable?: boolean;
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

/** What these options must be. */
export const requestSpecKinds = {
  path: 'text',
  query: 'an object or a function?',
  method: 'text?',
  body: 'anything?',
  bodyType: 'text?',
  headers: 'an object or a function?',
  isRepeatable: 'a boolean?',
  partitions: 'a function?',
  offset: 'a function?',
  rowsIdentity: 'a function?',
  pageSize: 'an object?',
  paging: 'an object',
} as const satisfies Readonly<Record<keyof RequestSpec<never>, OptionKind>>;

export interface ListingPlan {
  readonly partitions: number;
  readonly offset: number;
  readonly pageSize: number | undefined;
  /** What determines the rows and their paging, by name. */
  readonly requested: Readonly<Record<string, Json>>;
  /** What determines the rows only. */
  readonly requestedRows: Readonly<Record<string, Json>>;
  /** What all its requests have besides their addresses and bodies. */
  readonly details: Pick<RequestDetails, 'method' | 'headers' | 'bodyType'>;
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
  const path = fillPath(spec.path, params, { name, baseUrl });
  const size = choosePageSize(name, spec.pageSize, pageSize);
  const sized = spec.pageSize && parsePlace(spec.pageSize);
  const query = evaluate(spec.query ?? {}, params, { name, what: 'query' });
  const partitions = spec.partitions?.(params, warn);
  if (partitions?.length === 0) throw new ConfigError(`${name} has nothing to request: there are no partitions.`);
  const reserved = listReservedParams(spec);
  const shared = copyQuery(name, query, reserved);
  const isOfBody = typeof spec.body === 'function';
  const own = isOfBody
    ? undefined
    : partitions?.map((partition) => copyQuery(name, partition, new Set([...reserved, ...Object.keys(shared)])));
  const bodies = makeBodies(spec, params, { name, partitions: partitions ?? [{}] });
  const offset = spec.offset?.(params) ?? 0;
  checkCount('offset', offset, { min: 0 });
  const { method = 'GET', bodyType = 'json' } = spec;
  const headers = copyHeaders(
    name,
    evaluate(spec.headers ?? {}, params, { name, what: 'headers' }),
    listPlacedHeaders(spec),
  );
  const requests = {
    query: shared,
    partitions: own ?? null,
    method,
    headers,
    ...(bodyType !== 'json' && { bodyType }),
    ...(bodies?.length === 1 ? { body: bodies[0] ?? null } : { bodies: bodies ?? null }),
  };
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
    details: {
      ...(method !== 'GET' && { method }),
      ...(Object.keys(headers).length > 0 && { headers }),
      ...(bodyType !== 'json' && { bodyType }),
    },
    first(partition, atLeast) {
      const body = bodies?.[isOfBody ? partition : 0];
      const empty: PageAddress = { path, query: {}, ...(body !== undefined && { body }) };
      const first = sized && size !== undefined ? sized.put(empty, Math.max(size, atLeast)) : empty;
      return { ...first, query: { ...first.query, ...shared, ...own?.[partition] } };
    },
  };
}

function evaluate<Params, Given extends Query | HeaderFields>(
  given: Given | ((params: Params) => Given),
  params: Params,
  making: { readonly name: string; readonly what: 'query' | 'headers' },
): Readonly<Record<string, unknown>> {
  return isMaker(given) ? withParams(given, params, making) : fillFields(given, params, making);
}

function isMaker<Params, Given>(given: Given | ((params: Params) => Given)): given is (params: Params) => Given {
  return typeof given === 'function';
}

/** The body of each partition, or the one of all; `undefined` if there are none. */
function makeBodies<Params>(
  { body, bodyType, paging, pageSize }: RequestSpec<Params>,
  params: Params,
  { name, partitions }: { readonly name: string; readonly partitions: readonly Query[] },
): readonly Json[] | undefined {
  if (body === undefined) return undefined;
  const made =
    typeof body === 'function'
      ? partitions.map((partition) => bodyFor(body, partition))
      : [fillValues(body, params, { name, what: 'body' })];
  const bodies = made.map((each) => frozenJson(each, `The body of ${name}`));
  if (bodyType === 'form') for (const each of bodies) formFields(each, `The body of ${name}`);
  const texts = bodies.map((each) => JSON.stringify(each));
  if (new Set(texts).size < texts.length)
    throw new ConfigError(
      `${name} would send the same body for several partitions, so rows would come twice. Make it of the partition's query, the second argument of body.`,
    );
  for (const path of [...(paging.fields ?? []), ...(pageSize?.into === undefined ? [] : [pageSize.into])])
    for (const each of bodies) checkFree(name, each, path);
  return bodies;

  function bodyFor(make: (params: Params, partition: Query) => Json, partition: Query): Json {
    return withParams((given) => make(given, partition), params, { name, what: 'body' });
  }
}

/** Copies headers. @throws ConfigError if one cannot be sent. */
function copyHeaders(
  name: string,
  headers: Readonly<Record<string, unknown>>,
  placed: readonly string[],
): HeaderFields {
  const sent: [string, string][] = [];
  for (const [header, given] of Object.entries(headers)) {
    const value = typeof given === 'number' ? String(given) : given;
    if (typeof value !== 'string' || !isHeader(header, value) || ownHeaders.test(header))
      throw new ConfigError(
        `${name} can't send the header ${JSON.stringify(header)}. Check its name and its value, which must be text in Latin-1 without line breaks.`,
        { header },
      );
    if (placed.includes(header.toLowerCase()))
      throw new ConfigError(`${name} sets the header ${JSON.stringify(header)} twice.`, { header });
    sent.push([header, value]);
  }
  return Object.fromEntries(sent);
}

/** Headers that a definition must not set itself. */
export function listPlacedHeaders({ pageSize, paging }: RequestSpec<never>): readonly string[] {
  return [...(pageSize ? parsePlace(pageSize).headers : []), ...(paging.headers ?? [])];
}

/** Query parameters that a definition must not set itself. */
function listReservedParams({ pageSize, paging }: RequestSpec<never>): ReadonlySet<string> {
  return new Set([...paging.params, ...(pageSize?.param === undefined ? [] : [pageSize.param])]);
}

/** The page size that a walk requests. @throws ConfigError if the API does not allow it. */
export function choosePageSize(
  name: string,
  known: PageSize | undefined,
  wanted: number | undefined,
): number | undefined {
  if (!known) {
    if (wanted === undefined) return undefined;
    throw new ConfigError(
      (option = 'pageSize') => `${option} can't be set for ${name}: its API decides how many rows a page has.`,
      { option: 'pageSize' },
    );
  }
  const size = wanted ?? known.default;
  checkCount('pageSize', size, known.max === undefined ? {} : { max: known.max });
  return size;
}

type SentValue = string | number | boolean | readonly string[];

/** Copies a query, so that nobody can modify it. @throws ConfigError if it cannot be sent as intended. */
function copyQuery(
  name: string,
  query: Readonly<Record<string, unknown>>,
  reserved: ReadonlySet<string>,
): Readonly<Record<string, SentValue>> {
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
function isSendable(value: unknown): value is SentValue {
  if (Array.isArray(value)) return value.every((item) => typeof item === 'string');
  return typeof value === 'string' || typeof value === 'boolean' || Number.isFinite(value);
}
