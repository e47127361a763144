import type { ApiRequest, ApiResponse } from '../plugins/plugin.js';
import type { PageCursor } from '../position.js';
import type { Json, PageRequest, RowSchema, UndecodedPage } from '../source/definition.js';
import { createSource, type Source } from '../source/source.js';
import type { SourceOpening } from './apiSource.js';
import { ConditionalPages } from './conditionalPages.js';
import type { WalkBounds } from './decodeOptions.js';
import { type ParamDescription, decodeParams } from './decodeParams.js';
import type { ListingDefinition } from './listingDefinition.js';
import { type ListingPlan, listingPlan } from './listingPlan.js';
import type { Requested } from './pageReader.js';

/** A listing of an API on a client. */
export interface OpenListing<Row extends object, In extends object, Params> {
  readonly definition: ListingDefinition<Row, In, Params>;
  readonly read: (answer: ApiResponse, requested: Requested) => UndecodedPage<Row>;
  readonly opening: SourceOpening;
}

/** Creates the source of a listing. @throws ConfigError if a parameter or a limit is invalid. */
export function listingSource<Row extends object, In extends object, Params>(
  open: OpenListing<Row, In, Params>,
  known: readonly ParamDescription[] | undefined,
  given: object,
  { pageSize, maxRows, maxPages }: WalkBounds,
): Source<Row> {
  const { definition, opening } = open;
  const { paging } = definition;
  const { name, endpoint } = opening;
  const params = decodeParams(name, { schema: definition.params, known }, given);
  const warn = (message: string): void => endpoint.warn(message);
  const plan = listingPlan(definition, { name, baseUrl: endpoint.baseUrl, params, pageSize, warn });
  const fetchPage = listingFetch(open);
  const shared = rowsMadeOf(definition, opening, maxRows);
  return createSource<Row>({
    name,
    identity: { ...plan.requested, ...shared },
    rowsIdentity: { ...plan.requestedRows, ...shared },
    schema: rowSchemaOf(definition),
    partitions: plan.partitions,
    offset: plan.offset,
    maxRows,
    maxPages,
    endpoint,
    ...(definition.isRepeatable === false && { isRepeatable: false }),
    ...(definition.filter && { filter: definition.filter }),
    ...expiryOf(definition),
    ...(paging.increment && { increment: paging.increment }),
    fetch: (page) => fetchPage(plan, page),
  });
}

export function rowSchemaOf<Row extends object, In extends object, Params>({
  columns,
  types,
  key,
  statusOf,
  event,
}: ListingDefinition<Row, In, Params>): RowSchema<Row> {
  return {
    columns,
    ...(types && { types }),
    ...(key && { key }),
    ...(statusOf && { statusOf }),
    ...(event && { event }),
  };
}

/** The statuses that mean that a cursor has expired. */
export function expiryOf({ responses = {} }: Pick<ListingDefinition<never, never, never>, 'responses'>): {
  readonly expiredStatuses: readonly number[];
} {
  return { expiredStatuses: Object.keys(responses).map(Number) };
}

/** What determines the rows besides their requests. */
export function rowsMadeOf<Row extends object, In extends object, Params>(
  { rows, version, filter }: ListingDefinition<Row, In, Params>,
  { arrays }: SourceOpening,
  maxRows: number | undefined,
): Readonly<Record<string, Json>> {
  const rowsAt = typeof rows === 'string' ? rows : 'function';
  return { arrays, rowsAt, version: version ?? null, maxRows: maxRows ?? null, filter: filter ? 'function' : null };
}

/** Fetches a page of a partition of a plan. `fields` are added to each row before it is decoded. */
export type FetchPage<Row> = (plan: ListingPlan, page: PageRequest, fields?: object) => Promise<UndecodedPage<Row>>;

/** Creates the function that fetches the pages of a listing. */
export function listingFetch<Row extends object, In extends object, Params>({
  definition,
  read,
  opening,
}: OpenListing<Row, In, Params>): FetchPage<Row> {
  const { name, endpoint, clock } = opening;
  const { baseUrl } = endpoint;
  const { paging, format, errors } = definition;
  const { increment } = paging;
  const isSecret = (text: string): boolean => endpoint.isSecret(text);
  const withoutSecret = (query: string): string => endpoint.withoutSecret(query);
  // The first page is a beginning from which a partition can start again, whatever later ones consume.
  const repeated = (plan: ListingPlan, at: PageCursor | undefined): Pick<ApiRequest, 'isRepeatable'> => {
    const isRepeatable = definition.isRepeatable !== false || at === undefined;
    return isRepeatable && plan.details.method === undefined ? {} : { isRepeatable };
  };
  const readAs = { ...(format && { format }), ...(errors && { errors }) };
  let warned: string | undefined;
  const onPartial = (message: string): void => {
    // A watch may get the same error with every page.
    if (message !== warned)
      endpoint.warn(`${name}: the API reports an error beside the rows, so some may be missing${quoted(message)}.`);
    warned = message;
  };
  const doubts = new Set<string>();
  const warn = (message: string): void => {
    if (!doubts.has(message)) endpoint.warn(`${name}: ${message}`);
    doubts.add(message);
  };
  const now = (): number => clock.now();
  const conditional = new ConditionalPages<Row>();
  const made = rowsMadeOf(definition, opening, undefined);
  return async (plan, { partition, at, atLeast, since, signal, cache }, fields) => {
    const start = plan.first(partition, atLeast);
    const first = since?.from !== undefined && increment ? increment.from(start, since.from) : start;
    const address = at ? paging.request(first, at) : first;
    const { headers } = plan.details;
    // Spreads come last: V8 adds what follows one in a slower way, field by field.
    const request: ApiRequest = { route: name, signal, ...address, ...plan.details, ...readAs, ...repeated(plan, at) };
    const rows = plan.pageSize && Math.max(plan.pageSize, atLeast);
    const isAgain = atLeast === 2;
    const { path } = address;
    const requested: Requested = {
      route: name,
      baseUrl,
      path,
      from: at,
      isAgain,
      rows,
      fields,
      since,
      isSecret,
      withoutSecret,
      onPartial,
      warn,
      now,
    };
    const readPage = (answer: ApiResponse): UndecodedPage<Row> => read(answer, requested);
    // A page of an increment depends on the rows before it, and one that is sent once has no later validator.
    if (!cache || plan.details.method || increment || definition.isRepeatable === false)
      return readPage(await endpoint.send(request));
    return conditional.fetch({
      cache,
      read: readPage,
      // Without a page size, a total may end the listing at a full page, and a function for it may look at any header.
      reads: typeof definition.total === 'function' && !definition.pageSize ? undefined : paging.reads,
      identity: { of: made, fields: { ...fields }, baseUrl, address: { ...address }, headers, isAgain },
      fingerprint: () => endpoint.keyFingerprint('pages'),
      send: (tag) =>
        endpoint.send({ ...request, ...(tag !== undefined && { headers: { ...headers, 'If-None-Match': tag } }) }),
    });
  };
}

const longestQuote = 500;

/** Short enough to be searched for secrets; cut, it could end with half of one. */
function quoted(message: string): string {
  return message.length > longestQuote ? '' : `: ${JSON.stringify(message)}`;
}
