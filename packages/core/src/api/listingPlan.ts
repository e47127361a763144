import { checkCount, type OptionKind } from '../checks.js';
import { ConfigError } from '../errors.js';
import type { Query } from '../http/query.js';
import { type BodyType, formFields, ownHeaders, type RequestDetails } from '../http/requestDetails.js';
import { isHeader } from '../http/sendAttempt.js';
import { definedJson, ExactNumber, frozenJson, type Json } from '../json.js';
import { isRecord, kindOf } from '../values.js';
import type { PageAddress, Paging } from './paging.js';
import { checkFree, parsePlace, type RequestPlace } from './requestPlace.js';
import { hasSlot } from './sinceSlot.js';
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
export interface RequestSpec<Params, Values = object> {
  /**
   * The path below the base URL, with a leading slash: a template of RFC 6570, e.g. `/repos/{owner}/{repo}/issues`.
   * `{x}` encodes the parameter `x`, `{+x}` keeps the slashes in it.
   */
  readonly path: string;
  /**
   * The query of every request. A text that is only `{x}`, here and in `headers` and `body`, is the parameter `x`; one
   * without a value is left out. Default: none.
   */
  readonly query?: Query | ((params: Params & NoInfer<Values>) => Query);
  /** Default `GET`. A listing only reads, so a `POST` is retried like a `GET`. */
  readonly method?: 'GET' | 'POST';
  /**
   * The body of every request, which is sent as JSON, with `method: 'POST'`. Default: none. A function is called once
   * per partition. Leave optional fields out: `undefined` in a body is refused.
   */
  readonly body?: Json | ((params: Params & NoInfer<Values>) => Json);
  /**
   * How a body is encoded: `json` (the default), or `form`, as application/x-www-form-urlencoded: an object of texts,
   * numbers, booleans and lists of them, encoded as a query is.
   */
  readonly bodyType?: BodyType;
  /** Headers of every request. Not for secrets: links and hooks see them. Default: none. */
  readonly headers?: HeaderFields | ((params: Params & NoInfer<Values>) => HeaderFields);
  /**
   * `false` if each page can be requested only once, e.g. because a response consumes its scroll id. A request for a
   * further page is then not retried once it was sent: an export with state walks the partition again from its
   * beginning, and so does one that resumes. Default `true`.
   */
  readonly isRepeatable?: boolean;
  /**
   * The partitions of the plan, `concurrency` of them walked in parallel: values of parameters, which templates and
   * functions get like the given ones. A table such as `{ region: ['eu', 'us'] }` has all combinations, the first name
   * varying slowest; a function makes them of the parameters. It is called once per source, or once per parent with
   * `each`; `warn` reports a warning to observers of the client. A name that is also given, and a request that two
   * partitions would make, are errors. Default: one partition.
   */
  readonly partitions?:
    PartitionTable<Values> | ((params: Params, warn: (message: string) => void) => readonly Values[]);
  /**
   * Parameters of `partitions` for a walk with a concurrency, e.g. how many ids a request has, so that there are enough
   * partitions; at 1, those that `partitions` has by default. Exports, polls and watches take what is not given from it.
   * An export keeps it, so it resumes with the same partitions at any concurrency. Default: there is one plan.
   */
  readonly fit?: (params: Params, concurrency: number) => Readonly<Record<string, Json>>;
  /**
   * Fields that each row gets before `schema` or `decode` sees it: a text `{x}` is the parameter `x`, also one of the
   * partition's values or of the parent. A function needs a `version`. Default: none.
   */
  readonly fields?:
    Readonly<Record<string, Json>> | ((params: Params & NoInfer<Values>) => Readonly<Record<string, Json>>);
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

/** The values of each parameter. */
export type PartitionTable<Values> = { readonly [Name in keyof Values]: readonly Values[Name][] };

/** What these options must be. */
export const requestSpecKinds = {
  path: 'text',
  query: 'an object or a function?',
  method: 'text?',
  body: 'anything?',
  bodyType: 'text?',
  headers: 'an object or a function?',
  isRepeatable: 'a boolean?',
  partitions: 'an object or a function?',
  fit: 'a function?',
  fields: 'an object or a function?',
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
  /** What the requests of a partition have besides their addresses and bodies. */
  details(partition: number): Pick<RequestDetails, 'method' | 'headers' | 'bodyType'>;
  /** What each row of a partition gets. */
  fields(partition: number): object | undefined;
  /** The request for a partition's first page of at least this many rows. */
  first(partition: number, atLeast: number): PageAddress;
}

interface PlanOf<Params> {
  readonly name: string;
  readonly baseUrl: string;
  readonly params: Params;
  /** Of each partition; `undefined` if the listing is one. */
  readonly values: readonly object[] | undefined;
  readonly pageSize: number | undefined;
}

/** The request of one partition, without its page, and the fields of its rows. */
interface PartitionRequest {
  readonly path: string;
  readonly query: Readonly<Record<string, SentValue>>;
  readonly headers: HeaderFields;
  readonly body: Json | undefined;
  readonly fields: Json | undefined;
}

/** Computes all first requests. @throws ConfigError if one cannot be sent. */
export function listingPlan<Params extends object, Values>(
  spec: RequestSpec<Params, Values>,
  { name, baseUrl, params, values, pageSize }: PlanOf<Params>,
): ListingPlan {
  const size = choosePageSize(name, spec.pageSize, pageSize);
  const sized = spec.pageSize && parsePlace(spec.pageSize);
  const requests = (values ?? [{}]).map((own) => requestOf(spec, { ...params, ...own }, { name, baseUrl }));
  const sent = requests.map((request) => JSON.stringify({ ...request, fields: undefined }));
  if (new Set(sent).size < requests.length)
    throw new ConfigError(
      `${name} would send the same request for several partitions, so rows would come twice. Make its path, query or body of the partitions' values, e.g. {${Object.keys(values?.[0] ?? {}).join('}, {')}}.`,
    );
  const offset = spec.offset?.(params) ?? 0;
  checkCount('offset', offset, { min: 0 });
  const { method = 'GET', bodyType = 'json' } = spec;
  const { shared, own } = shareRequests(requests);
  const requested = {
    ...shared,
    method,
    ...(bodyType !== 'json' && { bodyType }),
    partitions: values ? own : null,
  };
  return {
    partitions: requests.length,
    offset,
    pageSize: size,
    requested: { baseUrl, ...requested, pageSize: size ?? null, paging: spec.paging.identity, offset },
    requestedRows: {
      baseUrl,
      ...(spec.rowsIdentity
        ? { paths: [...new Set(requests.map(({ path }) => path))], rows: spec.rowsIdentity(params) }
        : requested),
      offset,
    },
    details(partition) {
      const { headers = {} } = requests[partition] ?? {};
      return {
        ...(method !== 'GET' && { method }),
        ...(Object.keys(headers).length > 0 && { headers }),
        ...(bodyType !== 'json' && { bodyType }),
      };
    },
    fields(partition) {
      const fields = requests[partition]?.fields;
      return isRecord(fields) ? fields : undefined;
    },
    first(partition, atLeast) {
      const { path, query, body } = requests[partition] ?? noPartition(name, partition);
      const empty: PageAddress = { path, query: {}, ...(body !== undefined && { body }) };
      const first = sized && size !== undefined ? sized.put(empty, Math.max(size, atLeast)) : empty;
      return { ...first, query: { ...first.query, ...query } };
    },
  };
}

function requestOf<Params, Values>(
  spec: RequestSpec<Params, Values>,
  params: object,
  { name, baseUrl }: { readonly name: string; readonly baseUrl: string },
): PartitionRequest {
  // eslint-disable-next-line @typescript-eslint/consistent-type-assertions -- the values are those that its functions take
  const all = params as Params & Values;
  const query = evaluate<Params & Values, Query>(spec.query ?? {}, all, { name, what: 'query' });
  const reserved = listReservedParams(spec);
  return {
    path: fillPath(spec.path, params, { name, baseUrl }),
    query: copyQuery(name, query, (param, value) => reserved.has(param) && !hasSlot(name, spec.paging, value)),
    headers: copyHeaders(
      name,
      evaluate<Params & Values, HeaderFields>(spec.headers ?? {}, all, { name, what: 'headers' }),
      listPlacedHeaders(spec),
    ),
    body: makeBody(spec, all, name),
    fields: makeFields(spec, all, name),
  };
}

/** What all requests have, and what each of them has besides. */
function shareRequests(requests: readonly PartitionRequest[]): {
  readonly shared: Readonly<Record<string, Json>>;
  readonly own: readonly Json[];
} {
  const [first] = requests;
  const isShared = (of: (request: PartitionRequest) => unknown): boolean => {
    const text = first && JSON.stringify(of(first));
    return requests.every((request) => JSON.stringify(of(request)) === text);
  };
  const params = new Set(Object.keys(first?.query ?? {}).filter((param) => isShared(({ query }) => query[param])));
  const queryOf = (request: PartitionRequest | undefined, isOfAll: boolean): Json =>
    Object.fromEntries(Object.entries(request?.query ?? {}).filter(([param]) => params.has(param) === isOfAll));
  const parts = {
    path: isShared(({ path }) => path),
    headers: isShared(({ headers }) => headers),
    body: isShared(({ body }) => body),
    fields: isShared(({ fields }) => fields),
  };
  const partsOf = (request: PartitionRequest | undefined, isOfAll: boolean): Readonly<Record<string, Json>> => ({
    ...(parts.path === isOfAll && { path: request?.path ?? null }),
    ...(parts.headers === isOfAll && { headers: { ...request?.headers } }),
    ...(parts.body === isOfAll && request?.body !== undefined && { body: request.body }),
    ...(parts.fields === isOfAll && request?.fields && { fields: request.fields }),
    query: queryOf(request, isOfAll),
  });
  return { shared: partsOf(first, true), own: requests.map((request) => partsOf(request, false)) };
}

function noPartition(name: string, partition: number): never {
  throw new Error(`${name} has no partition ${String(partition)}.`);
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

function makeBody<Params, Values>(
  { body, bodyType, paging, pageSize }: RequestSpec<Params, Values>,
  params: Params & Values,
  name: string,
): Json | undefined {
  if (body === undefined) return undefined;
  const making = { name, what: 'body' } as const;
  const given = typeof body === 'function' ? withParams(body, params, making) : fillValues(body, params, making);
  const made = frozenJson(given, `The body of ${name}`);
  if (bodyType === 'form') formFields(made, `The body of ${name}`);
  for (const path of [...(paging.fields ?? []), ...(pageSize?.into === undefined ? [] : [pageSize.into])])
    checkFree(name, made, path, (value) => hasSlot(name, paging, value));
  return made;
}

function makeFields<Params, Values>(
  { fields }: RequestSpec<Params, Values>,
  params: Params & Values,
  name: string,
): Json | undefined {
  if (fields === undefined) return undefined;
  const made = typeof fields === 'function' ? fields(params) : fillFields(fields, params, { name, what: 'fields' });
  const place = `The fields of ${name}`;
  // In rows, exact numbers are texts.
  return frozenJson(JSON.parse(JSON.stringify(definedJson(made, place))), place);
}

/** Copies headers. @throws ConfigError if one cannot be sent. */
function copyHeaders(
  name: string,
  headers: Readonly<Record<string, unknown>>,
  placed: readonly string[],
): HeaderFields {
  const sent: [string, string][] = [];
  for (const [header, given] of Object.entries(headers)) {
    const value = given instanceof ExactNumber ? given.text : typeof given === 'number' ? String(given) : given;
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
export function listPlacedHeaders({
  pageSize,
  paging,
}: Pick<RequestSpec<never>, 'pageSize' | 'paging'>): readonly string[] {
  return [...(pageSize ? parsePlace(pageSize).headers : []), ...(paging.headers ?? [])];
}

/** Query parameters that a definition must not set itself. */
function listReservedParams({
  pageSize,
  paging,
}: Pick<RequestSpec<never>, 'pageSize' | 'paging'>): ReadonlySet<string> {
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
  isReserved: (param: string, value: unknown) => boolean,
): Readonly<Record<string, SentValue>> {
  const sent: [string, SentValue][] = [];
  for (const [param, given] of Object.entries(query)) {
    const value = given instanceof ExactNumber ? given.text : given;
    if (isReserved(param, value))
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
