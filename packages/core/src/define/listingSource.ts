import { amend, ConfigError, SluiceError } from '../errors.js';
import { encodeQuery } from '../http/query.js';
import { meaningOf, type ReceivedResponse, type ResponseMeaning } from '../http/response/responses.js';
import type { ApiRequest, ApiResponse } from '../plugins/plugin.js';
import { isAboutRequest } from '../rows/source/chainErrors.js';
import type { Json, PageRequest, SourceDefinition, UndecodedPage } from '../rows/source/definition.js';
import {
  createPlannedSource,
  createFittedSource,
  createSource,
  type Source,
  type SourceFit,
} from '../rows/source/source.js';
import type { SourceOpening, WalkBounds } from './apiSource.js';
import { ConditionalPages } from './conditionalPages.js';
import { type ParamDescription, decodeParams } from './requests/decodeParams.js';
import { isRecord } from '../values.js';
import { keyFunction } from './responses/fieldKey.js';
import type { ListingDefinition } from './listingDefinition.js';
import { type ListingPlan, listingPlan } from './listingPlan.js';
import {
  hasNoContent,
  newWalkMemory,
  type ReadingApi,
  type ReadPage,
  type RequestedPage,
  rowTest,
  type WalkMemory,
} from './responses/pageReader.js';
import { Parents } from './parents/parents.js';
import { listPartitionValues } from './requests/partitionValues.js';
import { requireNamed } from './requests/template.js';
import { untilIdentity } from './pages/until.js';

/** A listing of an API on a client. */
export interface OpenListing<Row extends object, In extends object, Params extends object, Values> {
  readonly definition: ListingDefinition<Row, In, Params, Values>;
  readonly openReader: (api: ReadingApi) => ReadPage<Row>;
  readonly opening: SourceOpening;
}

/**
 * Creates the source of a listing. Increments have a mark for each of its partition values and walk its windows, so the
 * source records these like the parents of a listing.
 *
 * @throws ConfigError if a parameter or a limit is invalid.
 */
export function listingSource<Row extends object, In extends object, Params extends object, Values>(
  open: OpenListing<Row, In, Params, Values>,
  known: readonly ParamDescription[] | undefined,
  given: object,
  bounds: WalkBounds,
  warn = (message: string): void => open.opening.endpoint.warn(message),
): Source<Row> {
  const { definition, opening } = open;
  const { name, endpoint } = opening;
  const params = decodeParams(name, { schema: definition.params, known }, given);
  const values = listPartitionValues(definition, { name, params, warn });
  if (values?.length === 0) throw new ConfigError(`${name} has nothing to request: there are no partitions.`);
  const ofSchema = definition.params ? known?.map((param) => param.name) : [];
  const optional = ofSchema && [...ofSchema, ...new Set(values?.flatMap(Object.keys))];
  requireNamed(name, definition, { params, optional });
  const planOf = (own: readonly object[] | undefined): ListingPlan =>
    listingPlan(definition, { name, baseUrl: endpoint.baseUrl, params, values: own, pageSize: bounds.pageSize });
  const plan = planOf(values);
  const fetchPage = pageFetcher(open);
  const made = identityOfRows(open, bounds.maxRows);
  const source = {
    ...sourceOptions(open, bounds),
    identity: { ...plan.requested, ...made },
    walkIdentity: { ...plan.requested, ...made, maxRows: null },
    rowsIdentity: { ...plan.requestedRows, ...made },
    offset: plan.offset,
  };
  const { increment } = definition.paging;
  if (!increment || (!increment.windows && !values)) {
    const { fit } = definition;
    const plans = new Map<string, Source<Row>>();
    const fitted: SourceFit<Row> = (concurrency, earlier) => {
      const kept = isRecord(earlier) ? earlier : fit?.(params, concurrency, endpoint.rate);
      const which = JSON.stringify(kept);
      // Creating this source has emitted the warnings already.
      const found = plans.get(which) ?? listingSource(open, known, { ...kept, ...given }, bounds, () => undefined);
      plans.set(which, found);
      return { source: found, kept };
    };
    const own = createFittedSource<Row>(
      { ...source, partitions: plan.partitions, fetch: (page) => fetchPage(plan, page) },
      fit && fitted,
    );
    plans.set(JSON.stringify(fit?.(params, 1, endpoint.rate)), own);
    return own;
  }
  return createPlannedSource<Row>(
    { ...source, levels: 1 },
    (start) =>
      new Parents<Row, object>(
        {
          name,
          parents: onlyParent(name),
          requireNames: () => undefined,
          paramsOf: () => ({}),
          valuesOf: () => values,
          planOf: (_, own) => planOf(own),
          increment,
          clock: opening.clock,
          warn,
          isSecret: (text) => endpoint.isSecret(text),
          fetch: fetchPage,
        },
        start,
      ),
  );
}

/** The single parent of a listing without parents. It has no key, so errors and marks do not mention it. */
function onlyParent(name: string): Source<object> {
  return createSource<object>({
    name,
    identity: null,
    schema: { columns: [] },
    fetch: () => Promise.resolve({ rows: [{}], next: 'end' }),
  });
}

/** Options that a source gets from its listing and its bounds, whether its partitions are known or discovered. */
export function sourceOptions<Row extends object, In extends object, Params extends object, Values>(
  { definition, opening }: OpenListing<Row, In, Params, Values>,
  { maxRows, maxPages }: WalkBounds,
): Omit<SourceDefinition<Row>, 'identity' | 'fetch'> {
  const { columns, types, statusOf, nameOf, event, paging, isRepeatable, filter } = definition;
  const key = keyFunction(definition.key, opening.name);
  return {
    name: opening.name,
    endpoint: opening.endpoint,
    schema: {
      columns,
      ...(types && { types }),
      ...(key && { key }),
      ...(statusOf && { statusOf }),
      ...(nameOf && { nameOf }),
      ...(event && { event }),
    },
    maxRows,
    maxPages,
    isRepeatable,
    filter,
    increment: paging.increment,
  };
}

/** All that determines the rows besides their requests. */
export function identityOfRows<Row extends object, In extends object, Params extends object, Values>(
  { definition: { rows, version, filter, parse, until }, opening: { arrays } }: OpenListing<Row, In, Params, Values>,
  maxRows?: number,
): Readonly<Record<string, Json>> {
  const rowsAt = typeof rows === 'string' ? rows : 'function';
  return {
    arrays,
    rowsAt,
    version: version ?? null,
    maxRows: maxRows ?? null,
    filter: filter ? 'function' : null,
    ...(parse && { parse: 'function' }),
    ...untilIdentity(until),
  };
}

/** The headers that say whether a page ends the listing; unknown if a function may read any header. */
function headersOfEnd<Row extends object, In extends object, Params, Values>({
  total,
  pageSize,
  until,
  paging,
}: ListingDefinition<Row, In, Params, Values>): readonly string[] | undefined {
  // Without a page size, a total may end the listing at a full page.
  const isTotal = typeof total === 'function' && (until !== undefined || !pageSize);
  return isTotal || typeof until === 'function' ? undefined : paging.reads;
}

const longestShownUrl = 300;

/** Statuses with which APIs refuse a page behind the last one. */
const behindLast: readonly number[] = [400, 404, 416, 422];

const notYet =
  "A 202 says that the page is not ready yet. If it has the rows all the same, set responses: { 202: 'ok' } in the listing.";

function nothingInTheMiddle(status: number): string {
  return `It has no content, although the page before says that this one follows. If the listing ends there, set responses: { ${status}: 'end' } in the listing.`;
}

/** Fetches a page of a partition of a plan. */
export type FetchPage<Row> = (plan: ListingPlan, page: PageRequest) => Promise<UndecodedPage<Row>>;

/** Creates the function that fetches the pages of a listing. */
export function pageFetcher<Row extends object, In extends object, Params extends object, Values>(
  open: OpenListing<Row, In, Params, Values>,
): FetchPage<Row> {
  const { definition, opening } = open;
  const { name, endpoint } = opening;
  const { paging, until, format, parse, responses } = definition;
  const { increment } = paging;
  const readPage = open.openReader(opening);
  const isRow = rowTest(definition);
  // The endpoint asks the API's function itself, once; a table gives the same answer here and there.
  const ofApi = typeof opening.responses === 'function' ? undefined : opening.responses;
  const conditional = new ConditionalPages<Row>();
  const made = identityOfRows(open);
  /** Memories by the signal of their walk, which all requests of the walk share. */
  const memories = new WeakMap<AbortSignal, WalkMemory>();
  const memoryOf = (walk: AbortSignal): WalkMemory => {
    const known = memories.get(walk) ?? newWalkMemory();
    memories.set(walk, known);
    return known;
  };
  let isRedirected = false;
  /** The path below the base URL from which a redirected response came. Its links are relative to that. */
  const pathOf = (redirectedTo: string): string => {
    const path = new URL(redirectedTo).pathname.slice(new URL(endpoint.baseUrl).pathname.replace(/\/$/, '').length);
    // Warns once: the API may redirect the request of each parent.
    if (!isRedirected)
      endpoint.warn(
        `${name}: the API redirects requests to ${path}, which costs two requests for each page. Use that path in its place.`,
      );
    isRedirected = true;
    return path;
  };
  return async (plan, { partition, at, atLeast, walked, since: given, signal, cache }) => {
    const { details, fields, first: firstOf } = plan.request(partition);
    const start = firstOf(atLeast);
    const from = given?.from ?? increment?.begin;
    const since = from === undefined ? given : { ...given, from };
    const first = from !== undefined && increment ? increment.from(start, { ...since, from }) : start;
    const address = at ? paging.request(start, at, since) : first;
    const { method } = details;
    const headers = address.headers ? { ...details.headers, ...address.headers } : details.headers;
    const last: {
      received?: ReceivedResponse | undefined;
      meaning?: ResponseMeaning | undefined;
      lacks?: string | undefined;
    } = {};
    const request: ApiRequest = {
      route: name,
      signal,
      format,
      parse,
      page: walked.pages + 1,
      responses(received) {
        last.received = received;
        last.lacks = undefined;
        return (last.meaning = meaningOf([responses, ofApi], received, (item) => isRow(item, fields)));
      },
      otherwise(received) {
        if (isConfirming && behindLast.includes(received.status)) return { kind: 'end' };
        last.lacks = whatLacks(received);
        return last.lacks === undefined ? undefined : { kind: 'retry', message: '' };
      },
      // A partition can start again at its first page, whatever later pages consume.
      isRepeatable: definition.isRepeatable !== false || at === undefined,
      ...details,
      ...address,
      ...(headers && { headers }),
    };
    const isAgain = atLeast === 2;
    const requested: RequestedPage = {
      path: address.path,
      first: { query: first.query, sizeParam: definition.pageSize?.param },
      from: at,
      isAgain,
      pageSize: plan.pageSize && Math.max(plan.pageSize, atLeast),
      walked,
      seen: memoryOf(signal),
      fields,
      since,
    };
    const read = (response: ApiResponse): UndecodedPage<Row> => {
      const { redirectedTo } = response;
      return readPage(response, {
        ...requested,
        ...(redirectedTo !== undefined && { path: pathOf(redirectedTo) }),
        ...(last.meaning?.kind === 'ok' && { isMeant: true }),
      });
    };
    const { total = 0, rows = Infinity } = walked;
    const isNamed = until === undefined && paging.namesNext === true;
    /** The request only confirms the end: the page before was short, and the API did not say that more follow. */
    const isConfirming = until === 'short-page' && walked.hash !== undefined && !walked.isStated && total <= rows;
    const isAnnounced = at !== undefined && (isNamed || walked.isStated === true || total > rows);
    /** Why a response with a success status is not a page; `undefined` if it is one. */
    const whatLacks = ({ status, headers, body }: ReceivedResponse): string | undefined => {
      if (status === 202) return notYet;
      if (!isAnnounced || body !== undefined || !hasNoContent(status)) return undefined;
      // A response without content may still name the next page in its headers.
      return readPage({ status, headers, body: null }, requested).next === 'end'
        ? nothingInTheMiddle(status)
        : undefined;
    };
    try {
      // A page of an increment depends on the rows before it, and a page that is sent once can't be validated later.
      if (!cache || method || increment || definition.isRepeatable === false) return read(await endpoint.send(request));
      return await conditional.fetch({
        cache,
        read,
        reads: headersOfEnd(definition),
        identity: { of: made, fields: { ...fields }, baseUrl: endpoint.baseUrl, address, headers, isAgain },
        fingerprint: () => endpoint.keyFingerprint('pages'),
        send: (tag) =>
          endpoint.send(tag === undefined ? request : { ...request, headers: { ...headers, 'If-None-Match': tag } }),
      });
    } catch (error) {
      const isEnd = SluiceError.is(error, 'http') && error.details['means'] === 'end';
      if (isEnd && last.received) return readPage(last.received, { ...requested, isEnd });
      if (
        SluiceError.is(error, 'http') &&
        error.details['status'] === last.received?.status &&
        last.lacks !== undefined
      )
        amend(error, last.lacks);
      if (SluiceError.is(error, 'http') && isAboutRequest(error)) {
        const asked = [address.rawQuery ?? '', encodeQuery(address.query, opening.arrays)].filter(
          (part) => part !== '',
        );
        const url = `${address.path}${asked.length > 0 ? '?' : ''}${asked.join('&')}`;
        amend(error, `It was ${method ?? 'GET'} ${endpoint.redact(url, longestShownUrl)}.`);
      }
      throw error;
    } finally {
      // V8 retains some requests until a full garbage collection. This frees their responses earlier.
      last.received = undefined;
    }
  };
}
